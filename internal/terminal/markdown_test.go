package terminal_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/terminal"
)

// TestMarkdown writes each text byte by byte, as a stream may bring it.
func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"heading", "## The *plan* ##\n", "The plan\n"},
		{"emphasis", "a **bold** and *soft* `code` word\n", "a bold and soft code word\n"},
		{"not emphasis", "2 * 3 * 4, *.go, __init__, snake_case\n", "2 * 3 * 4, *.go, __init__,\nsnake_case\n"},
		{"link", "see [the page](https://example.org/a) and [https://b.org](https://b.org)\n", "see the page\n(https://example.org/a) and\nhttps://b.org\n"},
		{"list", "- one\n  * two\n3. three\n- [x] done\n", "• one\n  • two\n3. three\n☑ done\n"},
		{"wrapped item", "- one two three four five six seven\n", "• one two three four five\n  six seven\n"},
		{"quote", "> said\n", "│ said\n"},
		{"code", "```go\n# no *heading*\n\tx\n```\nafter\n", "  # no *heading*\n  \tx\nafter\n"},
		{"table", "| a | b |\n|---|:-:|\n| 中文 | `x` |\n| 1 |\nend", "a     b\n中文  x\n1\nend\n"},
		{"no line end", "half", "half\n"},
		{"control characters", "a\x1b[2Jb\x07c\n", "abc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			m := terminal.NewMarkdown(&b, 27, true)
			for i := range len(c.text) {
				if _, err := m.Write([]byte(c.text[i : i+1])); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestMarkdownStyles(t *testing.T) {
	var b strings.Builder
	m := terminal.NewMarkdown(&b, 80, false)
	if _, err := m.Write([]byte("a **b** c\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "a \x1b[1mb\x1b[m c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
