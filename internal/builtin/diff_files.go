package builtin

import (
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
)

type diffInput struct {
	// the older one
	From string `json:"from"`
	// the newer one
	To string `json:"to"`
}

// diffFiles shows in which lines two text files of the workspace differ.
//
//etui:tool risk=read
//etui:zh 比较工作区中两个文本文件的差异。
//etui:alias compare files, diff, 比较文件, 对比差异
func (f *Files) diffFiles(in diffInput) (string, error) {
	from, err := f.text(in.From)
	if err != nil {
		return "", err
	}
	to, err := f.text(in.To)
	if err != nil {
		return "", err
	}
	switch {
	case from == to:
		return fmt.Sprintf("%s and %s are the same.", in.From, in.To), nil
	case lf(from) == lf(to):
		return fmt.Sprintf("%s and %s differ in their line ends only.", in.From, in.To), nil
	}
	return string(diff.Diff(in.From, []byte(lf(from)), in.To, []byte(lf(to)))), nil
}
