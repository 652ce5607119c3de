package wecom

import (
	"strings"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/internal/printable"
)

// render turns Markdown into what the platform shows. Its own Markdown knows headings, bold,
// links, code in a line, quotes and colors (支持的markdown语法, document/path/90236), and no way to
// write their signs as such. So a text becomes Markdown if it has something to show in it
// and nothing that could be taken for what it is not; marked is true then. Any other text is
// plain, which the platform also shows in WeChat.
func render(source string) (out string, marked bool) {
	source = printable.Text(source)
	w := &writer{}
	if out = w.dialect().Render(source); w.marked && !w.unsafe {
		return out, true
	}
	w = &writer{plain: true}
	return w.dialect().Render(source), false
}

// writer writes a text as Markdown of the platform, or as plain text.
type writer struct {
	plain  bool
	marked bool // there is markup
	unsafe bool // there is text that would be taken for markup, or markup that the platform lacks
}

func (w *writer) dialect() markup.Dialect {
	joint := "\u200a" // a space that nobody sees
	if w.plain {
		joint = ""
	}
	return markup.Dialect{
		Joint: joint, Flanks: true,
		Parser:  markup.CommonMark(),
		Text:    func(s string, _ bool) string { return w.literal(printable.Text(s)) },
		Strong:  func(s string) string { return w.mark("**"+s+"**", s, strings.Contains(s, "\n")) },
		Code:    func(s string) string { return w.mark("`"+s+"`", s, strings.Contains(s, "`") || tag(s)) },
		Link:    w.link,
		Heading: w.heading,
		Fence: func(_, code string) string {
			w.unsafe = true
			return code
		},
		Quote: func(body string, _ bool) string {
			return w.mark(markup.Indent(body, "> ", "> "), markup.Indent(body, "> ", "> "), false)
		},
		Gap: func(b markup.Block) bool { return !b.Tight },
	}
}

// mark writes text with marks around it, or plain.
func (w *writer) mark(marked, plain string, unsafe bool) string {
	if w.plain {
		return plain
	}
	w.marked = true
	w.unsafe = w.unsafe || unsafe
	return marked
}

func (w *writer) heading(level int, s string) string {
	return w.mark(strings.Repeat("#", level)+" "+strings.ReplaceAll(s, "\n", " "), s, false)
}

func (w *writer) link(l markup.Link) string {
	label, target := l.Inner, printable.Text(l.Target)
	switch {
	case l.Bare, !l.Web() && target != "":
		return w.literal(l.Plain())
	case label == target || label == "":
		return target
	}
	return w.mark("["+label+"]("+target+")", label+" ("+target+")", strings.ContainsAny(target, "() \n") ||
		strings.ContainsAny(label, "[]\n"))
}

// literal writes a text that is no markup.
func (w *writer) literal(s string) string {
	if strings.ContainsAny(s, "*`") || strings.Contains(s, "](") || tag(s) {
		w.unsafe = true
	}
	if start := strings.TrimLeft(s, " "); start != "" && (start[0] == '#' || start[0] == '>') {
		w.unsafe = true
	}
	return s
}

// tag reports whether a text has something that looks like HTML: the platform reads <font>
// and <@member>, and what it does with others is not known.
func tag(s string) bool {
	for {
		_, after, ok := strings.Cut(s, "<")
		if !ok || after == "" {
			return false
		}
		if c := after[0] | 0x20; c >= 'a' && c <= 'z' || after[0] == '/' || after[0] == '@' || after[0] == '!' {
			return true
		}
		s = after
	}
}
