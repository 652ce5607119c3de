package builtin

import (
	"fmt"
	"strings"
)

type writeInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// writeFile writes a text file of the workspace, replacing what was there.
//
//etui:tool risk=write
//etui:zh 写入（覆盖）工作区中的文本文件。
//etui:alias create file, save, put this into a file, 新建文件, 保存文件, 写文件
//etui:alias new file, export to a file, store in a file, generate file, fill in, 存成文件, 导出到文件, 生成文件, 记到文件
func (f *Files) writeFile(in writeInput) (string, error) {
	raw, note := []byte(in.Content), ""
	if have, err := f.text(in.Path); err == nil {
		text := withEnds(in.Content, have.text)
		if raw, err = have.code.Encode(text); err == nil {
			note = codeNote(have.code)
		} else {
			raw = []byte(text)
		}
	}
	if err := f.Write(in.Path, raw); err != nil {
		return "", err
	}
	return fmt.Sprintf("Wrote %d bytes to %s.", len(raw), in.Path) + note, nil
}

// text reads a whole text file.
func (f *Files) text(given string) (content, error) {
	s, err := f.find(given)
	if err != nil {
		return content{}, err
	}
	defer s.close()
	return s.read()
}

// isCRLF reports whether all lines of a text end in \r\n.
func isCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && strings.Count(text, "\r\n") == n
}

// withEnds gives a text the line endings of another one if those are all \r\n: models
// write \n regardless of the file.
func withEnds(text, have string) string {
	if isCRLF(have) {
		return crlf(text)
	}
	return text
}

func crlf(text string) string { return strings.ReplaceAll(lf(text), "\n", "\r\n") }

func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
