package irc

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/etui-run/etui/internal/printable"
)

// render turns Markdown into lines with codes for bold, italic and struck text. Code
// keeps its backticks, a link shows its address, and empty lines are left out.
func render(markdown string) []string {
	r := renderer{source: []byte(printable.Text(markdown))}
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	r.blocks(parser.Parse(text.NewReader(r.source)))
	return r.lines
}

type renderer struct {
	source []byte
	lines  []string
	// first begins the next line, rest all lines after it: quotes and lists.
	first, rest string
}

func (r *renderer) line(text string) {
	if strings.Trim(text, bold+italic+struck+" \t") == "" {
		return
	}
	r.lines = append(r.lines, r.first+text)
	r.first = r.rest
}

// paragraph writes inline text, in which every break is the end of a line.
func (r *renderer) paragraph(text string) {
	on := ""
	for line := range strings.SplitSeq(text, "\n") {
		r.line(on + line)
		on = styled(on, line)
	}
}

// within writes the blocks of n after a mark; lines after the first one have rest.
func (r *renderer) within(n ast.Node, first, rest string) {
	before := r.rest
	r.first, r.rest = r.first+first, r.rest+rest
	r.blocks(n)
	r.first, r.rest = before, before
}

func (r *renderer) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			r.paragraph(bold + strings.ReplaceAll(r.inline(n), bold, "") + bold)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			r.raw(n, "  ")
		case *ast.HTMLBlock:
			r.raw(n, "")
			if n.HasClosure() {
				r.line(clean(n.ClosureLine.Value(r.source)))
			}
		case *ast.Blockquote:
			r.within(n, "> ", "> ")
		case *ast.List:
			number := n.Start
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				mark := "• "
				if n.IsOrdered() {
					mark = strconv.Itoa(number) + ". "
					number++
				}
				r.within(item, mark, "  ")
			}
		case *ast.ThematicBreak:
			r.line("———")
		case *extended.Table:
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				var cells []string
				for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
					cells = append(cells, strings.ReplaceAll(r.inline(cell), "\n", " "))
				}
				r.line(strings.Join(cells, " | "))
			}
		default:
			r.paragraph(r.inline(n))
		}
	}
}

// raw writes the lines of a block as they are.
func (r *renderer) raw(n ast.Node, indent string) {
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		r.line(indent + clean(at.Value(r.source)))
	}
}

func (r *renderer) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(clean(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(n.Segment.Value(r.source))))))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.WriteString(clean(n.Value))
		case *ast.CodeSpan:
			b.WriteByte('`')
			for part := n.FirstChild(); part != nil; part = part.NextSibling() {
				if t, ok := part.(*ast.Text); ok {
					b.WriteString(clean(t.Segment.Value(r.source)))
				}
			}
			b.WriteByte('`')
		case *ast.Emphasis:
			code := italic
			if n.Level == 2 {
				code = bold
			}
			b.WriteString(code + r.inline(n) + code)
		case *extended.Strikethrough:
			b.WriteString(struck + r.inline(n) + struck)
		case *extended.TaskCheckBox:
			b.WriteString(map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked])
		case *ast.Link:
			b.WriteString(link(r.inline(n), clean(n.Destination)))
		case *ast.Image:
			b.WriteString(link(r.inline(n), clean(n.Destination)))
		case *ast.AutoLink:
			b.WriteString(clean(n.Label(r.source)))
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				at := n.Segments.At(i)
				b.WriteString(clean(at.Value(r.source)))
			}
		default:
			b.WriteString(r.inline(n))
		}
	}
	return b.String()
}

func link(text, address string) string {
	if text == "" || text == address {
		return address
	}
	return text + " <" + address + ">"
}

// clean leaves nothing that ends a line or means something to a client of IRC.
func clean(text []byte) string {
	return strings.ReplaceAll(strings.TrimRight(printable.Text(string(text)), "\n"), "\n", " ")
}
