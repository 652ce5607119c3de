package builtin

import (
	"fmt"
	"strings"
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
//etui:alias open file, cat, what does the file say, 打开文件, 查看文件, 看文件内容
//etui:alias view file, show file, display file, print file, contents of a file, look at a file, load file, 读取, 显示文件, 文件内容, 念文件
func (f *Files) readFile(in readInput) (string, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	p := part{first: max(in.Start, 1), count: maxLines, redact: f.redact}
	if in.Lines > 0 {
		p.count = min(in.Lines, maxLines)
	}
	file, err := newScanner().lines(s, p.take)
	switch {
	case err != nil:
		return "", err
	case p.total == 0:
		return s.shown + " is empty.", nil
	case p.first > p.total:
		return "", fmt.Errorf("%s has %d lines", s.shown, p.total)
	}
	return strings.ToValidUTF8(string(p.text), "\uFFFD") + p.note(file.whole) + codeNote(file.code), nil
}

// part is some lines of a text.
type part struct {
	first, count int // the requested lines
	redact       func(string) string

	text        []byte // at most maxText
	last, total int    // lines
	long        int    // bytes of the last one, if cut
	full        bool
}

// take adds a requested line, or a piece of one, while there is room. A line that does
// not fit is left out, unless it is the first.
func (p *part) take(n int, piece []byte) (more bool) {
	again := n == p.total // a continued line
	p.total = n
	switch {
	case n < p.first || n >= p.first+p.count:
		return true
	case p.full:
		if again && p.long > 0 && n == p.last {
			p.long += len(piece)
		}
		return true
	case len(p.text)+len(piece) <= maxText:
		p.text, p.last = append(p.text, piece...), n
		return true
	}
	if p.full = true; n == p.first {
		p.long, p.last = len(p.text)+len(piece), n
		clean := p.redact(string(p.text) + string(piece))
		p.text = []byte(clean[:min(len(clean), maxText)])
	}
	return true
}

// note says which lines these are and where to continue; empty if they are all.
func (p *part) note(whole bool) string {
	more, atLeast := "", ""
	if !whole {
		atLeast = "at least "
	}
	switch {
	case p.long > 0:
		more = fmt.Sprintf("; line %d has %s%d bytes and is cut: search_text finds what is in it", p.last, atLeast,
			p.long)
	case p.first == 1 && p.last == p.total && whole:
		return ""
	case p.last < p.total:
		more = fmt.Sprintf("; read on with start %d", p.last+1)
	}
	return fmt.Sprintf("\n(lines %d to %d of %s%d%s)", p.first, p.last, atLeast, p.total, more)
}
