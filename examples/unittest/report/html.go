package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"example.com/unittest/lang"
)

//go:embed page.html
var pageText string

// row is a line of the source on the page.
type row struct {
	Number        int
	Text          string
	Before, After cell
}

// cell is the coverage of a line: its colour, the branches taken, and what is open.
type cell struct {
	Class    string // full, part, none, or empty for a line without code
	Branches string
	Open     string
}

func cellOf(l lang.Line, there bool) (c cell) {
	switch {
	case !there:
		return c
	case l.Hits == 0 && l.Taken == 0:
		c.Class = "none"
	case l.Taken < l.Branches:
		c.Class = "part"
	default:
		c.Class = "full"
	}
	if l.Branches > 0 {
		c.Branches = strings.Repeat("●", min(l.Taken, 12)) + strings.Repeat("○", min(l.Branches-l.Taken, 12))
	}
	c.Open = strings.Join(l.Open, "; ")
	return c
}

// html writes the page. The source and all texts are escaped by the template.
func (r *Report) html(out io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"next": func(n int) int { return n + 1 }}).Parse(pageText)
	if err != nil {
		return err
	}
	before, after := byLine(r.before), byLine(r.after)
	var rows []row
	for i, line := range strings.Split(strings.TrimRight(r.source, "\n"), "\n") {
		b, okb := before[i+1]
		a, oka := after[i+1]
		rows = append(rows, row{Number: i + 1, Text: strings.ReplaceAll(line, "\t", "    "), Before: cellOf(b, okb), After: cellOf(a, oka)})
	}
	return t.Execute(out, struct {
		*Report
		Rows []row
	}{r, rows})
}

func byLine(c *lang.Coverage) map[int]lang.Line {
	lines := map[int]lang.Line{}
	if c != nil {
		for _, l := range c.Lines {
			lines[l.Line] = l
		}
	}
	return lines
}
