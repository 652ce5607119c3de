package printable

import (
	"fmt"
	"slices"
	"strings"
)

// List joins names and shows ten of them at most: "a, b and 2 more".
func List(names []string) string { return First(names, 10) }

// First joins the first names and says how many more there are.
func First(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

const (
	excerptLines = 8
	excerptBytes = 2000
)

// Excerpt returns the output of a program in a form that a model can be shown: the
// first line and the last 7, 2,000 bytes at most, as [Text] leaves them, without
// what hide removes. A nil hide removes nothing.
func Excerpt(output []byte, hide func(string) string) string {
	text := strings.ToValidUTF8(string(output), "\uFFFD")
	if hide != nil {
		text = hide(text) // before a cut can leave half of a secret
	}
	lines := strings.Split(strings.TrimSpace(Text(text)), "\n")
	if len(lines) > excerptLines {
		lines = slices.Concat(lines[:1], []string{"..."}, lines[len(lines)-excerptLines+1:])
	}
	text = strings.Join(lines, "\n")
	if len(text) > excerptBytes {
		text = "..." + strings.ToValidUTF8(text[len(text)-excerptBytes:], "")
	}
	return text
}
