package builtin

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type multiEditInput struct {
	Path string `json:"path"`
	// carried out in order; each old must occur exactly once then
	Edits []replacement `json:"edits" minItems:"1" maxItems:"100"`
}

// multiEdit replaces several texts in a file of the workspace: all of them, or none when one does not fit.
//
//etui:tool risk=write
//etui:zh 一次替换工作区文件中的多段文字，要么全部成功，要么都不改。
//etui:alias several edits, batch edit, 批量修改, 多处修改
func (f *Files) multiEdit(in multiEditInput) (chat.Result, error) {
	var shown strings.Builder
	s, err := f.edit(in.Path, func(name, text string) (string, error) {
		for i, e := range in.Edits {
			c, err := e.apply(name, text)
			if err != nil {
				return "", fmt.Errorf("nothing was changed; edit %d of %d: %w", i+1, len(in.Edits), err)
			}
			text = c.text
			fmt.Fprintf(&shown, "%s:%d\n%s", name, c.line, e)
		}
		return text, nil
	})
	if err != nil {
		return chat.Result{}, err
	}
	r := tool.Text(fmt.Sprintf("Made %d edits in %s.", len(in.Edits), s.shown))
	r.View = &chat.View{Text: shown.String()}
	return r, nil
}
