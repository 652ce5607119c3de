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

	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/internal/protect"
)

var (
	errProtected = errors.New("the configuration of the workspace, its skills and its state cannot be changed by tools")
	errControl   = errors.New("is run or read by other programs and cannot be changed by tools")
)

// changeable refuses changes to protected files under any name. The name has no links,
// except for the last element if the link itself is meant.
func (f *Files) changeable(s spot) error {
	if notPaths.MatchString(s.shown) {
		return fmt.Errorf("%s is not a path in the workspace: names are not expanded", s.shown)
	}
	if strings.ContainsFunc(s.name, unicode.IsControl) {
		return fmt.Errorf("%q contains control characters", s.name)
	}
	parts := strings.Split(fold(s.name), "/")
	if isControl(parts) {
		return fmt.Errorf("%s %w", s.shown, errControl)
	}
	for part := s.name; ; part = path.Dir(part) {
		if f.isProtected(part) {
			return errProtected
		}
		if part == "." {
			return nil
		}
	}
}

// isControl reports whether other programs trust a name, in the workspace or in any of
// its folders.
func isControl(parts []string) bool {
	return slices.ContainsFunc(protect.Names(), func(c string) bool {
		want, all := strings.CutSuffix(c, "/")
		wants := strings.Split(want, "/")
		for at := range parts {
			rest := parts[at:]
			if len(rest) >= len(wants) && slices.Equal(rest[:len(wants)], wants) && (all || len(rest) == len(wants)) {
				return true
			}
		}
		return false
	})
}

// fold maps names to one form if some file system treats them as equal: different
// case, composed letters, invisible characters, and trailing blanks, dots or streams.
func fold(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, norm.NFKC.String(name))
	parts := strings.Split(name, "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ":")
		if trimmed := strings.TrimRight(part, ". "); trimmed != "" {
			part = trimmed
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// isProtected reports whether a name is protected.
func (f *Files) isProtected(name string) bool {
	info, err := f.root.Stat(name)
	return slices.ContainsFunc(f.protected, func(protected string) bool {
		if below, ok := inside(f.dirs, protected); ok && fold(below) == fold(name) {
			return true
		}
		own, missing := os.Stat(protected)
		return err == nil && missing == nil && os.SameFile(own, info)
	})
}

// holdsProtected reports whether a folder contains something protected.
func (f *Files) holdsProtected(name string) bool {
	return name == "." || slices.ContainsFunc(f.protected, func(protected string) bool {
		below, ok := inside(f.dirs, protected)
		if !ok || !strings.HasPrefix(fold(below), fold(name)+"/") {
			return false
		}
		_, err := os.Lstat(protected)
		return !errors.Is(err, fs.ErrNotExist)
	})
}
