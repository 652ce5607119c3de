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
	"strings"
	"sync"
	"syscall"

	"github.com/etui-run/etui/internal/textcode"
)

// Limits of the file tools.
const (
	maxPath   = 1024      // bytes of a path
	maxFile   = 1 << 20   // bytes of a text that is edited, compared or written
	maxScan   = 64 << 20  // bytes of a file that is looked through for lines, or appended to
	maxText   = 30 << 10  // bytes that one call gives: a turn keeps 32 KiB of a result
	maxLines  = 2000      // lines of one reading
	maxList   = 500       // entries of a listing or search
	maxWalk   = 50_000    // entries that a search or listing looks at
	maxSearch = 256 << 20 // bytes that a text search looks at, of all files
	maxHits   = 100       // lines that a text search finds
	maxWidth  = 300       // bytes of such a line
)

// FilesConfig says which files are reached.
type FilesConfig struct {
	// Dir is the workspace.
	Dir string
	// Protected are files and folders that can be read but not changed, with all
	// below them: the configuration, the skills and the state would give an agent
	// what it was not given. They need not exist.
	Protected []string
	// ReadOnly are further folders whose files can be read by their absolute paths.
	// They need not exist.
	ReadOnly []string
}

// Files are the file tools of one workspace. They are safe for concurrent use.
type Files struct {
	place
	protected []string
	readOnly  []string

	// changing is held from the reading of a file to its replacement, so that of two
	// sessions none undoes what the other has done.
	changing sync.Mutex
	scaling  sync.Mutex // held while a picture is made smaller
}

// Open opens the files of a workspace.
func Open(c FilesConfig) (*Files, error) {
	p, err := openPlace(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	f := &Files{place: p}
	for list, paths := range map[*[]string][]string{&f.protected: c.Protected, &f.readOnly: c.ReadOnly} {
		for _, given := range paths {
			absolute, err := filepath.Abs(given)
			if err != nil {
				return nil, errors.Join(err, f.Close())
			}
			*list = append(*list, absolute)
		}
	}
	return f, nil
}

// Close ends the use of the workspace.
func (f *Files) Close() error { return f.root.Close() }

// open opens a regular file for reading; it does not wait for pipes. A file with
// further names is opened when all of them lie in the same place: another one
// could be a file that is none of the workspace's.
func (s spot) open() (*os.File, fs.FileInfo, error) {
	file, err := s.root.OpenFile(s.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, say(s.shown, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = say(s.shown, err)
	case info.IsDir():
		err = fmt.Errorf("%s is a folder; use list_dir", s.shown)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", s.shown)
	case names(info) > 1 && s.namesOf(info) < names(info):
		err = fmt.Errorf("%s has a second name outside of the workspace (a hard link) and is not read; a copy of it can be", s.shown)
	default:
		return file, info, nil
	}
	return nil, nil, errors.Join(err, file.Close())
}

// namesOf counts the names of a file in the place.
func (p place) namesOf(file fs.FileInfo) (n uint64) {
	seen := 0
	_ = fs.WalkDir(p.root.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if seen++; seen > maxWalk || n == names(file) {
			return fs.SkipAll
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

// content is a text file's.
type content struct {
	text  string
	code  textcode.Code
	exact bool // the text is all of it
}

// read returns a text file whole.
func (s spot) read() (content, error) {
	file, info, err := s.open()
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	if info.Size() > maxFile {
		return content{}, fmt.Errorf("%s has %d bytes, and at most 1 MiB is taken whole; read_file reads a part of it, search_text finds lines in it", s.shown, info.Size())
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

// edit replaces a text file by what change makes of it. Two edits of one file come
// one after the other, and one that a program outside of etui has changed in
// between is not replaced.
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
		return s, fmt.Errorf("%s holds bytes that are no %s and would get lost; it can be read, not edited", s.shown, before.code)
	}
	after, err := change(s.shown, before.text)
	if err != nil {
		return s, err
	}
	raw, err := before.code.Encode(after)
	if err != nil {
		return s, fmt.Errorf("%s: %w; write_file writes them, in UTF-8", s.shown, err)
	}
	return s, f.replace(s, raw, func() error {
		if now, err := s.read(); err != nil || now != before {
			return fmt.Errorf("%s was changed by another program meanwhile; read it again", s.shown)
		}
		return nil
	})
}

// Write replaces a file of the workspace, or makes it and the folders above it.
func (f *Files) Write(given string, data []byte) error {
	s, err := f.findChange(given, false)
	if err != nil {
		return err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	return f.replace(s, data, func() error { return nil })
}

// replace replaces a file in one step, so that no reader sees half of it, if what
// last says is no error.
func (f *Files) replace(s spot, data []byte, last func() error) error {
	if len(data) > maxFile {
		return fmt.Errorf("%d bytes are too much; files up to 1 MiB are written", len(data))
	}
	mode, there, err := s.mode()
	if err != nil {
		return err
	}
	if folder := path.Dir(s.name); folder != "." {
		if err := s.root.MkdirAll(folder, 0o755); err != nil {
			return say(path.Dir(s.shown), err)
		}
	}
	temporary := path.Join(path.Dir(s.name), ".etui-"+rand.Text()+".tmp")
	file, err := s.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return say(s.shown, err)
	}
	_, err = file.Write(data)
	if err == nil && there {
		err = file.Chmod(mode) // also what the umask would take away
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

// mode is that of a file that is to be written, and whether it is there. What is
// no regular file is not written.
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

// walk calls each for every file and folder below a folder, in order and with the
// name as the model knows it, but not for what lies in .git and node_modules.
// Links are not followed. It tells whether it saw all, of maxWalk entries.
func (s spot) walk(ctx context.Context, each func(found spot, e fs.DirEntry) error) (all bool, err error) {
	seen := 0
	err = fs.WalkDir(s.root.FS(), s.name, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == s.name {
				return say(s.shown, err)
			}
			return nil // a folder that may not be read does not end the search
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
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		return each(s.below(name), e)
	})
	return seen <= maxWalk, err
}

// tooMany is what is said of a walk that did not see all.
var tooMany = fmt.Sprintf("\n(only the first %d entries were looked at: narrow path)", maxWalk)

// below is the spot of a file below a folder.
func (s spot) below(name string) spot {
	file := spot{place: s.place, name: name, close: s.close}
	file.shown = path.Join(s.shown, file.within(s))
	return file
}

// within is a file's name as seen from a folder above it.
func (s spot) within(folder spot) string {
	if folder.name == "." {
		return s.name
	}
	return s.name[len(folder.name)+1:]
}
