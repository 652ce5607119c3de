package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

// place is a folder whose files are accessible.
type place struct {
	root *os.Root
	dirs []string // its absolute names: as given, and with links resolved
	// holdsHidden says that something in it is hidden, see [spot.openAny].
	holdsHidden bool
}

func openPlace(dir string) (place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return place{}, err
	}
	return place{root: root, dirs: spellings(dir)}, nil
}

// spellings returns a folder's name as given, and with links resolved if that is another.
func spellings(dir string) []string {
	if plain, err := filepath.EvalSymlinks(dir); err == nil && plain != dir {
		return []string{dir, plain}
	}
	return []string{dir}
}

// inside returns an absolute path relative to the place.
func inside(dirs []string, name string) (string, bool) {
	for _, dir := range dirs {
		if below, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(below) {
			return filepath.ToSlash(below), true
		}
	}
	return "", false
}

// spot is the file or folder that a path refers to.
type spot struct {
	place
	name  string // relative to the place, links resolved
	shown string // the name that the model knows
	close func() // releases the place
}

// find resolves a path, following links within the place. The result need not exist.
// An absolute path may also point into a read-only folder.
func (f *Files) find(given string) (spot, error) {
	name, err := f.clean(given)
	if err != nil {
		return spot{}, err
	}
	if path.IsAbs(name) {
		return f.findReadOnly(name)
	}
	s := spot{place: f.place, shown: name, close: func() {}}
	if s.name, err = s.plain(name); err == nil {
		err = f.visible(s)
	}
	return s, err
}

// findChange resolves a path of the workspace for a change, following links;
// it does not follow the last element if the link itself is meant.
func (f *Files) findChange(given string, itself bool) (spot, error) {
	name, err := f.clean(given)
	switch {
	case err != nil:
		return spot{}, err
	case path.IsAbs(name):
		return spot{}, fmt.Errorf("%s is outside of the workspace and can only be read", given)
	}
	s := spot{place: f.place, shown: name, close: func() {}}
	folder, last := name, ""
	if itself && name != "." {
		folder, last = path.Dir(name), path.Base(name)
	}
	if s.name, err = s.plain(folder); err != nil {
		return spot{}, err
	}
	s.name = path.Join(s.name, last)
	return s, f.changeable(s)
}

// findReadOnly resolves an absolute path, with its links, in the read-only folders. A
// file that lies in several of them is in the first one, so that it has one name,
// whichever way leads there.
func (f *Files) findReadOnly(name string) (spot, error) {
	at := slices.IndexFunc(f.readOnly, func(dir string) bool {
		_, ok := inside(spellings(dir), name)
		return ok
	})
	if at < 0 {
		return spot{}, fmt.Errorf("%s is outside of the workspace; use paths relative to it", name)
	}
	p, err := openPlace(f.readOnly[at])
	if err != nil {
		return spot{}, say(name, err)
	}
	below, _ := inside(p.dirs, name)
	if below, err = p.plain(below); err != nil {
		return spot{}, errors.Join(err, p.root.Close())
	}
	plain := filepath.Join(p.dirs[len(p.dirs)-1], below)
	for _, dir := range f.readOnly[:at] {
		names := spellings(dir)
		first, ok := inside(names[len(names)-1:], plain)
		if !ok {
			continue
		}
		if err := p.root.Close(); err != nil {
			return spot{}, say(name, err)
		}
		if p, err = openPlace(dir); err != nil {
			return spot{}, say(name, err)
		}
		below = first
		break
	}
	return spot{place: p, name: below, shown: filepath.ToSlash(filepath.Join(p.dirs[0], below)),
		close: func() { _ = p.root.Close() }}, nil
}

// notPaths are spellings that other programs expand. Here they would name files that
// nobody meant.
var notPaths = regexp.MustCompile(`^(~($|[^/]*/)|\$\w+(/|$)|\$[{(]|%\w+%|[A-Za-z][A-Za-z0-9+.-]+:/|[A-Za-z]:($|[/\\])|\\\\)|(^|\\)\.\.(\\|$)`)

// clean turns the model's path into one for a place: relative, with slashes. An
// absolute path below the workspace becomes relative; other absolute paths are kept.
func (f *Files) clean(name string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", errors.New("the path contains a NUL character")
	case len(name) > maxPath:
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	case name == "":
		return ".", nil
	case filepath.IsAbs(name):
		if below, ok := inside(f.dirs, name); ok {
			return path.Clean(below), nil
		}
		return filepath.ToSlash(filepath.Clean(name)), nil
	}
	if name = path.Clean(filepath.ToSlash(name)); !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s is outside of the workspace", name)
	}
	return name, nil
}

const maxLinks = 40 // on one path

// plain follows the links in a path. Missing elements are kept as they are.
func (p place) plain(name string) (string, error) {
	done, left := ".", strings.Split(name, "/")
	for links := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", fmt.Errorf("%s leads out of the workspace", name)
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		info, err := p.root.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := p.root.Readlink(next)
		if err != nil {
			return "", say(next, err)
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", name)
		}
		target = filepath.ToSlash(target)
		if path.IsAbs(target) {
			below, ok := inside(p.dirs, target)
			if !ok {
				return "", fmt.Errorf("%s is a link that leads out of the workspace", next)
			}
			done, target = ".", below
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return done, nil
}

// enter opens the folder of a name, step by step. A program running at the same time
// could replace a folder with a link to something protected; stepping does not follow
// it. With make, missing folders are created.
func (s spot) enter(mkdir bool) (spot, error) {
	at, err := s.root.OpenRoot(".")
	if err != nil {
		return s, say(s.shown, err)
	}
	for _, part := range strings.Split(path.Dir(s.name), "/") {
		if part == "." {
			continue
		}
		next, err := step(at, part, mkdir)
		_ = at.Close() // it was only used for reading
		if err != nil {
			return s, say(path.Dir(s.shown), err)
		}
		at = next
	}
	return spot{place: place{root: at}, name: path.Base(s.name), shown: s.shown, close: func() { _ = at.Close() }}, nil
}

// step opens a folder within a folder without following links.
func step(at *os.Root, name string, mkdir bool) (*os.Root, error) {
	info, err := at.Lstat(name)
	if mkdir && errors.Is(err, fs.ErrNotExist) {
		if err = at.Mkdir(name, 0o755); err == nil {
			info, err = at.Lstat(name)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", name)
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(opened, info) {
		return nil, errors.Join(fmt.Errorf("%s was changed by another program meanwhile", name), next.Close())
	}
	return next, nil
}

// told quotes a name in a list if it holds what could be taken for other text: the ends of
// lines, or characters that steer terminals. Programs choose such names.
func told(name string) string {
	if strings.ContainsAny(name, "\n\t") || printable.Text(name) != name {
		return strconv.Quote(name)
	}
	return name
}

// say turns a file system error into one for the model, without the workspace's
// location.
func say(name string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file or folder %q; list_dir shows what is there", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", name)
	case errors.As(err, &p):
		return fmt.Errorf("%s: %w", name, p.Err)
	case errors.As(err, &l):
		return fmt.Errorf("%s: %w", name, l.Err)
	}
	return err
}
