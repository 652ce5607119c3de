package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// The bounds of a package. What goes beyond one is refused before anything of
// it is installed.
const (
	maxArchive  = 50 << 20 // bytes of an archive as it comes
	maxUnpacked = 64 << 20 // bytes of all files together
	maxFile     = 32 << 20 // bytes of one file
	maxEntries  = 5000     // files and folders
	maxDepth    = 16       // folders in one another
	maxPath     = 512      // bytes of a path
	maxName     = 255      // bytes of a file's name
	maxRatio    = 100      // times that a package may grow when it is unpacked,
	freeRatio   = 2 << 20  // beyond this many bytes

	// An archive of a whole repository may hold this much; only the skill's own
	// folder is unpacked, within the bounds above.
	maxRepository        = 1 << 30
	maxRepositoryEntries = 200_000
)

// entry is a file or folder as an archive names it.
type entry struct {
	name       string // with slashes; a folder's without the last one
	folder     bool
	executable bool
	size       int64
}

// archive is an opened package. What stands in its headers has been held against
// itself, but no name has been looked at.
type archive interface {
	entries() []entry
	// each calls f with the content of every file, in the order of entries; i is
	// its place there. A content that is longer or shorter than the entry says, or
	// damaged, ends in an error instead of io.EOF.
	each(f func(i int, content io.Reader) error) error
}

// part chooses the entries of an archive that are read, and renames them. A nil
// part takes everything.
type part func(name string) (string, bool)

// take is what a part says of a name.
func (p part) take(name string) (string, bool) {
	if p == nil {
		return name, true
	}
	return p(name)
}

// counts are the entries that an archive may have.
func (p part) counts() int {
	if p == nil {
		return maxEntries
	}
	return maxRepositoryEntries
}

// below takes the entries below a folder of a repository's archive, whose top
// folder has any name. An empty folder takes everything below the top.
func below(folder string) part {
	return func(name string) (string, bool) {
		_, rest, ok := strings.Cut(strings.TrimPrefix(name, "./"), "/")
		if !ok || rest == "" {
			return "", false
		}
		if folder == "" {
			return rest, true
		}
		rest, ok = strings.CutPrefix(rest, folder+"/")
		return rest, ok && rest != ""
	}
}

// errFormat is what is said of files that are no archive.
var errFormat = errors.New("it is neither a zip nor a tar.gz archive")

// openArchive opens a zip or tar.gz archive, whichever its first bytes say.
func openArchive(f io.ReaderAt, size int64, p part) (archive, error) {
	if size > maxArchive {
		return nil, fmt.Errorf("the archive has %s, at most %s are allowed", megabytes(size), megabytes(maxArchive))
	}
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, errFormat
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return openZip(f, size, p)
	case bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return nil, errors.New("the archive is empty")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return openTar(f, size, p)
	}
	return nil, errFormat
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// folderArchive is a folder of files as a package.
type folderArchive struct {
	fsys fs.FS
	list []entry
}

// openFolder reads the names in a folder. Links and special files are refused,
// and what belongs to version control is left out.
func openFolder(fsys fs.FS) (archive, error) {
	a := &folderArchive{fsys: fsys}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case len(a.list) >= maxEntries:
			return tooMany(maxEntries)
		case d.IsDir():
			a.list = append(a.list, entry{name: name, folder: true})
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is a link or a special file; packages hold only files and folders", name)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		a.list = append(a.list, entry{name: name, size: info.Size(), executable: info.Mode()&0o111 != 0})
		return nil
	})
	return a, err
}

func tooMany(limit int) error {
	return fmt.Errorf("it has more than %d files and folders", limit)
}

func (a *folderArchive) entries() []entry { return a.list }

func (a *folderArchive) each(f func(int, io.Reader) error) error {
	for i, e := range a.list {
		if e.folder {
			continue
		}
		file, err := a.fsys.Open(e.name)
		if err != nil {
			return err
		}
		err = f(i, &exact{r: file, left: e.size, name: e.name})
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// exact reads exactly the bytes that a header promised.
type exact struct {
	r    io.Reader
	left int64
	name string
}

func (e *exact) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > e.left+1 {
		p = p[:e.left+1]
	}
	n, err := e.r.Read(p)
	e.left -= int64(n)
	switch {
	case e.left < 0:
		return 0, fmt.Errorf("%s is longer than the archive says", shown(e.name))
	case errors.Is(err, io.EOF) && e.left > 0:
		return n, fmt.Errorf("%s is shorter than the archive says", shown(e.name))
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("reading %s: %w", shown(e.name), err)
	}
	return n, err
}

// shown is a name of an archive as a message may hold it.
func shown(name string) string {
	if len(name) > 80 {
		name = name[:80] + "…"
	}
	return fmt.Sprintf("%q", name)
}
