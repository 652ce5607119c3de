// Package markup turns the Markdown that a model writes into the markup of a platform. It
// parses the text, walks it once and asks a [Dialect] how the platform writes each part.
// Whatever the text contains, only the functions of the dialect write markup: they get text
// without any, with escapes and entities resolved.
package markup

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/etui-run/etui/chat"
)

// GFM returns a parser of GitHub's Markdown; bare addresses become links if links is true.
func GFM(links bool) parser.Parser {
	all := []goldmark.Extender{emphasis{struck: true}, extension.Strikethrough, extension.Table, extension.TaskList}
	if links {
		all = append(all, extension.Linkify)
	}
	return goldmark.New(goldmark.WithExtensions(all...)).Parser()
}

// CommonMark returns a parser that knows no more than CommonMark does.
func CommonMark() parser.Parser { return goldmark.New(goldmark.WithExtensions(emphasis{})).Parser() }

// Dialect says how a platform writes the parts of a Markdown text. Parser, Text, Code, Link,
// Heading and Fence are required, and Table if the parser knows tables. A dialect is safe
// for concurrent use if its functions are.
type Dialect struct {
	Parser parser.Parser

	// Text escapes plain text. Start is true where a line begins.
	Text func(s string, start bool) string
	// Strong, Italic and Struck put marks around text; nil writes the text alone. A mark
	// within the same mark is left out.
	Strong, Italic, Struck func(inner string) string
	// Code writes code in a line, and Link a link or a picture.
	Code func(code string) string
	Link func(l Link) string
	// Raw writes HTML as the text that it is. Nil is Text.
	Raw func(html string) string
	// Joint separates a mark from a letter that touches it from outside; if Flanks is true, only one
	// that has no letter or digit inside beside it, as CommonMark reads such a mark as text.
	Joint  string
	Flanks bool
	// MarkedBreak separates lines within a mark. Empty is the end of a line.
	MarkedBreak string
	// Checked and Unchecked are the boxes of a task list. Empty is "☑ " and "☐ ".
	Checked, Unchecked string

	// Heading writes a heading, which has at least one character. In a bold heading strong
	// text needs no mark.
	Heading     func(level int, s string) string
	BoldHeading bool
	// Paragraph changes the lines of a paragraph. Nil leaves them.
	Paragraph func(s string) string
	// Fence writes a block of code, which does not end with a line end.
	Fence func(language, code string) string
	// Quote writes a quotation; nested is true within another one. Nil puts "> " before
	// each line.
	Quote func(body string, nested bool) string
	// Item writes an item of a list behind its mark. Nil indents its lines by Indent, or by
	// the width of the mark. Bullet is the mark of lists without numbers; empty is "- ".
	Item   func(mark, body string) string
	Bullet string
	Indent string
	Table  func(t Table) string
	// Rule is a line across the text. Empty is "———".
	Rule string
	// Gap reports whether an empty line separates a block from the one before it. Nil keeps
	// the empty lines of the text.
	Gap func(b Block) bool
}

// Block describes a block to [Dialect.Gap].
type Block struct {
	Item  bool // an item of a list
	List  bool
	Text  bool // a text without empty lines around it, as in a tight list
	Tight bool // an item of a tight list, or a block in such an item
	Blank bool // the text has an empty line before it
}

// AsWritten is the usual [Dialect.Gap]: an empty line stays one.
func AsWritten(b Block) bool { return b.Blank && !b.Text && !b.Item }

// maxDepth is how deep quotations and lists are shown as such; deeper ones are shown as if
// they were there.
const maxDepth = 8

// Render writes a text. One of which nothing would be shown, such as the definition of a
// link, is written as it is.
func (d Dialect) Render(markdown string) string {
	markdown = strings.ReplaceAll(strings.ToValidUTF8(markdown, "\uFFFD"), "\x00", "\uFFFD")
	if d.Table != nil {
		markdown = cellCode(markdown)
	}
	w := &writer{Dialect: d, source: []byte(markdown)}
	if out := strings.Trim(w.blocks(d.Parser.Parse(text.NewReader(w.source)), 0), "\n"); strings.TrimSpace(out) != "" {
		return out
	}
	return d.Text(markdown, false)
}

var (
	// divider matches what stands below the head of a table, and codeSpan code within a line.
	divider  = regexp.MustCompile(`^\|?( *:?-+:? *\|)+( *:?-+:? *)?$`)
	codeSpan = regexp.MustCompile("`[^`]+`")
	cellEnd  = regexp.MustCompile(`(^|[^\\])\|`)
)

// cellCode escapes the signs between cells in the code of a table, where models mean `x|y` as one cell and
// GitHub's Markdown reads two: the last cell of the row would be lost.
func cellCode(markdown string) string {
	if !strings.Contains(markdown, "|") || !strings.Contains(markdown, "`") {
		return markdown
	}
	lines, fence, ends := strings.Split(markdown, "\n"), "", 0
	for i, line := range lines {
		bare := strings.Trim(line, "> \t\r")
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fence = bare[:3]
		case divider.MatchString(bare):
			ends = strings.Count(bare, "|")
		case !strings.Contains(bare, "|"):
			ends = 0
		case ends > 0 && len(cellEnd.FindAllString(bare, -1)) > ends:
			lines[i] = codeSpan.ReplaceAllStringFunc(line, func(code string) string {
				return cellEnd.ReplaceAllString(code, `$1\|`)
			})
		}
	}
	return strings.Join(lines, "\n")
}

