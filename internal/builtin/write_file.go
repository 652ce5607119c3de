package builtin

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/tool"
)

func (f *Files) writeFile() tool.Tool {
	type input struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	return tool.Func(definition("write_file", "Write a text file of the workspace, replacing what was there.", "写入（覆盖）工作区中的文本文件。", tool.Write,
		`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`,
		"create file", "save", "新建文件", "保存文件", "写文件"),
		func(_ context.Context, in input) (string, error) {
			name, err := f.clean(in.Path)
			if err == nil {
				err = f.write(name, in.Content)
			}
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Wrote %d bytes to %s.", len(in.Content), name), nil
		})
}
