package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/etui-run/etui/cmd/internal/textcode"
	"github.com/etui-run/etui/internal/filestamp"
)

// Limits of the file tools.
const (
	maxPath   = 1024      // bytes of a path
	maxFile   = 1 << 20   // bytes of a text to edit, compare or write
	maxScan   = 64 << 20  // bytes of a file to search or append to
	maxText   = 30 << 10  // bytes of a result: a turn keeps 32 KiB
	maxLines  = 2000      // lines of one read
	maxList   = 500       // entries of a listing or search
	maxWalk   = 50_000    // entries that a search or listing visits
	maxSearch = 256 << 20 // bytes that a text search reads, of all files together
	maxHits   = 100       // lines that a text search finds
	maxWidth  = 300       // bytes of such a line
)

// FilesConfig sets up [Files].
type FilesConfig struct {
	// Dir is the workspace.
	Dir string
	// Protected are files and folders that tools can read but not change, with
	// everything below them: through the configuration, the skills and the state an
	// agent could give itself more rights. They need not exist.
	Protected []string
	// ReadOnly are more folders whose files can be read by absolute path. They need
	// not exist.
	ReadOnly []string
	// Hidden are files and folders in Dir that tools neither read nor list, with everything
	// below them. They need not exist.
	Hidden []string
	// Told are those of ReadOnly that the descriptions of tools name, see
	// [Files.Registered].
	Told []string
	// Redact hides the secrets of a text before a piece of it is cut out: half a secret is not
	// found later. Nil leaves all texts as they are.
	Redact func(text string) string
}

// Files implements the file tools of one workspace. It is safe for concurrent use.
type Files struct {
	place
	protected []string
	hidden    []string
	readOnly  []string
	told      []string
	redact    func(string) string

	// changing is held from reading a file to replacing it, so that no session undoes
	// the change of another one.
	changing sync.Mutex
	scaling  sync.Mutex // held while scaling a picture
}

// Open opens a workspace.
func Open(c FilesConfig) (*Files, error) {
	p, err := openPlace(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	f := &Files{place: p, told: c.Told, redact: c.Redact}
	if f.redact == nil {
		f.redact = func(text string) string { return text }
	}
	for list, paths := range map[*[]string][]string{&f.protected: c.Protected, &f.hidden: c.Hidden,
		&f.readOnly: c.ReadOnly} {
		for _, given := range paths {
			absolute, err := filepath.Abs(given)
			if err != nil {
				return nil, errors.Join(err, f.Close())
			}
			*list = append(*list, absolute)
		}
	}
	f.holdsHidden = slices.ContainsFunc(f.hidden, func(path string) bool {
		_, ok := inside(f.dirs, path)
		return ok
	})
	return f, nil
}

// Close closes the workspace.
func (f *Files) Close() error { return f.root.Close() }

// Disk returns the files of the workspace to read. Opening one does not wait, follows no
// link out of the workspace, and fails for what is no regular file.
func (f *Files) Disk() fs.FS { return disk{f} }

type disk struct{ files *Files }

// Open implements [fs.FS].
func (d disk) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	s, err := d.files.find(name)
	if err != nil {
		return nil, err
	}
	defer s.close()
	file, _, err := s.open()
	if err != nil { // a nil file is no nil fs.File
		return nil, err
	}
	return file, nil
}

// open opens a regular file for reading without waiting for pipes. A file with several
// names is opened only if all of them are in the same place: another name could belong
// to a file outside of the workspace.
func (s spot) open() (*os.File, fs.FileInfo, error) {
	file, err := s.openAny()
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = say(s.shown, err)
	case info.IsDir():
		err = fmt.Errorf("%s is a folder; use list_dir", s.shown)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", s.shown)
	case filestamp.Links(info) > 1 && s.namesOf(info) < filestamp.Links(info):
		err = fmt.Errorf("%s has a second name outside of the workspace (a hard link) and cannot be read; read a copy instead", s.shown)
	default:
		return file, info, nil
	}
	return nil, nil, errors.Join(err, file.Close())
}