// Sent returns what is sent of a text, to count it; much more than most is returned as it is.
func (d Dialect) Sent(markdown string, most int) string {
	if len(markdown) >= 4*most {
		return markdown
	}
	return d.Render(markdown)
}

// UTF16 counts a text as many platforms do: a character beyond Unicode's first 65,536 twice.
func UTF16(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// Around returns a function that puts marks around a text.
func Around(before, after string) func(string) string {
	return func(inner string) string { return before + inner + after }
}

// Indent puts first before the first line of a text and rest before the others.
func Indent(s, first, rest string) string { return first + strings.ReplaceAll(s, "\n", "\n"+rest) }

// writer writes one text.
type writer struct {
	Dialect
	source               []byte
	quotes, tables       int
	bold, italic, struck bool // within such a mark
}

// blocks writes the blocks in a node.
func (w *writer) blocks(parent ast.Node, depth int) string {
	gap := w.Gap
	if gap == nil {
		gap = AsWritten
	}
	var b strings.Builder
	number := 0
	list, _ := parent.(*ast.List)
	if list != nil {
		number = list.Start
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		var s string
		if list != nil {
			s = w.item(list, number, n, depth)
			number++
		} else {
			s = w.block(n, depth)
		}
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if gap(describe(n)) {
				b.WriteString("\n")
			}
		}
		b.WriteString(s)
	}
	return b.String()
}

func describe(n ast.Node) Block {
	b := Block{Blank: n.HasBlankPreviousLines()}
	_, b.Item = n.(*ast.ListItem)
	_, b.List = n.(*ast.List)
	_, b.Text = n.(*ast.TextBlock)
	above := n.Parent()
	if !b.Item && above != nil {
		above = above.Parent()
	}
	list, ok := above.(*ast.List)
	b.Tight = ok && list.IsTight
	return b
}

func (w *writer) item(l *ast.List, number int, n ast.Node, depth int) string {
	mark := cmp.Or(w.Bullet, "- ")
	if l.IsOrdered() {
		mark = strconv.Itoa(number) + ". "
	}
	body := w.blocks(n, depth+1)
	switch {
	case depth >= maxDepth:
		return mark + body
	case w.Item != nil:
		return w.Item(mark, body)
	}
	return Indent(body, mark, cmp.Or(w.Indent, strings.Repeat(" ", utf8.RuneCountInString(mark))))
}

func (w *writer) block(n ast.Node, depth int) string {
	switch n := n.(type) {
	case *ast.Heading:
		w.bold = w.BoldHeading
		s := w.inlines(n)
		w.bold = false
		if s == "" {
			return ""
		}
		return w.Heading(n.Level, s)
	case *ast.FencedCodeBlock:
		return w.Fence(string(n.Language(w.source)), w.lines(n))
	case *ast.CodeBlock:
		return w.Fence("", w.lines(n))
	case *ast.HTMLBlock:
		s := string(n.Lines().Value(w.source))
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(w.source))
		}
		lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
		for i := range lines {
			lines[i] = w.raw(lines[i])
		}
		return w.paragraph(strings.Join(lines, "\n"))
	case *ast.ThematicBreak:
		return cmp.Or(w.Rule, "———")
	case *ast.Blockquote:
		w.quotes++
		s := w.blocks(n, depth+1)
		w.quotes--
		switch {
		case depth >= maxDepth:
			return s
		case w.Quote != nil:
			return w.Quote(s, w.quotes > 0)
		}
		return Indent(s, "> ", "> ")
	case *ast.List:
		return w.blocks(n, depth)
	case *extensions.Table:
		return w.Table(w.table(n))
	}
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return w.blocks(n, depth+1)
	}
	return w.paragraph(strings.TrimRight(w.inlines(n), "\n"))
}

func (w *writer) paragraph(s string) string {
	if w.Paragraph == nil {
		return s
	}
	return w.Paragraph(s)
}

// lines returns the lines of a block as they are.
func (w *writer) lines(n ast.Node) string {
	return strings.TrimRight(string(n.Lines().Value(w.source)), "\n")
}

// Table is a table, its head first.
type Table struct {
	Cells  [][]string // as the dialect writes them, each in one line
	Words  [][]string // without markup
	Before int        // how many tables the text has before it
}

func (w *writer) table(t *extensions.Table) Table {
	out := Table{Before: w.tables}
	w.tables++
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells, words []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, strings.TrimSpace(strings.ReplaceAll(w.inlines(cell), "\n", " ")))
			words = append(words, strings.TrimSpace(w.words(cell)))
		}
		out.Cells, out.Words = append(out.Cells, cells), append(out.Words, words)
	}
	return out
}

// Aligned writes cells in columns of the same width, for a font of fixed width. A cell of
// more than widest columns does not widen the others. With a line below the head if ruled.
func Aligned(rows [][]string, widest int, ruled bool) string {
	var widths []int
	for _, cells := range rows {
		for i, s := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = min(widest, max(widths[i], columns(s)))
		}
	}
	var lines []string
	for i, cells := range rows {
		var line, rule strings.Builder
		for j, s := range cells {
			if j > 0 {
				line.WriteString(" | ")
				rule.WriteString("-+-")
			}
			line.WriteString(s + strings.Repeat(" ", max(0, widths[j]-columns(s))))
			rule.WriteString(strings.Repeat("-", widths[j]))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
		if i == 0 && ruled {
			lines = append(lines, rule.String())
		}
	}
	return strings.Join(lines, "\n")
}

// columns is how wide a text is in a font of fixed width.
func columns(s string) (n int) {
	for _, r := range s {
		if n++; chat.Wide(r) {
			n++
		}
	}
	return n
}
