package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/etui-run/etui/internal/filestamp"
)

// tree is an open Root. Nothing outside its Within is read through it.
type tree struct {
	within *os.Root
	base   string // within, as an absolute path, links resolved
	at     string // the folder, below within; "." for within itself
	own    *os.Root
	// skills are the folders of all skills, as absolute paths, links resolved: a SKILL.md may be
	// a link into one of them, where nothing but a person writes.
	skills []string
}

// skillFile is a file of a tree that may hold a skill.
type skillFile struct {
	path string // below the folder, with slashes
	real string // below within, links resolved
	dir  string // the folder that the name is in, below within
	info fs.FileInfo
	err  error // why it cannot be used
}

// openTree opens a root. The error is fs.ErrNotExist if it does not exist.
func openTree(r Root) (*tree, error) {
	within := cmp.Or(r.Within, r.Dir)
	base, err := filepath.Abs(within)
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		return nil, plain(err)
	}
	real, missing := resolve(r.abs())
	at, err := filepath.Rel(base, real)
	switch {
	case err != nil || !filepath.IsLocal(at):
		return nil, fmt.Errorf("the folder lies outside %s and is not read", within)
	case missing != nil && strings.ContainsAny(r.Dir, "~$:"):
		return nil, errors.New("there is no such folder; write its path: ~, $NAME and URLs are not expanded here")
	case missing != nil:
		return nil, plain(missing)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, plain(err)
	}
	f := &tree{within: root, base: base, at: at}
	if info, err := root.Stat(at); err != nil || !info.IsDir() {
		f.close()
		if err == nil {
			err = errors.New("this is not a folder")
		}
		return nil, plain(err)
	}
	return f, nil
}

// resolve resolves the links of a path as far as it exists. The error says why it
// could not be resolved to its end.
func resolve(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return real, nil
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir, err
	}
	real, _ = resolve(parent)
	return filepath.Join(real, filepath.Base(dir)), err
}

func (f *tree) close() {
	if f.own != nil {
		_ = f.own.Close()
	}
	_ = f.within.Close()
}

// dir returns the folder as an absolute path, links resolved.
func (f *tree) dir() string { return filepath.Join(f.base, f.at) }

// parent opens the folder of a file's skill and returns a function that closes it.
func (f *tree) parent(file skillFile) (*os.Root, func(), error) {
	if isYAML(file.path) {
		var err error
		if f.own == nil {
			f.own, err = f.within.OpenRoot(f.at)
		}
		return f.own, func() {}, plain(err)
	}
	dir, err := f.within.OpenRoot(file.dir)
	return dir, func() { _ = dir.Close() }, plain(err)
}

// list returns the files of the folder by path. It calls enter with every folder
// before reading it.
func (f *tree) list(packages bool, enter func(dir string)) ([]skillFile, error) {
	w := walk{tree: f, packages: packages, enter: enter}
	err := w.dir(f.at, "", 0)
	slices.SortFunc(w.files, func(a, b skillFile) int { return strings.Compare(a.path, b.path) })
	return w.files, err
}

type walk struct {
	*tree
	packages bool
	enter    func(dir string)
	names    int // in all folders
	looked   int // those of them that may be or hold a skill
	files    []skillFile
}

// dir reads a folder: real below within, at below the root.
func (w *walk) dir(real, at string, depth int) error {
	if w.enter != nil {
		w.enter(filepath.Join(w.base, real))
	}
	d, err := w.within.Open(real)
	if err != nil {
		return plain(err)
	}
	defer func() { _ = d.Close() }()
	for {
		entries, err := d.ReadDir(1000)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if w.names++; w.names > maxNames {
				return fmt.Errorf("the folder holds more than %d names", maxNames)
			}
			if isYAML(e.Name()) || !e.Type().IsRegular() {
				w.looked++
			}
			if w.looked > maxFiles {
				return fmt.Errorf("the folder holds more than %d YAML files and folders", maxFiles)
			}
			if err := w.entry(e, filepath.Join(real, e.Name()), path.Join(at, e.Name()), depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return plain(err)
		}
	}
}

// entry examines a name in a folder.
func (w *walk) entry(e fs.DirEntry, real, at string, depth int) error {
	link := e.Type()&fs.ModeSymlink != 0
	switch {
	case depth == 0 && isYAML(e.Name()):
		if file := w.find(real, at, e); !isGone(file.err) || link {
			w.files = append(w.files, file)
		}
		return nil
	case !w.packages || !e.IsDir() && !link:
		return nil
	}
	file := skillFile{path: at, real: real, dir: filepath.Dir(real)}
	if link {
		if file = w.find(real, at, e); file.err != nil && !errors.Is(file.err, errOutsideFolder) ||
			file.err == nil && !file.info.IsDir() {
			return nil // a link to something else
		}
	}
	if file.err != nil {
		w.files = append(w.files, file)
		return nil //nolint:nilerr // the file carries the error
	}
	for _, name := range []string{"SKILL.md", "skill.md"} {
		if info, err := w.within.Lstat(filepath.Join(file.real, name)); err == nil {
			if w.enter != nil {
				w.enter(filepath.Join(w.base, file.real))
			}
			w.files = append(w.files, w.find(filepath.Join(file.real, name), path.Join(at, name),
				fs.FileInfoToDirEntry(info)))
			return nil
		}
	}
	if link || depth >= maxFolders {
		return nil // links lead to packages, not to folders of packages
	}
	return w.dir(file.real, at, depth+1)
}

