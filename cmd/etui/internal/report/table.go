package report

import (
	"strings"

	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
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

// Head returns the head of a table in a language.
func Head(lang string, english ...string) []string {
	head := make([]string, len(english))
	for i, text := range english {
		head[i] = phrase.Word(lang, text)
	}
	return head
}

// Text returns the table of a list in a language.
func (t Table[T]) Text(lang string, list []T) string {
	if len(list) == 0 && t.None != "" {
		return phrase.Word(lang, t.None)
	}
	rows := [][]string{Head(lang, t.Head...)}
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
