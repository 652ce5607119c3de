package irc

import (
	"strings"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/internal/printable"
)

// render turns Markdown into lines with codes for bold, italic and struck text. Code
// keeps its backticks, a link shows its address, and empty lines are left out.
func render(markdown string) []string {
	out := dialect().Render(printable.Text(markdown))
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

func dialect() markup.Dialect {
	return markup.Dialect{
		Parser:      markup.GFM(false),
		Text:        func(s string, _ bool) string { return clean(s) },
		Strong:      markup.Around(bold, bold),
		Italic:      markup.Around(italic, italic),
		Struck:      markup.Around(struck, struck),
		Code:        func(code string) string { return "`" + clean(code) + "`" },
		Link:        link,
		Checked:     "[x] ",
		Unchecked:   "[ ] ",
		Heading:     func(_ int, s string) string { return lines(bold + s + bold) },
		BoldHeading: true,
		Paragraph:   lines,
		Fence:       func(_, code string) string { return lines(markup.Indent(printable.Text(code), "  ", "  ")) },
		Bullet:      "• ",
		Quote:       func(body string, _ bool) string { return within(body, "> ", "> ") },
		Item:        func(mark, body string) string { return within(body, mark, "  ") },
		Table:       table,
		Gap:         func(markup.Block) bool { return false },
	}
}

// lines leaves out empty lines; what is bold at the end of a line is bold on the next one.
func lines(s string) string {
	var kept []string
	on := ""
	for line := range strings.SplitSeq(s, "\n") {
		if strings.Trim(line, bold+italic+struck+" \t") != "" {
			kept = append(kept, on+line)
		}
		on = styled(on, line)
	}
	return strings.Join(kept, "\n")
}

// within puts first before the first line of a text and rest before the others.
func within(body, first, rest string) string {
	if body == "" {
		return ""
	}
	return markup.Indent(body, first, rest)
}

func table(t markup.Table) string {
	var rows []string
	for _, cells := range t.Cells {
		rows = append(rows, strings.Join(cells, " | "))
	}
	return lines(strings.Join(rows, "\n"))
}

func link(l markup.Link) string {
	target := clean(l.Target)
	switch {
	case l.Bare:
		return clean(l.Label)
	case l.Inner == "" || l.Inner == target:
		return target
	}
	return l.Inner + " <" + target + ">"
}

// clean leaves nothing that ends a line or means something to a client of IRC.
func clean(text string) string {
	return strings.ReplaceAll(strings.TrimRight(printable.Text(text), "\n"), "\n", " ")
}