// openAny opens a file or folder for reading. Where the place holds something hidden it follows no
// link: a program may have made one since the path was resolved.
func (s spot) openAny() (*os.File, error) {
	if !s.holdsHidden {
		file, err := s.root.OpenFile(s.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return file, say(s.shown, err)
	}
	at, err := s.enter(false)
	if err != nil {
		return nil, err
	}
	defer at.close()
	before, err := at.root.Lstat(at.name)
	if err != nil {
		return nil, say(s.shown, err)
	}
	file, err := at.root.OpenFile(at.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, say(s.shown, err)
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(before, info) {
		return nil, errors.Join(fmt.Errorf("%s was changed by another program meanwhile", s.shown), file.Close())
	}
	return file, nil
}

// namesOf counts the names that a file has within the place.
func (p place) namesOf(file fs.FileInfo) (n uint64) {
	seen := 0
	_ = fs.WalkDir(p.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > maxWalk || n == filestamp.Links(file) {
			return fs.SkipAll
		}
		if err == nil && tooDeep(name, e) {
			return fs.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil && os.SameFile(info, file) {
				n++
			}
		}
		return nil
	})
	return n
}

// content is the content of a text file.
type content struct {
	text  string
	code  textcode.Code
	exact bool // decoding lost nothing
}

// read returns a whole text file.
func (s spot) read() (content, error) {
	file, info, err := s.open()
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	if info.Size() > maxFile {
		return content{}, fmt.Errorf("%s has %d bytes, and only files up to 1 MiB are read whole; read_file reads a part of it, search_text finds lines in it", s.shown, info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return content{}, say(s.shown, err)
	case len(raw) > maxFile:
		return content{}, fmt.Errorf("%s is longer than 1 MiB", s.shown)
	}
	code, isText := textcode.Of(raw)
	text, err := code.Decode(raw)
	if !isText || err != nil || strings.ContainsRune(text, 0) {
		return content{}, s.isBinary(info.Size())
	}
	back, err := code.Encode(text)
	return content{text, code, err == nil && bytes.Equal(back, raw)}, nil
}

// edit replaces the text of a file with the result of change. Edits of one file are
// serialized, and a file that another program changed in the meantime is not replaced.
func (f *Files) edit(given string, change func(shown, text string) (string, error)) (spot, error) {
	s, err := f.findChange(given, false)
	if err != nil {
		return s, err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	before, err := s.read()
	if err != nil {
		return s, err
	}
	if !before.exact {
		return s, fmt.Errorf("%s contains bytes that are not %s and would get lost; it can be read, not edited",
			s.shown, before.code)
	}
	after, err := change(s.shown, before.text)
	if err != nil {
		return s, err
	}
	raw, err := before.code.Encode(after)
	if err != nil {
		return s, fmt.Errorf("%s: %w; write_file writes them, in UTF-8", s.shown, err)
	}
	if err := writable(raw); err != nil {
		return s, err
	}
	return s, f.replace(s, raw, func() error {
		if now, err := s.read(); err != nil || now != before {
			return fmt.Errorf("%s was changed by another program meanwhile; read it again", s.shown)
		}
		return nil
	})
}

// Write replaces a file of the workspace, or creates it and its parent folders.
func (f *Files) Write(given string, data []byte) error {
	s, err := f.findChange(given, false)
	if err != nil {
		return err
	}
	if err := writable(data); err != nil {
		return err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	return f.replace(s, data, func() error { return nil })
}

func writable(data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("%d bytes are too many; write at most 1 MiB", len(data))
	}
	return nil
}

// replace replaces a file atomically, so that no reader sees half of it. It calls last
// just before, and stops if last fails.
func (f *Files) replace(s spot, data []byte, last func() error) error {
	s, err := s.enter(true)
	if err != nil {
		return err
	}
	defer s.close()
	mode, there, err := s.mode()
	if err != nil {
		return err
	}
	temporary := ".etui-" + rand.Text() + ".tmp"
	file, err := s.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return say(s.shown, err)
	}
	_, err = file.Write(data)
	if err == nil && there {
		err = file.Chmod(mode) // including the bits that the umask clears
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = last()
	}
	if err == nil {
		err = s.root.Rename(temporary, s.name)
	}
	if err != nil {
		return errors.Join(say(s.shown, err), s.root.Remove(temporary))
	}
	return nil
}

// mode returns the mode for a file about to be written, and whether the file exists.
// It refuses anything but regular files.
func (s spot) mode() (mode fs.FileMode, there bool, err error) {
	info, err := s.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, false, nil
	case err != nil:
		return 0, false, say(s.shown, err)
	case info.IsDir():
		return 0, false, fmt.Errorf("%s is a folder", s.shown)
	case !info.Mode().IsRegular():
		return 0, false, fmt.Errorf("%s is not a regular file", s.shown)
	}
	return info.Mode().Perm(), true, nil
}

// walk calls each for every file and folder below a folder, in order and with the name
// that the model knows, except for the contents of .git and node_modules. It does not
// follow links, and leaves out what is hidden. It reports whether it visited everything
// within maxWalk entries.
func (f *Files) walk(ctx context.Context, s spot, each func(found spot, e fs.DirEntry) error) (all bool, err error) {
	seen, deep, hides := 0, false, f.hides(s)
	err = fs.WalkDir(s.root.FS(), s.name, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == s.name {
				return say(s.shown, err)
			}
			return nil // an unreadable folder does not end the search
		}
		if seen++; seen > maxWalk {
			return fs.SkipAll
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == s.name {
			return nil
		}
		if tooDeep(name, e) {
			deep = true
			return fs.SkipDir
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		if hidden := hides(name); hidden && e.IsDir() {
			return fs.SkipDir
		} else if hidden {
			return nil
		}
		return each(s.below(name), e)
	})
	return seen <= maxWalk && !deep, err
}

// tooDeep reports a folder whose name is too long for any tool. A program can nest thousands,
// and names of everything below them would take memory with the square of their depth.
func tooDeep(name string, e fs.DirEntry) bool { return e.IsDir() && len(name) > maxPath }

// tooMany is the note about a walk that left something out.
var tooMany = fmt.Sprintf("\n(only the first %d entries were searched, with names of up to %d bytes: narrow path)",
	maxWalk, maxPath)

// below returns the spot of a file below a folder.
func (s spot) below(name string) spot {
	file := spot{place: s.place, name: name, close: s.close}
	file.shown = path.Join(s.shown, file.within(s))
	return file
}

// within returns a file's name relative to a folder above it.
func (s spot) within(folder spot) string {
	if folder.name == "." {
		return s.name
	}
	return s.name[len(folder.name)+1:]
}