// file returns one file of the folder itself.
func (f *tree) file(name string) skillFile {
	real := filepath.Join(f.at, name)
	info, err := f.within.Lstat(real)
	if err != nil {
		return skillFile{path: name, err: plain(err)}
	}
	return f.find(real, name, fs.FileInfoToDirEntry(info))
}

var errOutsideFolder = errors.New("the link leads outside")

// find follows a name to its file within the tree.
func (f *tree) find(real, at string, e fs.DirEntry) skillFile {
	if strings.ContainsFunc(at, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return skillFile{path: at, err: errors.New("the file's name holds characters that cannot be printed")}
	}
	dir := filepath.Dir(real)
	if e.Type()&fs.ModeSymlink == 0 {
		info, err := e.Info()
		return skillFile{at, real, dir, info, plain(err)}
	}
	target, err := filepath.EvalSymlinks(filepath.Join(f.base, real))
	if errors.Is(err, fs.ErrNotExist) {
		return skillFile{path: at, err: errors.New("the link leads to nothing")}
	}
	if err != nil {
		return skillFile{path: at, err: plain(err)}
	}
	document := strings.EqualFold(path.Base(at), "SKILL.md")
	if document && !slices.ContainsFunc(f.skills,
		func(dir string) bool { return strings.HasPrefix(target, dir+string(filepath.Separator)) }) {
		return skillFile{path: at, err: fmt.Errorf("%w the folders of skills and is not followed", errOutsideFolder)}
	}
	real, err = filepath.Rel(f.base, target)
	if err != nil || !filepath.IsLocal(real) {
		if info, err := os.Stat(target); !isYAML(at) && (err != nil || !info.IsDir()) {
			return skillFile{path: at, err: errors.New("the link does not lead to a folder")}
		}
		return skillFile{path: at, err: fmt.Errorf("%w %s and is not followed", errOutsideFolder, f.base)}
	}
	info, err := f.within.Stat(real)
	return skillFile{at, real, dir, info, plain(err)}
}

// stamp returns the stamp of a file in the folder, or the zero one.
func (f *tree) stamp(file string) filestamp.Stamp {
	if file == "" {
		return filestamp.Stamp{}
	}
	info, err := f.within.Stat(filepath.Join(f.at, filepath.FromSlash(file)))
	if err != nil {
		return filestamp.Stamp{}
	}
	return filestamp.Of(info)
}

// read returns the text of a file of at most so many bytes, and its stamp at that
// time. It never waits for a writer.
func (f *tree) read(file skillFile, most int64) ([]byte, filestamp.Stamp, error) {
	if err := readable(file.info, most); err != nil {
		return nil, filestamp.Of(file.info), err
	}
	r, err := f.within.OpenFile(file.real, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, filestamp.Of(file.info), plain(err)
	}
	defer func() { _ = r.Close() }()
	info, err := r.Stat()
	if err != nil {
		return nil, filestamp.Of(file.info), plain(err)
	}
	if err := readable(info, most); err != nil {
		return nil, filestamp.Of(info), err
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = tooLong(most)
	}
	return text, filestamp.Of(info), plain(err)
}

// ErrTooLong says that a file has more bytes than are read.
var ErrTooLong = errors.New("the file is too long")

// ReadFile reads a regular file of a skill, without waiting for pipes. Of a file with
// more than most bytes it returns the beginning and ErrTooLong. Its errors do not name
// the file.
func ReadFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		return raw[:most], ErrTooLong
	}
	return raw, plain(err)
}

// readable returns why a file must not be read, or nil.
func readable(info fs.FileInfo, most int64) error {
	switch {
	case info.IsDir():
		return errors.New("this is a folder, not a file")
	case !info.Mode().IsRegular():
		return errors.New("this is not a regular file but a pipe, a socket or a device")
	case filestamp.Links(info) > 1:
		return errors.New("the file has another name (a hard link), which may lie outside; copy it instead")
	case info.Size() > most:
		return tooLong(most)
	}
	return nil
}

func tooLong(most int64) error { return fmt.Errorf("the file is longer than %d kB", most>>10) }

// plain removes the path from an error, since messages name it already.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func isYAML(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml":
		return !strings.HasPrefix(path.Base(name), ".")
	}
	return false
}
