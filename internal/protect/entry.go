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

// entry is a file or folder; nil means that there is none.
type entry struct {
	info   fs.FileInfo
	sealed bool
	kept   bool // text is the content of the file
	text   []byte
	link   string
	list   map[string]*entry // the content of the folder
}

func (e *entry) isDir() bool  { return e != nil && e.info.IsDir() }
func (e *entry) isFile() bool { return e != nil && e.info.Mode().IsRegular() }

// same reports whether a file is unchanged. It returns false for folders, whose content
// must be compared.
func (e *entry) same(now *entry) bool {
	switch {
	case e == nil || now == nil:
		return e == now
	case e.sealed && os.SameFile(e.info, now.info):
		return true
	case e.info.Mode() != now.info.Mode():
		return false
	case e.isFile() && e.kept && now.kept:
		return bytes.Equal(e.text, now.text)
	case e.info.Mode()&fs.ModeSymlink != 0:
		return e.link == now.link
	}
	return !e.isDir() && filestamp.Of(e.info) == filestamp.Of(now.info)
}

// reading records entries within its limits.
type reading struct {
	root    *os.Root
	entries int
	bytes   int
	err     error
}

// deep records a file or folder with its content.
func (r *reading) deep(name string) *entry {
	e := r.shallow(name)
	if !e.isDir() || r.err != nil {
		return e
	}
	e.list = map[string]*entry{}
	names, err := list(r.root, name, maxEntries)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return e // etui does not use what it cannot read
	case err != nil:
		r.err = err
		return e
	}
	for _, child := range names {
		e.list[child] = r.deep(path.Join(name, child))
	}
	return e
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
	e := &entry{info: info}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		e.link, _ = r.root.Readlink(name) // if it was removed meanwhile, it differs
	case info.Mode().IsRegular() && info.Size() <= maxText && r.bytes+int(info.Size()) <= maxKept:
		e.text, e.kept = read(r.root, name)
		r.bytes += len(e.text)
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
