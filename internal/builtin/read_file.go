package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/tool"
)

func (f *Files) readFile() tool.Tool {
	type input struct {
		Path  string `json:"path"`
		Start int    `json:"start,omitempty"`
		Lines int    `json:"lines,omitempty"`
	}
	return tool.Func(definition("read_file", "Read a text file of the workspace.", "读取工作区中的文本文件。", tool.Read,
		`{"type":"object","properties":{"path":{"type":"string"},"start":{"type":"integer","minimum":1,"description":"first line"},"lines":{"type":"integer","minimum":1}},"required":["path"]}`,
		"open file", "cat", "打开文件", "查看文件", "看文件内容"),
		func(_ context.Context, in input) (string, error) {
			name, err := f.clean(in.Path)
			if err != nil {
				return "", err
			}
			text, err := f.read(name)
			if err != nil {
				return "", err
			}
			if text == "" {
				return name + " is empty.", nil
			}
			lines := strings.SplitAfter(text, "\n")
			if lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			first := max(in.Start, 1)
			count := maxLines
			if in.Lines > 0 {
				count = min(in.Lines, maxLines)
			}
			if first > len(lines) {
				return "", fmt.Errorf("%s has %d lines", name, len(lines))
			}
			last := min(first-1+count, len(lines))
			out := strings.Join(lines[first-1:last], "")
			if first > 1 || last < len(lines) {
				out += fmt.Sprintf("\n(lines %d to %d of %d)", first, last, len(lines))
			}
			return out, nil
		})
}
