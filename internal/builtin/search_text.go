package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/etui-run/etui/tool"
)

func (f *Files) searchText() tool.Tool {
	type input struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty"`
		Files   string `json:"files,omitempty"`
	}
	return tool.Func(definition("search_text", "Find lines in files of the workspace.", "在工作区文件内容中搜索文字。", tool.Read,
		`{"type":"object","properties":{"pattern":{"type":"string","description":"regular expression"},"path":{"type":"string"},"files":{"type":"string","description":"such as *.go"}},"required":["pattern"]}`,
		"grep", "search in files", "全文搜索文件", "哪个文件里有"),
		func(ctx context.Context, in input) (string, error) {
			folder, err := f.clean(in.Path)
			if err != nil {
				return "", err
			}
			if in.Files != "" {
				if err := checkPattern(in.Files); err != nil {
					return "", err
				}
			}
			if in.Pattern == "" || len(in.Pattern) > 1000 {
				return "", fmt.Errorf("the pattern must have 1 to 1000 characters")
			}
			re, err := regexp.Compile(in.Pattern)
			if err != nil {
				re = regexp.MustCompile(regexp.QuoteMeta(in.Pattern)) // then it is meant literally
			}
			var hits []string
			err = f.walk(ctx, folder, func(name string, e fs.DirEntry) error {
				if !e.Type().IsRegular() || in.Files != "" && !matches(in.Files, strings.TrimPrefix(name, folder+"/")) {
					return nil
				}
				text, err := f.read(name)
				if err != nil {
					return nil //nolint:nilerr // large and binary files are passed over
				}
				hits = append(hits, lines(name, text, re, maxHits-len(hits))...)
				if len(hits) == maxHits {
					return fs.SkipAll
				}
				return nil
			})
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
		})
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
