// Package archive unpacks unchecked packages of skills: zip
// and tar.gz archives and folders.
//
// [Open] reads the headers and refuses an archive that two programs could read
// differently. [Extract] checks every name and size before it writes the first
// byte. It writes only files and folders, with the modes 0644 and 0755, and never
// more than the bounds below.
package archive

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"github.com/etui-run/etui/phrase"
)

// The bounds of a package. A package that exceeds one is refused before any of
// it is installed.
const (
	MaxPacked   = 50 << 20 // bytes of an archive
	maxUnpacked = 64 << 20 // bytes of all files together
	maxFile     = 32 << 20 // bytes of one file
	maxEntries  = 5000     // files and folders
	maxDepth    = 16       // nested folders
	maxPath     = 512      // bytes of a path
	maxName     = 255      // bytes of a file's name
	maxRatio    = 100      // growth when unpacked,
	freeRatio   = 2 << 20  // beyond this many bytes

	// The archive of a whole repository may hold this much. Only the skill's own
	// folder is unpacked, within the bounds above.
	maxRepository        = 1 << 30
	maxRepositoryEntries = 200_000
)

// Entry is a file or folder of an archive.
type Entry struct {
	Name       string // with slashes; a folder's without the last one
	Folder     bool
	Executable bool
	Size       int64
}

// Archive is an opened package. Its headers agree with one another; its names
// are not checked yet.
type Archive interface {
	Entries() []Entry
	// Each calls f with the content of every file, in the order of Entries; i is
	// its index there. A content that is damaged, or longer or shorter than its
	// entry says, ends in an error instead of io.EOF.
	Each(f func(i int, content io.Reader) error) error
}

// Part chooses entries of a repository's archive by their names and renames
// them. A nil Part takes all of a package.
type Part func(name string) (string, bool)

func (p Part) take(name string) (string, bool) {
	if p == nil {
		return name, true
	}
	return p(name)
}

// maxEntries is how many entries the archive may have.
func (p Part) maxEntries() int {
	if p == nil {
		return maxEntries
	}
	return maxRepositoryEntries
}

// Below takes the entries below a folder of a repository. The archive has one top
// folder of any name. An empty folder takes everything below the top.
func Below(folder string) Part {
	return func(name string) (string, bool) {
		_, rest, ok := strings.Cut(strings.TrimPrefix(name, "./"), "/")
		if ok && folder != "" {
			rest, ok = strings.CutPrefix(rest, folder+"/")
		}
		return rest, ok && rest != ""
	}
}

var errFormat = phrase.Errorf("it is neither a zip nor a tar.gz archive")

// Open opens a zip or tar.gz archive, as its first bytes say.
func Open(f io.ReaderAt, size int64, p Part) (Archive, error) {
	if size > MaxPacked {
		return nil, phrase.Errorf("the archive has %s, at most %s are allowed", MB(size), MB(MaxPacked))
	}
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, errFormat
	}
	switch {
	case string(head) == localSignature:
		return openZip(f, size, p)
	case string(head) == endSignature:
		return nil, phrase.Errorf("the archive is empty")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return openTar(f, size, p)
	}
	return nil, errFormat
}

// folder is a folder of files as a package.
type folder struct {
	fsys fs.FS
	list []Entry
}

// OpenFolder opens a folder. It refuses links and special files, and leaves out
// the files of version control.
func OpenFolder(fsys fs.FS) (Archive, error) {
	a := &folder{fsys: fsys}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git":
			return nil
		case len(a.list) >= maxEntries:
			return tooMany(maxEntries)
		case !d.IsDir() && !d.Type().IsRegular():
			return phrase.Errorf("%s is a link or a special file; packages hold only files and folders", name)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := Entry{Name: name, Folder: d.IsDir()}
		if !e.Folder {
			e.Size, e.Executable = info.Size(), info.Mode()&0o111 != 0
		}
		a.list = append(a.list, e)
		return nil
	})
	return a, err
}

func (a *folder) Entries() []Entry { return a.list }

func (a *folder) Each(f func(int, io.Reader) error) error {
	for i, e := range a.list {
		if e.Folder {
			continue
		}
		file, err := a.fsys.Open(e.Name)
		if err != nil {
			return err
		}
		err = f(i, &content{r: file, left: e.Size, name: e.Name})
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// content reads the bytes that a header promises: exactly so many and, when sum
// is set, with that checksum.
type content struct {
	r       io.Reader
	left    int64
	name    string
	sum     *uint32
	running uint32
}

func (c *content) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	c.left -= int64(n)
	if c.left >= 0 && c.sum != nil {
		c.running = crc32.Update(c.running, crc32.IEEETable, p[:n])
	}
	ended := errors.Is(err, io.EOF)
	switch {
	case c.left < 0:
		return 0, phrase.Errorf("%s is longer than the archive says", Quote(c.name))
	case ended && c.left > 0:
		return n, phrase.Errorf("%s is shorter than the archive says", Quote(c.name))
	case ended && c.sum != nil && c.running != *c.sum:
		return n, phrase.Errorf("%s is damaged: its checksum is wrong", Quote(c.name))
	case err != nil && !ended:
		return n, phrase.Errorf("reading %s: %w", Quote(c.name), err)
	}
	return n, err
}

func tooMany(limit int) error {
	return phrase.Errorf("it has more than %d files and folders", limit)
}

// MB is a size as messages show it.
func MB(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// Quote is a name from an archive as messages show it.
func Quote(name string) string {
	if len(name) > 80 {
		name = name[:80] + "…"
	}
	return fmt.Sprintf("%q", name)
}
