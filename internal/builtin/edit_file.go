package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

func (f *Files) editFile() tool.Tool {
	type input struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
		All  bool   `json:"all,omitempty"`
	}
	return tool.Func(definition("edit_file", "Replace a text in a file of the workspace. The old text must occur exactly once.", "替换工作区文件中的一段文字。", tool.Write,
		`{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean","description":"replace every occurrence"}},"required":["path","old","new"]}`,
		"replace text", "modify file", "修改文件", "替换"),
		func(_ context.Context, in input) (chat.Result, error) {
			name, err := f.clean(in.Path)
			if err != nil {
				return chat.Result{}, err
			}
			text, err := f.read(name)
			if err != nil {
				return chat.Result{}, err
			}
			if in.Old == "" || in.Old == in.New {
				return tool.Failure("old must not be empty and must differ from new"), nil
			}
			old, replacement := in.Old, in.New
			if !strings.Contains(text, old) && strings.Contains(text, "\r\n") {
				// Models write line ends as \n whatever the file has.
				old, replacement = crlf(old), crlf(replacement)
			}
			n := strings.Count(text, old)
			switch {
			case n == 0:
				return tool.Failure("the old text does not occur in %s%s", name, similar(text, in.Old)), nil
			case n > 1 && !in.All:
				return tool.Failure("the old text occurs %d times in %s; add lines around it, or set all", n, name), nil
			}
			if err := f.write(name, strings.ReplaceAll(text, old, replacement)); err != nil {
				return chat.Result{}, err
			}
			line := strings.Count(text[:strings.Index(text, old)], "\n") + 1
			change := fmt.Sprintf("%s:%d\n%s%s", name, line, prefixed("- ", in.Old), prefixed("+ ", in.New))
			r := tool.Text(fmt.Sprintf("Replaced %d occurrence(s) in %s, the first at line %d.", n, name, line))
			r.View = &chat.View{Text: change}
			return r, nil
		})
}

func crlf(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

func prefixed(sign, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(sign + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}

// similar points at a line that differs from the wanted one by space or case
// only.
func similar(text, old string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	squeeze := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	want := squeeze(first)
	if want == "" {
		return ""
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.Contains(squeeze(line), want) {
			return fmt.Sprintf("; line %d is similar: %q", n, strings.TrimRight(line, "\r\n"))
		}
	}
	return ""
}
