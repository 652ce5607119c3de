package builtin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

type readInput struct {
	Path string `json:"path"`
	// first line
	Start int `json:"start,omitempty" minimum:"1"`
	Lines int `json:"lines,omitempty" minimum:"1"`
}

// readFile reads a text file of the workspace.
//
//etui:tool risk=read
//etui:zh 读取工作区中的文本文件。
//etui:alias open file, cat, 打开文件, 查看文件, 看文件内容
func (f *Files) readFile(in readInput) (string, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	first, count := max(in.Start, 1), maxLines
	if in.Lines > 0 {
		count = min(in.Lines, maxLines)
	}
	p, err := s.part(first, count)
	switch {
	case err != nil:
		return "", err
	case p.total == 0:
		return s.shown + " is empty.", nil
	case first > p.total:
		return "", fmt.Errorf("%s has %d lines", s.shown, p.total)
	case first == 1 && p.last == p.total && !p.cut:
		return p.text, nil
	}
	more := ""
	if p.cut {
		more = "at least "
	}
	return fmt.Sprintf("%s\n(lines %d to %d of %s%d)", p.text, first, p.last, more, p.total), nil
}

// part is some lines of a file.
type part struct {
	text        string
	last, total int  // lines, from 1
	cut         bool // there are more lines, or more of the last one, than were looked at
}

// part reads lines of a text file: at most maxFile bytes of them, from its first
// maxScan bytes.
func (s spot) part(first, count int) (p part, err error) {
	file, info, err := s.open()
	if err != nil {
		return p, err
	}
	defer file.Close()
	p.cut = info.Size() > maxScan
	var text []byte
	lines := bufio.NewReaderSize(io.LimitReader(file, maxScan), 64<<10)
	for begins := true; ; {
		chunk, err := lines.ReadSlice('\n')
		if len(chunk) > 0 && begins {
			p.total++
		}
		if bytes.IndexByte(chunk, 0) >= 0 {
			return p, fmt.Errorf("%s is a binary file of %d bytes", s.shown, info.Size())
		}
		if wanted := p.total >= first && p.total < first+count; wanted && len(text) < maxFile {
			p.last = p.total
			text = append(text, chunk[:min(len(chunk), maxFile-len(text))]...)
			p.cut = p.cut || len(text) == maxFile
		}
		begins = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if !errors.Is(err, io.EOF) {
				return p, say(s.shown, err)
			}
			break
		}
	}
	if len(text) == maxFile {
		text = text[:len(strings.ToValidUTF8(string(text[maxFile-utf8.UTFMax:]), ""))+maxFile-utf8.UTFMax]
	}
	if !utf8.Valid(text) {
		return p, fmt.Errorf("%s is a binary file of %d bytes", s.shown, info.Size())
	}
	p.text = string(text)
	return p, nil
}
