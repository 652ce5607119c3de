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
	// such as *.md or docs/**/*.{txt,csv}
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

// findFiles finds files and folders of the workspace by name.
//
//etui:tool risk=read
//etui:zh 按文件名查找工作区中的文件。
//etui:alias glob, locate file, 找文件, 文件在哪
//etui:alias search for a file, look for a file, where is the file, 搜文件, 查找文件, 定位文件
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
	pattern, err := newGlob(in.Pattern)
	if err != nil {
		return "", err
	}
	var found strings.Builder
	count, more := 0, false
	all, err := f.walk(ctx, s, func(file spot, e fs.DirEntry) error {
		if e.IsDir() && strings.HasSuffix(in.Pattern, "**") || !pattern.match(file.within(s)) {
			return nil
		}
		if e.IsDir() {
			file.shown += "/"
		}
		file.shown = told(file.shown)
		if count == maxList || found.Len()+len(file.shown) > maxText-200 {
			more = true
			return fs.SkipAll
		}
		found.WriteString(file.shown + "\n")
		count++
		return nil
	})
	text := found.String()
	if count == 0 {
		text = fmt.Sprintf("No file matches %s.", in.Pattern)
	}
	switch {
	case err != nil:
		return "", err
	case more:
		return fmt.Sprintf("%s(the first %d; there are more: narrow pattern or path)", text, count), nil
	case !all:
		return text + tooMany, nil
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// glob holds the patterns that result from expanding braces.
type glob []string

// maxGlobs limits their number.
const maxGlobs = 50

func newGlob(pattern string) (glob, error) {
	if len(pattern) > 200 || strings.Count(pattern, "**") > 3 {
		return nil, fmt.Errorf("the pattern is longer than 200 characters or has more than three **")
	}
	if filepath.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
		return nil, fmt.Errorf("%s leads out of the folder; patterns are relative to path", pattern)
	}
	list := glob{pattern}
	for i := 0; i < len(list) && len(list) <= maxGlobs; {
		before, rest, ok := strings.Cut(list[i], "{")
		inner, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			i++
			continue
		}
		var alternatives glob
		for one := range strings.SplitSeq(inner, ",") {
			alternatives = append(alternatives, before+one+after)
		}
		list = slices.Replace(list, i, i+1, alternatives...)
	}
	if len(list) > maxGlobs {
		return nil, fmt.Errorf("%s expands to more than %d patterns", pattern, maxGlobs)
	}
	for i, p := range list {
		if _, err := path.Match(p, "x"); err != nil || p == "" {
			return nil, fmt.Errorf("%q is not a pattern such as *.md or docs/**/*.{txt,csv}", pattern)
		}
		list[i] = strings.TrimPrefix(p, "./")
	}
	return list, nil
}

// match matches a path against the patterns, in which ** matches any number of
// folders. A pattern without a slash matches the last element of the path.
func (g glob) match(name string) bool {
	return slices.ContainsFunc(g, func(pattern string) bool {
		if !strings.Contains(pattern, "/") {
			ok, _ := path.Match(pattern, path.Base(name)) // validated before
			return ok
		}
		return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
	})
}

// matchParts goes back to the last ** only: what an earlier one could take, it can take as
// well. So the time does not grow with the number of ways to match.
func matchParts(pattern, name []string) bool {
	p, n := 0, 0
	last, taken := -1, 0 // the last **, and up to where it has taken elements
	for n < len(name) {
		if p < len(pattern) && pattern[p] == "**" {
			last, taken = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if ok, _ := path.Match(pattern[p], name[n]); ok { // validated before
				p, n = p+1, n+1
				continue
			}
		}
		if last < 0 {
			return false
		}
		taken++
		p, n = last+1, taken
	}
	return !slices.ContainsFunc(pattern[p:], func(part string) bool { return part != "**" })
}
