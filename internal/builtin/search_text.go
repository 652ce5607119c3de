package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

type searchInput struct {
	// regular expression
	Pattern string `json:"pattern"`
	// folder or file
	Path string `json:"path,omitempty"`
	// such as *.go
	Files string `json:"files,omitempty"`
}

// searchText finds lines in files of the workspace.
//
//etui:tool risk=read
//etui:zh 在工作区文件内容中搜索文字。
//etui:alias grep, search in files, 全文搜索文件, 哪个文件里有
func (f *Files) searchText(ctx context.Context, in searchInput) (string, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	if in.Files != "" {
		if err := checkPattern(in.Files); err != nil {
			return "", err
		}
	}
	if in.Pattern == "" || len(in.Pattern) > 1000 {
		return "", errors.New("the pattern must have 1 to 1000 characters")
	}
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		re = regexp.MustCompile(regexp.QuoteMeta(in.Pattern)) // then it is meant literally
	}
	hits, err := s.search(ctx, re, in.Files)
	if err != nil {
		return "", err
	}
	switch len(hits) {
	case 0:
		return fmt.Sprintf("No line matches %s.", in.Pattern), nil
	case maxHits:
		hits = append(hits, fmt.Sprintf("(the first %d)", maxHits))
	}
	return strings.Join(hits, "\n"), nil
}

// search finds lines in a file, or in the files below a folder whose names match.
// Large and binary files there are passed over, and so are those with several
// names.
func (s spot) search(ctx context.Context, re *regexp.Regexp, files string) (hits []string, err error) {
	if info, err := s.root.Stat(s.name); err == nil && !info.IsDir() {
		text, err := s.read()
		return lines(s.shown, text, re, maxHits), err
	}
	err = s.walk(ctx, func(file spot, e fs.DirEntry) error {
		if !e.Type().IsRegular() || files != "" && !matches(files, file.within(s)) {
			return nil
		}
		if info, err := e.Info(); err != nil || names(info) > 1 {
			return nil //nolint:nilerr // it is passed over
		}
		text, err := file.read()
		if err != nil {
			return nil //nolint:nilerr // it is passed over
		}
		hits = append(hits, lines(file.shown, text, re, maxHits-len(hits))...)
		if len(hits) == maxHits {
			return fs.SkipAll
		}
		return nil
	})
	return hits, err
}

// lines returns the lines of a text that match, at most limit.
func lines(name, text string, re *regexp.Regexp, limit int) []string {
	var found []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if len(found) == limit {
			break
		}
		if re.MatchString(line) {
			if len(line) > maxWidth {
				line = strings.ToValidUTF8(line[:maxWidth], "") + "…"
			}
			found = append(found, fmt.Sprintf("%s:%d: %s", name, n, line))
		}
	}
	return found
}
