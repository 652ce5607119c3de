package protect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/etui-run/etui/internal/filestamp"
)

// Limits of what is kept for restoring.
const (
	maxEntries = 2000     // files and folders at protected names that cannot be sealed
	maxText    = 1 << 20  // bytes of one of them; a longer one is moved aside when changed, and not restored
	maxKept    = 16 << 20 // bytes of all of them
	maxNew     = 100      // new entries of a folder that are moved aside one by one; with more, the folder is
)

// entry is how a file or folder looked; nil means that there was none. The journal keeps it.
type entry struct {
	info  fs.FileInfo // nil if it was read from a journal
	Mode  fs.FileMode
	Stamp filestamp.Stamp // of a folder only the identity
	User  int             // the owner; -1 if it is unknown
	Group int

	Sealed bool              `json:",omitzero"`
	Kept   bool              `json:",omitzero"` // Text is the content of the file
	Text   []byte            `json:",omitzero"`
	Link   string            `json:",omitzero"`
	List   map[string]*entry `json:",omitzero"` // the content of the folder; of a sealed one only the files with a second name
}

// entryOf returns the entry of a file or folder without its content.
func entryOf(info fs.FileInfo) *entry {
	e := &entry{info: info, Mode: info.Mode(), Stamp: filestamp.Of(info)}
	if e.User, e.Group = filestamp.Owner(info); info.IsDir() {
		e.Stamp = filestamp.Stamp{Identity: e.Stamp.Identity}
	}
	return e
}

func (e *entry) isDir() bool  { return e != nil && e.Mode.IsDir() }
func (e *entry) isFile() bool { return e != nil && e.Mode.IsRegular() }

// is reports whether info describes the same file or folder, whatever its name.
func (e *entry) is(info fs.FileInfo) bool {
	if e.info != nil {
		return os.SameFile(e.info, info)
	}
	id := filestamp.IdentityOf(info)
	return id != filestamp.Identity{} && id == e.Stamp.Identity
}

// same reports whether a file is unchanged. It returns false for folders, whose content
// must be compared.
func (e *entry) same(now *entry) bool {
	switch {
	case e == nil || now == nil:
		return e == now
	case e.Sealed && e.is(now.info):
		return true
	case e.Mode != now.Mode || e.User != now.User:
		return false
	case e.isFile() && e.Kept && now.Kept:
		return bytes.Equal(e.Text, now.Text)
	case e.Mode&fs.ModeSymlink != 0:
		return e.Link == now.Link
	}
	return !e.isDir() && e.Stamp == now.Stamp
}

// reading records entries within its limits.
type reading struct {
	root    *os.Root
	entries int
	bytes   int
	names   int // in sealed folders
	err     error
}

// deep records a file or folder with its content.
func (r *reading) deep(name string) *entry {
	e := r.shallow(name)
	if !e.isDir() || r.err != nil {
		return e
	}
	e.List = map[string]*entry{}
	names, err := list(r.root, name, maxEntries)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return e // etui does not use what it cannot read
	case err != nil:
		r.err = err
		return e
	}
	for _, child := range names {
		e.List[child] = r.deep(path.Join(name, child))
	}
	return e
}

// linked records those files in a sealed folder that have a second name, by which a program
// may change them.
func (r *reading) linked(folder string) map[string]*entry {
	names, err := list(r.root, folder, maxNames-r.names)
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && r.err == nil {
		r.err = err
	}
	r.names += len(names)
	var found map[string]*entry
	for _, child := range names {
		name := path.Join(folder, child)
		info, err := r.root.Lstat(name)
		if err != nil {
			continue // etui removes nothing there, so a person did
		}
		var e *entry
		switch {
		case info.IsDir():
			if list := r.linked(name); len(list) > 0 {
				e = entryOf(info)
				e.Sealed, e.List = true, list
			}
		case info.Mode().IsRegular() && filestamp.Links(info) > 1:
			e = r.shallow(name)
		}
		if e != nil {
			if found == nil {
				found = map[string]*entry{}
			}
			found[child] = e
		}
	}
	return found
}

// shallow records a file or folder without its content.
func (r *reading) shallow(name string) *entry {
	info, err := r.root.Lstat(name)
	if err != nil {
		return nil
	}
	if r.entries++; r.entries > maxEntries && r.err == nil {
		r.err = fmt.Errorf("there are more than %d files at protected names such as %s: too many to restore after a command. Keep skills in a folder outside of the workspace (skills.global)", maxEntries, name)
	}
	e := entryOf(info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		e.Link, _ = r.root.Readlink(name) // if it was removed meanwhile, it differs
	case info.Mode().IsRegular() && info.Size() <= maxText && r.bytes+int(info.Size()) <= maxKept:
		e.Text, e.Kept = read(r.root, name)
		r.bytes += len(e.Text)
	}
	return e
}

// read reads a file if that is possible.
func read(root *os.Root, name string) ([]byte, bool) {
	f, err := open(root, name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false // a program that still runs replaced it
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	return text, err == nil && len(text) <= maxText
}

// open opens a file or folder for reading, without blocking: a program may have put a
// pipe there.
func open(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// list returns the names in a folder. More than most names are an error.
func list(root *os.Root, name string, most int) ([]string, error) {
	f, err := open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(most + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(names) > most {
		err = fmt.Errorf("%s holds more than %d names", name, most)
	}
	return names, err
}
