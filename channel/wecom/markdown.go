package wecom

import (
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/etui-run/etui/internal/printable"
)

// render turns Markdown into what the platform shows. Its own Markdown knows headings, bold,
// links, code in a line, quotes and colors (支持的markdown语法, document/path/90236), and no way to
// write their signs as such. So a text becomes Markdown if it has something to show in it
// and nothing that could be taken for what it is not; marked is true then. Any other text is
// plain, which the platform also shows in WeChat.
func render(source string) (out string, marked bool) {
	source = printable.Text(source)
	root := goldmark.DefaultParser().Parse(text.NewReader([]byte(source)))
	w := writer{source: []byte(source), markup: true}
	if out = w.blocks(root); w.marked && !w.unsafe {
		return out, true
	}
	w = writer{source: []byte(source)}
	return w.blocks(root), false
}

// writer writes a document as Markdown of the platform, or as plain text.
type writer struct {
	source []byte
	markup bool
	marked bool // there is markup
	unsafe bool // there is text that would be taken for markup, or markup that the platform lacks
}

// blocks writes the blocks below a node.
func (w *writer) blocks(parent ast.Node) string {
	between := "\n\n"
	if list, ok := parent.(*ast.List); ok && list.IsTight {
		between = "\n"
	}
	if list, ok := parent.Parent().(*ast.List); ok && list.IsTight {
		between = "\n"
	}
	var all []string
	number := 0
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		number++
		if block := w.block(n, number); block != "" {
			all = append(all, block)
		}
	}
	return strings.Join(all, between)
}

func (w *writer) block(n ast.Node, number int) string {
	switch n := n.(type) {
	case *ast.Heading:
		if !w.markup {
			return w.inline(n)
		}
		w.marked = true
		return strings.Repeat("#", n.Level) + " " + strings.ReplaceAll(w.inline(n), "\n", " ")
	case *ast.Blockquote:
		w.marked = true
		return indent(w.blocks(n), "> ", "> ")
	case *ast.List:
		return w.blocks(n)
	case *ast.ListItem:
		sign := "- "
		if list := n.Parent().(*ast.List); list.IsOrdered() {
			sign = fmt.Sprintf("%d. ", list.Start+number-1)
		}
		return indent(w.blocks(n), sign, strings.Repeat(" ", len(sign)))
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.unsafe = true
		return w.lines(n)
	case *ast.HTMLBlock:
		raw := w.lines(n)
		if n.HasClosure() {
			raw += "\n" + strings.TrimRight(string(n.ClosureLine.Value(w.source)), "\n")
		}
		return w.literal(raw)
	case *ast.ThematicBreak:
		return "———"
	}
	return w.inline(n)
}

// lines returns the lines of a block as they are.
func (w *writer) lines(n ast.Node) string {
	return strings.TrimRight(string(n.Lines().Value(w.source)), "\n")
}

func indent(block, first, rest string) string {
	return first + strings.ReplaceAll(block, "\n", "\n"+rest)
}

// inline writes what is below a paragraph or a part of it.
func (w *writer) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(w.span(n))
	}
	return b.String()
}

func (w *writer) span(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		s := w.literal(unescape(string(n.Segment.Value(w.source))))
		if n.SoftLineBreak() || n.HardLineBreak() {
			s += "\n"
		}
		return s
	case *ast.String:
		return w.literal(string(n.Value))
	case *ast.CodeSpan:
		return w.code(n)
	case *ast.Emphasis:
		inner := w.inline(n)
		if n.Level < 2 || !w.markup {
			return inner
		}
		w.marked = true
		w.unsafe = w.unsafe || strings.Contains(inner, "**") || strings.Contains(inner, "\n")
		return "**" + inner + "**"
	case *ast.Link:
		return w.link(w.inline(n), unescape(string(n.Destination)))
	case *ast.Image:
		return w.link(w.inline(n), unescape(string(n.Destination)))
	case *ast.AutoLink:
		return string(n.Label(w.source))
	case *ast.RawHTML:
		return w.literal(string(n.Segments.Value(w.source)))
	}
	return w.inline(n)
}

func (w *writer) code(n ast.Node) string {
	var b strings.Builder
	for t := n.FirstChild(); t != nil; t = t.NextSibling() {
		if t, ok := t.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	s := strings.ReplaceAll(b.String(), "\n", " ")
	if !w.markup {
		return s
	}
	w.marked = true
	w.unsafe = w.unsafe || strings.Contains(s, "`") || tag(s)
	return "`" + s + "`"
}

func (w *writer) link(label, target string) string {
	switch {
	case label == target || label == "":
		return target
	case !w.markup:
		return label + " (" + target + ")"
	}
	w.marked = true
	w.unsafe = w.unsafe || strings.ContainsAny(target, "() \n") || strings.ContainsAny(label, "[]\n")
	return "[" + label + "](" + target + ")"
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

// unescape resolves the backslashes and entities of a text.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && s[i+1] < 0x80 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
				i++
			}
		case '&':
			if end := strings.IndexByte(s[i:], ';'); end > 0 && end < 40 {
				if r := html.UnescapeString(s[i : i+end+1]); r != s[i:i+end+1] {
					b.WriteString(printable.Text(r))
					i += end
					continue
				}
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
