package markup

import (
	"strings"

	extensions "github.com/yuin/goldmark/extension/ast"

	"github.com/etui-run/etui/chat"
)

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
