package main

import (
	"strings"

	"github.com/etui-run/etui/internal/terminal"
)

// table shows things of one kind to people, a row each.
type table[T any] struct {
	none string // in place of an empty table
	head []string
	row  func(T) []string
	// wide gives each column the space that it needs. Otherwise the rows fit the width, and
	// below may have lines for below a row.
	wide  bool
	below func(T) string
}

// text returns the table of a list.
func (t table[T]) text(list []T) string {
	if len(list) == 0 && t.none != "" {
		return t.none
	}
	rows := [][]string{t.head}
	for _, x := range list {
		rows = append(rows, t.row(x))
	}
	if t.wide {
		return terminal.Columns(rows)
	}
	text := terminal.Table(rows, terminal.Width())
	if t.below == nil {
		return text
	}
	var b strings.Builder
	lines := strings.SplitAfter(text, "\n")
	b.WriteString(lines[0])
	for i, x := range list {
		b.WriteString(lines[i+1] + t.below(x))
	}
	return b.String()
}
