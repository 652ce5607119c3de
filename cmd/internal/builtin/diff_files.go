package builtin

import (
	"fmt"
	"strings"

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
	older, err := f.text(in.From)
	if err != nil {
		return "", err
	}
	newer, err := f.text(in.To)
	if err != nil {
		return "", err
	}
	from, to := older.text, newer.text
	switch {
	case from == to:
		return fmt.Sprintf("%s and %s are the same.", in.From, in.To), nil
	case lf(from) == lf(to):
		return fmt.Sprintf("%s and %s differ in their line ends only.", in.From, in.To), nil
	}
	text := strings.ToValidUTF8(string(diff.Diff(in.From, []byte(lf(from)), in.To, []byte(lf(to)))), "\uFFFD")
	if len(text) <= maxText {
		return text, nil
	}
	shown := text[:strings.LastIndexByte(text[:maxText], '\n')+1]
	return fmt.Sprintf("%s(the first %d of %d lines of the difference; read_file reads the rest)", shown,
		strings.Count(shown, "\n"), strings.Count(text, "\n")), nil
}
