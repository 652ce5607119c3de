package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

type findInput struct {
	// such as *.md or docs/**/*.txt
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

// findFiles finds files of the workspace by name.
//
//etui:tool risk=read
//etui:zh 按文件名查找工作区中的文件。
//etui:alias glob, locate file, 找文件, 文件在哪
func (f *Files) findFiles(ctx context.Context, in findInput) (string, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	if filepath.IsAbs(in.Pattern) {
		if below, ok := inside(s.dirs, in.Pattern); ok && s.name == "." {
			in.Pattern = below
		}
	}
	if err := checkPattern(in.Pattern); err != nil {
		return "", err
	}
	var found []string
	err = s.walk(ctx, func(file spot, e fs.DirEntry) error {
		if !e.IsDir() && matches(in.Pattern, file.within(s)) {
			found = append(found, file.shown)
		}
		if len(found) == maxList {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return fmt.Sprintf("No file matches %s.", in.Pattern), nil
	case maxList:
		found = append(found, fmt.Sprintf("(the first %d)", maxList))
	}
	return strings.Join(found, "\n"), nil
}

func checkPattern(pattern string) error {
	if len(pattern) > 200 || strings.Count(pattern, "**") > 3 {
		return fmt.Errorf("the pattern is longer than 200 characters or has more than three **")
	}
	if _, err := path.Match(pattern, "x"); err != nil || pattern == "" {
		return fmt.Errorf("%q is not a pattern such as *.md or docs/**/*.txt", pattern)
	}
	if filepath.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
		return fmt.Errorf("%s leads out of the folder; patterns are relative to path", pattern)
	}
	return nil
}

// matches holds a path against a pattern in which ** stands for any folders. A
// pattern without a slash is held against the last part of the path.
func matches(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		ok, _ := path.Match(pattern, path.Base(name)) // checked before
		return ok
	}
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	// Repeated ** say the same as one.
	for len(pattern) > 1 && pattern[0] == "**" && pattern[1] == "**" {
		pattern = pattern[1:]
	}
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], name) || len(name) > 0 && matchParts(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	ok, _ := path.Match(pattern[0], name[0]) // checked before
	return ok && matchParts(pattern[1:], name[1:])
}
