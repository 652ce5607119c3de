package builtin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type editInput struct {
	Path string `json:"path"`
	replacement
}

// replacement is one change of a text.
type replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
	// replace every occurrence
	All bool `json:"all,omitempty"`
}

// editFile replaces a text in a file of the workspace. The old text must occur exactly once.
//
//etui:tool risk=write
//etui:zh 替换工作区文件中的一段文字。
//etui:alias replace text, modify file, 修改文件, 替换
//etui:alias change a file, correct a text in a file, update file, adjust, rewrite a line, 编辑, 改文件, 改成, 改为, 换成, 更正, 更新文件, 调整
func (f *Files) editFile(in editInput) (chat.Result, error) {
	var c replaceResult
	s, err := f.edit(in.Path, func(name, text string) (after string, err error) {
		c, err = in.apply(name, text)
		return c.text, err
	})
	if err != nil {
		return chat.Result{}, err
	}
	r := tool.Text(fmt.Sprintf("Replaced %d occurrence(s) in %s, the first at line %d.", c.count, s.shown, c.line))
	r.View = &chat.View{Text: fmt.Sprintf("%s:%d\n%s", s.shown, c.line, in.replacement)}
	return r, nil
}

// replaceResult is the result of a replacement.
type replaceResult struct {
	text        string
	count, line int // how often, and where first
}

func (r replacement) apply(name, text string) (c replaceResult, err error) {
	if r.Old == "" || r.Old == r.New {
		return c, fmt.Errorf("old must not be empty and must differ from new")
	}
	old, replaced := r.Old, r.New
	switch {
	case isCRLF(text):
		old, replaced = crlf(old), crlf(replaced)
	case strings.Contains(text, "\r\n") && !strings.Contains(text, old):
		old, replaced = crlf(old), crlf(replaced) // some of its lines end in CRLF
	}
	n := strings.Count(text, old)
	switch {
	case n == 0:
		return c, fmt.Errorf("the old text does not occur in %s%s", name, nearest(text, r.Old))
	case n > 1 && !r.All:
		return c, fmt.Errorf("the old text occurs %d times in %s, in lines %s; add lines around it, or set all", n,
			name, places(text, old, n))
	}
	if size := len(text) + n*(len(replaced)-len(old)); size > maxFile { // before it takes the memory
		return c, fmt.Errorf("%s would have %d bytes with it; write at most 1 MiB", name, size)
	}
	line := strings.Count(text[:strings.Index(text, old)], "\n") + 1
	return replaceResult{strings.ReplaceAll(text, old, replaced), n, line}, nil
}

// places lists the lines in which a text begins that occurs count times: the first
// ten.
func places(text, old string, count int) string {
	var list []string
	line := 1
	for range min(count, 10) {
		before, after, _ := strings.Cut(text, old)
		line += strings.Count(before, "\n")
		list = append(list, strconv.Itoa(line))
		line, text = line+strings.Count(old, "\n"), after
	}
	if count > len(list) {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// String formats the change for the user.
func (r replacement) String() string { return prefixed("- ", r.Old) + prefixed("+ ", r.New) }

func prefixed(sign, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(sign + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}
