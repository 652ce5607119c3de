package builtin

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/etui-run/etui/tool"
)

func (f *Files) listDir() tool.Tool {
	type input struct {
		Path string `json:"path,omitempty"`
	}
	return tool.Func(definition("list_dir", "List a folder of the workspace.", "列出工作区文件夹的内容。", tool.Read,
		`{"type":"object","properties":{"path":{"type":"string","description":"default: the workspace"}}}`, "ls", "dir", "目录", "有哪些文件"),
		func(_ context.Context, in input) (string, error) {
			name, err := f.clean(in.Path)
			if err != nil {
				return "", err
			}
			if info, err := f.root.Stat(name); err == nil && !info.IsDir() {
				return "", fmt.Errorf("%s is not a folder", name)
			}
			entries, err := fs.ReadDir(f.root.FS(), name)
			if err != nil {
				return "", say(name, err)
			}
			if len(entries) == 0 {
				return name + " is empty.", nil
			}
			slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
				if a.IsDir() != b.IsDir() {
					if a.IsDir() {
						return -1
					}
					return 1
				}
				return cmp.Compare(a.Name(), b.Name())
			})
			var b strings.Builder
			for i, e := range entries {
				if i == maxList {
					fmt.Fprintf(&b, "… and %d more\n", len(entries)-maxList)
					break
				}
				info, err := e.Info()
				switch {
				case e.IsDir():
					fmt.Fprintf(&b, "%s/\n", e.Name())
				case err != nil || !info.Mode().IsRegular():
					fmt.Fprintf(&b, "%s (%s)\n", e.Name(), e.Type())
				default:
					fmt.Fprintf(&b, "%s (%d bytes)\n", e.Name(), info.Size())
				}
			}
			return b.String(), nil
		})
}
