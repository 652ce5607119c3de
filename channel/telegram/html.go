package telegram

import (
	"bufio"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	write "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/etui-run/etui/chat"
)

func newParser() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.Table, extension.TaskList)).Parser()
}

// html turns Markdown into the HTML that Telegram reads,
// https://core.telegram.org/bots/api#html-style: bold, italic, struck out, links, code and
// quotations. Headings become bold, tables text of fixed width; HTML stays text.
func (c *Channel) html(markdown string) string {
	source := []byte(strings.ToValidUTF8(markdown, "\uFFFD"))
	w := &writer{source: source}
	w.blocks(c.parser.Parse(text.NewReader(source)), "\n\n")
	if out := strings.TrimSpace(w.String()); strings.TrimSpace(visible(out)) != "" {
		return out
	}
	return html.EscapeString(string(source)) // such as a definition of a link, of which nothing is shown
}

// visible returns what readers see of HTML that a writer has made.
func visible(markup string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(markup, "<")
		if b.WriteString(before); !ok {
			return html.UnescapeString(b.String())
		}
		_, markup, _ = strings.Cut(rest, ">")
	}
}

// length is how Telegram counts a text: UTF-16 units without the markup.
func (c *Channel) length(markdown string) (n int) {
	for _, r := range visible(c.html(markdown)) {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// writer writes the nodes of Markdown.
type writer struct {
	strings.Builder
	source []byte
	indent string // of lines in lists and inner quotations
	quote  bool   // within a quotation, which has no inner ones
	bold   bool   // within a heading
}

// line begins a line.
func (w *writer) line() { w.WriteString("\n" + w.indent) }

// blocks writes the blocks in a node with one or two line breaks between them.
func (w *writer) blocks(parent ast.Node, between string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil {
			w.WriteString(between[1:])
			w.line()
		}
		w.block(n)
	}
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.WriteString("<b>")
		w.bold = true
		w.inlines(n)
		w.bold = false
		w.WriteString("</b>")
	case *ast.ThematicBreak:
		w.WriteString("———")
	case *ast.FencedCodeBlock:
		w.code(n, string(n.Language(w.source)))
	case *ast.CodeBlock:
		w.code(n, "")
	case *ast.HTMLBlock:
		raw := lines(n, w.source)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(w.source))
		}
		w.plain(strings.TrimRight(raw, "\n"))
	case *ast.Blockquote:
		if w.quote {
			w.inner("&gt; ", "&gt; ", func() { w.blocks(n, "\n\n") })
			return
		}
		w.quote = true
		w.WriteString("<blockquote>")
		w.blocks(n, "\n\n")
		w.WriteString("</blockquote>")
		w.quote = false
	case *ast.List:
		w.list(n)
	case *table.Table:
		w.table(n)
	default:
		w.inlines(n)
	}
}

// inner writes what f writes, with a mark before it and further lines indented.
func (w *writer) inner(mark, indent string, f func()) {
	before := w.indent
	w.WriteString(mark)
	w.indent += indent
	f()
	w.indent = before
}

func (w *writer) list(n *ast.List) {
	between, number := "\n", n.Start
	if !n.IsTight {
		between = "\n\n"
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil {
			w.line()
		}
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		w.inner(mark, strings.Repeat(" ", utf8.RuneCountInString(mark)), func() { w.blocks(item, between) })
	}
}

func lines(n ast.Node, source []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(source))
	}
	return b.String()
}

func (w *writer) code(n ast.Node, language string) {
	body := html.EscapeString(strings.TrimRight(lines(n, w.source), "\n"))
	if language != "" {
		fmt.Fprintf(w, `<pre><code class="language-%s">%s</code></pre>`, html.EscapeString(language), body)
	} else {
		fmt.Fprintf(w, "<pre>%s</pre>", body)
	}
}

// plain writes text that is no Markdown.
func (w *writer) plain(text string) {
	w.WriteString(html.EscapeString(strings.ReplaceAll(text, "\n", "\n"+w.indent)))
}

func (w *writer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.inline(n)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n.Value(w.source), n.IsRaw())
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.line()
		}
	case *ast.String:
		w.text(n.Value, n.IsRaw())
	case *ast.CodeSpan:
		w.tag("code", n)
	case *ast.Emphasis:
		switch {
		case n.Level < 2:
			w.tag("i", n)
		case w.bold:
			w.inlines(n)
		default:
			w.tag("b", n)
		}
	case *table.Strikethrough:
		w.tag("s", n)
	case *ast.Link:
		w.link(n, n.Destination)
	case *ast.Image:
		w.link(n, n.Destination)
	case *ast.AutoLink:
		w.plain(string(n.Label(w.source)))
	case *ast.RawHTML:
		w.raw(n)
	case *table.TaskCheckBox:
		if n.IsChecked {
			w.WriteString("☑ ")
		} else {
			w.WriteString("☐ ")
		}
	default:
		w.inlines(n)
	}
}

// text writes text with its escapes and entities resolved, unless it is raw.
func (w *writer) text(value []byte, raw bool) {
	if raw {
		w.WriteString(html.EscapeString(string(value)))
		return
	}
	out := bufio.NewWriterSize(w, 256)
	write.DefaultWriter.Write(out, value)
	_ = out.Flush() // into memory
}

func (w *writer) tag(name string, n ast.Node) {
	w.WriteString("<" + name + ">")
	w.inlines(n)
	w.WriteString("</" + name + ">")
}

// raw writes HTML in a line as the text that it is, but for a line break.
func (w *writer) raw(n *ast.RawHTML) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		b.Write(s.Value(w.source))
	}
	if t := strings.ToLower(strings.ReplaceAll(b.String(), " ", "")); t == "<br>" || t == "<br/>" {
		w.line()
	} else {
		w.plain(b.String())
	}
}

// link writes a link or picture; Telegram makes links of web and mail addresses only.
func (w *writer) link(n ast.Node, to []byte) {
	target := string(util.URLEscape(to, true))
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		if w.inlines(n); len(to) > 0 {
			w.WriteString(" (" + html.EscapeString(string(to)) + ")")
		}
		return
	}
	w.WriteString(`<a href="` + html.EscapeString(target) + `">`)
	begin := w.Len()
	if w.inlines(n); w.Len() == begin {
		w.WriteString(html.EscapeString(string(to)))
	}
	w.WriteString("</a>")
}

// table writes a table as text of fixed width.
func (w *writer) table(n *table.Table) {
	var rows [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			inner := &writer{source: w.source}
			inner.inlines(cell)
			text := strings.Join(strings.Fields(visible(inner.String())), " ")
			if len(cells) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = max(widths[len(cells)], columns(text))
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for i, cells := range rows {
		var line strings.Builder
		for j, cell := range cells {
			if j > 0 {
				line.WriteString(" | ")
			}
			line.WriteString(cell + strings.Repeat(" ", widths[j]-columns(cell)))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if i == 0 {
			for j, width := range widths {
				if j > 0 {
					b.WriteString("-+-")
				}
				b.WriteString(strings.Repeat("-", width))
			}
			b.WriteString("\n")
		}
	}
	w.WriteString("<pre>" + html.EscapeString(strings.TrimRight(b.String(), "\n")) + "</pre>")
}

// columns is how wide a text is in a font of fixed width.
func columns(text string) (n int) {
	for _, r := range text {
		if n++; chat.Wide(r) {
			n++
		}
	}
	return n
}
