package terminal

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/internal/printable"
)

// Columns writes rows with as much space as their cells need. Chinese characters take
// two columns, as in terminals.
func Columns(rows [][]string) string {
	widths := columns(rows, math.MaxInt)
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, text := range row {
			line += text + strings.Repeat(" ", widths[i]-ansi.StringWidth(text)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Table writes rows in lines of a width. The last column gets the rest of the width, a quarter at least if it
// needs that, and is cut there. Chinese characters take two columns, as in terminals.
func Table(rows [][]string, width int) string {
	widths := columns(rows, width/2)
	if len(widths) > 1 {
		before, over := widths[:len(widths)-1], min(widths[len(widths)-1], width/4)-width
		for _, w := range before {
			over += w + 1
		}
		for ; over > 0 && slices.Max(before) > 1; over-- { // the widest gives way
			before[slices.Index(before, slices.Max(before))]--
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line, last := "", len(row)-1
		for i, w := range widths[:last] {
			cell := ansi.Truncate(row[i], w, "…")
			space := strings.Repeat(" ", w-ansi.StringWidth(cell))
			if _, err := strconv.ParseFloat(cell, 64); err == nil {
				line += space + cell + " " // numbers stand to the right
			} else {
				line += cell + space + " "
			}
		}
		line += row[last]
		b.WriteString(strings.TrimRight(ansi.Truncate(line, width, "…"), " ") + "\n")
	}
	return b.String()
}

// columns makes the texts of rows cells, and returns how wide each column is, at most so much.
func columns(rows [][]string, most int) (widths []int) {
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = min(max(widths[i], ansi.StringWidth(row[i])), most)
		}
	}
	return widths
}

// cell is a text for a table: on one line, and without what would move the cursor.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(printable.Text(text))
}

// Hang writes a text in lines of a width, with a hanging indent behind a first word. A
// word is never split, but for one in Chinese.
func Hang(first, text string, width int) string {
	indent := ansi.StringWidth(first)
	var b strings.Builder
	line, space := first, ""
	for word := range strings.FieldsSeq(text) {
		for _, part := range parts(word) {
			full := ansi.StringWidth(line+space+part) > width
			if full && strings.TrimSpace(line) != strings.TrimSpace(first) && strings.TrimSpace(line) != "" {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line, space = strings.Repeat(" ", indent), ""
			}
			line += space + part
			space = ""
		}
		space = " "
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// parts splits a word where a line may end: before and behind a Chinese character, but not before a
// sign that ends something, nor behind one that opens it.
func parts(word string) (list []string) {
	begin, before := 0, rune(0)
	for i, r := range word {
		apart := unicode.Is(unicode.Han, r) || unicode.Is(unicode.Han, before) ||
			strings.ContainsRune("，。；：、）”》？！", before)
		if i > 0 && apart && !strings.ContainsRune("，。；：、）”》？！…,.;:)%", r) &&
			!strings.ContainsRune("（“《(", before) {
			list, begin = append(list, word[begin:i]), i
		}
		before = r
	}
	return append(list, word[begin:])
}

// Pad fills a text with blanks up to a width. Chinese characters take two columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// Indent wraps a text after a mark.
func Indent(mark, text string, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(ansi.Wrap(printable.Text(text), width-2-ansi.StringWidth(mark), ""), "\n") {
		b.WriteString(strings.TrimRight("  "+mark+line, " ") + "\n")
		mark = strings.Repeat(" ", ansi.StringWidth(mark))
	}
	return b.String()
}
