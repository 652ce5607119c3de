package report

import (
	"strings"

	"github.com/etui-run/etui/internal/terminal"
)

// Table shows things of one kind to people, a row each.
type Table[T any] struct {
	None string // in place of an empty table
	Head []string
	Row  func(T) []string
	// Wide gives each column the space that it needs. Otherwise the rows fit the width, and
	// Below may have lines for below a row.
	Wide  bool
	Below func(T) string
}

// Text returns the table of a list.
func (t Table[T]) Text(list []T) string {
	if len(list) == 0 && t.None != "" {
		return t.None
	}
	rows := [][]string{t.Head}
	for _, x := range list {
		rows = append(rows, t.Row(x))
	}
	if t.Wide {
		return terminal.Columns(rows)
	}
	text := terminal.Table(rows, terminal.Width())
	if t.Below == nil {
		return text
	}
	var b strings.Builder
	lines := strings.SplitAfter(text, "\n")
	b.WriteString(lines[0])
	for i, x := range list {
		b.WriteString(lines[i+1] + t.Below(x))
	}
	return b.String()
}
