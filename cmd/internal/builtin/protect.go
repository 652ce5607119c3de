package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/etui-run/etui/sandbox/protect"
)

var (
	errProtected = errors.New("etui's configuration and what it names, skills and state cannot be changed by tools")
	errControl   = errors.New("is run or read by other programs and cannot be changed by tools")
)

// changeable refuses changes to protected files under any name, and through the name of one
// that is a link. The name has no links, except for the last element if the link itself is
// meant.
func (f *Files) changeable(s spot) error {
	if notPaths.MatchString(s.shown) {
		return fmt.Errorf("%s is not a path in the workspace: names are not expanded", s.shown)
	}
	if strings.ContainsFunc(s.name, unicode.IsControl) {
		return fmt.Errorf("%q contains control characters", s.name)
	}
	for part := s.name; part != "."; part = path.Dir(part) {
		if f.isProtected(part) || path.Base(protect.Fold(part)) == "etui.yaml" {
			return errProtected
		}
	}
	switch {
	case protect.Trusted(s.name, s.has) || protect.Trusted(s.shown, s.has) || f.inRepository(s.name):
		return fmt.Errorf("%s %w", s.shown, errControl)
	case f.isProtected("."):
		return errProtected
	}
	return nil
}

var errHidden = errors.New("etui keeps its state there, which tools cannot read")

// visible refuses what is hidden, under any name. The name has no links.
func (f *Files) visible(s spot) error {
	hides := f.hides(s)
	for part := s.name; ; part = path.Dir(part) {
		if hides(part) {
			return fmt.Errorf("%s: %w", s.shown, errHidden)
		}
		if part == "." {
			return nil
		}
	}
}

// hides returns what tells the hidden names of a place.
func (f *Files) hides(s spot) func(name string) bool {
	var names []string
	var infos []fs.FileInfo
	for _, hidden := range f.hidden {
		below, ok := inside(f.dirs, hidden)
		if !ok || s.root != f.root {
			continue
		}
		names = append(names, protect.Fold(below))
		if info, err := f.root.Stat(below); err == nil { // also behind a link
			infos = append(infos, info)
		}
	}
	return func(name string) bool {
		if len(names) == 0 {
			return false
		}
		info, err := f.root.Lstat(name)
		return slices.Contains(names, protect.Fold(name)) ||
			err == nil && slices.ContainsFunc(infos, func(h fs.FileInfo) bool { return os.SameFile(h, info) })
	}
}

// has reports whether something is at a path of the place.
func (s spot) has(name string) bool {
	_, err := s.root.Lstat(name)
	return err == nil
}

// inRepository reports whether a name is in a folder that git takes for a repository's own,
// or would make its folder one.
func (f *Files) inRepository(name string) bool {
	for part := name; part != "."; part = path.Dir(part) {
		has := func(entry string) bool {
			if protect.Fold(path.Base(part)) == strings.ToLower(entry) { // it is there, or is made now
				return true
			}
			_, err := f.root.Lstat(path.Join(path.Dir(part), entry))
			return err == nil
		}
		if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
			return true
		}
	}
	return false
}

// isProtected reports whether a name is protected.
func (f *Files) isProtected(name string) bool {
	info, err := f.root.Stat(name)
	return slices.ContainsFunc(f.protected, func(protected string) bool {
		if below, ok := inside(f.dirs, protected); ok && protect.Fold(below) == protect.Fold(name) {
			return true
		}
		own, missing := os.Stat(protected) //nolint:forbidigo // the path is the configuration's
		return err == nil && missing == nil && os.SameFile(own, info)
	})
}

// holdsProtected reports whether a folder contains something protected.
func (f *Files) holdsProtected(name string) bool {
	return name == "." || slices.ContainsFunc(f.protected, func(protected string) bool {
		below, ok := inside(f.dirs, protected)
		if !ok || !strings.HasPrefix(protect.Fold(below), protect.Fold(name)+"/") {
			return false
		}
		_, err := os.Lstat(protected) //nolint:forbidigo // the same
		return !errors.Is(err, fs.ErrNotExist)
	})
}
