package markup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	source "github.com/yuin/goldmark/text"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		max        int
		want       []string
	}{
		{"empty", " \n ", 10, nil},
		{"short", "hello", 10, []string{"hello"}},
		{"paragraphs stay whole", "one two\n\nthree four\n\nfive", 20, []string{"one two\n\nthree four", "five"}},
		{"sentences", "One two three. Four five six.", 20, []string{"One two three.", "Four five six."}},
		{"Chinese sentences", "一二三四五六。七八九十", 8, []string{"一二三四五六。", "七八九十"}},
		{"no space", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"a link stays whole", "see [the long page](https://x.y/z) now", 34, []string{"see [the long page](https://x.y/z)", "now"}},
		{"a link moves on", "please see [the long page](https://x.y/z)", 33, []string{"please see", "[the long page](https://x.y/z)"}},
		{"code is closed and opened", "```go\naaaa\nbbbb\ncccc\n```", 19, []string{"```go\naaaa\nbbbb\n```", "```go\ncccc\n```"}},
		{"a table repeats its head", "|a|b|\n|-|-|\n|1|2|\n|3|4|\n|5|6|", 24, []string{"|a|b|\n|-|-|\n|1|2|\n|3|4|", "|a|b|\n|-|-|\n|5|6|"}},
		{"bold across a cut", "see **one two three. Four five six seven eight nine ten. Eleven twelve** end of it all, and more words", 77, []string{"see **one two three.**", "**Four five six seven eight nine ten.**", "**Eleven twelve** end of it all, and more", "words"}},
		{"bold ends at a cut", "**" + strings.Repeat("很长", 15) + "。**" + strings.Repeat("后", 50), 73, []string{"**" + strings.Repeat("很长", 15) + "。**", strings.Repeat("后", 35), strings.Repeat("后", 15)}},
		{"empty lines in code", "x\n\n```\na\n\nb\n```\n\ny", 14, []string{"x", "```\na\n\nb\n```", "y"}},
	} {
		got := Split(c.text, Room{Max: c.max})
		if strings.Join(got, "\x00") != strings.Join(c.want, "\x00") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Every part fits, nothing but white space and repeated heads is added or lost, and no part
// leaves a code block open.
func TestSplitLosesNothing(t *testing.T) {
	words := []string{"word", " ", "\n", "\n\n", "```\n", "```go\n", "~~~\n", "`", "[a](b)", "[", "(", "|a|b|\n", "|-|-|\n", "你好。", "é", "🙂", ". ", "a_very_long_word_without_any_space"}
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := ""
		for range r.IntN(40) {
			text += words[r.IntN(len(words))]
		}
		limit := Room{Max: 24 + r.IntN(52)}
		if r.IntN(2) == 0 {
			limit.Length = func(s string) int { return len(s) }
		}
		parts := Split(text, limit)
		for _, part := range parts {
			if limit.Measure(part) > limit.Max {
				t.Fatalf("%q: %q is %d long, the limit is %d", text, part, limit.Measure(part), limit.Max)
			}
			if strings.TrimSpace(part) == "" || !utf8.ValidString(part) {
				t.Fatalf("%q: part %q", text, part)
			}
		}
		if strings.ContainsAny(text, "`~|") {
			continue
		}
		if got, want := strings.Map(notSpace, strings.Join(parts, "")), strings.Map(notSpace, text); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	}
}

func TestSplitShortensCode(t *testing.T) {
	code := "before\n\n```sh\n" + strings.Repeat("ls\n", 150) + "```\n\n- item\n  ```\n  a\n  b\n  c\n  ```\nafter"
	got := strings.Join(Split(code, Room{Code: 2}), "\n\n")
	if want := "before\n\n```sh\nls\nls\n[… 148 more lines]\n```\n\n- item\n  ```\n  a\n  b\n  c\n  ```\nafter"; got != want {
		t.Errorf("got %q", got)
	}
	said := func(n int) string { return fmt.Sprintf("[还有 %d 行]", n) }
	if got := Split(code, Room{Code: 2, More: said})[0]; !strings.Contains(got, "[还有 148 行]") {
		t.Errorf("in Chinese: %q", got)
	}
	if open := "```\n" + strings.Repeat("ls\n", 9); strings.Count(Split(open, Room{Code: 2})[0], "ls") != 2 {
		t.Error("a block that does not end is shown whole")
	}
}

// No part shows a mark whose other half is in another part.
func TestSplitKeepsMarks(t *testing.T) {
	text := strings.Repeat("Some **bold words that go on. And on** and `code with spaces` and ***both of them*** 很长**重点。**后面 ~~gone away~~ ", 12)
	for limit := 73; limit < 400; limit++ {
		for _, part := range Split(text, Room{Max: limit}) {
			if n := utf8.RuneCountInString(part); n > limit {
				t.Fatalf("%d: %q has %d", limit, part, n)
			}
			for _, mark := range []string{"*", "`", "~~"} {
				if strings.Count(part, mark)%2 != 0 {
					t.Fatalf("%d: %q", limit, part)
				}
			}
			if shown := plainText(part); strings.ContainsAny(shown, "*`~") {
				t.Fatalf("%d: %q shows %q", limit, part, shown)
			}
		}
	}
}

// plainText is a text without its marks.
func plainText(markdown string) string {
	bare := func(s string) string { return s }
	return Dialect{
		Parser: GFM(false), Text: func(s string, _ bool) string { return s }, Code: bare, Link: Link.Plain,
		Heading: func(_ int, s string) string { return s }, Fence: func(_, s string) string { return s },
		Table: func(t Table) string { return Aligned(t.Words, 10, false) },
	}.Render(markdown)
}

// A long head, which a person can talk a model into, does not multiply what is sent.
func TestSplitDoesNotMultiply(t *testing.T) {
	body := strings.Repeat("x\n", 2000)
	for _, text := range []string{
		"```" + strings.Repeat("h", 1980) + "\n" + body + "```",
		"|" + strings.Repeat("h", 1900) + "|\n|-|\n" + strings.Repeat("|x|\n", 2000),
	} {
		if parts := Split(text, Room{Max: 2000}); len(parts) > 10 {
			t.Errorf("%d bytes became %d messages", len(text), len(parts))
		}
	}
}

// cells is how many cells the tables of a text have.
func cells(text string) (n int) {
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(source.NewReader([]byte(text)))
	_ = ast.Walk(root, func(node ast.Node, in bool) (ast.WalkStatus, error) {
		if in && node.Kind() == extast.KindTableCell {
			n++
		}
		return ast.WalkContinue, nil
	})
	return n
}

// A small reply does not become a table of many more cells.
func TestBoundTables(t *testing.T) {
	times := strings.Repeat
	for _, mark := range []string{"", "> ", "> > ", "  ", "1. "} {
		next := mark
		if mark == "1. " {
			next = "   "
		}
		text := mark + times("|a", 400) + "|\n" + next + times("|-", 400) + "|\n" + times(next+"|x|\n", 400)
		if n := cells(text); n < maxCells {
			t.Errorf("%q: %d cells without a bound", mark, n)
		}
		if n := cells(boundTables(text)); n > maxCells {
			t.Errorf("%q: %d cells", mark, n)
		}
		text = strings.ReplaceAll(text, "|-", "-|")
		if n := cells(boundTables(text)); n > maxCells {
			t.Errorf("%q: %d cells", mark, n)
		}
		if parts := Split(text, Room{Length: cells, Max: maxCells}); len(parts) != 1 {
			t.Errorf("%q became %d messages", mark, len(parts))
		}
	}
	text := "|a|b|\n|-|-|\n" + times("|x|y|\n", 1000) + "\n---\n"
	if boundTables(text) != text {
		t.Error("an ordinary table was changed")
	}
}

// FuzzSplit: whatever a model writes, each message fits, and all of them are not much longer.
func FuzzSplit(f *testing.F) {
	f.Add("One two. [a](b)\n\n```go\nx\n\ny\n```\n|a|b|\n|-|-|\n|1|2|\n", uint16(40))
	f.Add("~~~\n````\n"+strings.Repeat("🙂", 60)+"\xff\n\n|\n|-\n[[[[", uint16(24))
	f.Fuzz(func(t *testing.T, text string, most uint16) {
		limit := Room{Max: max(20, int(most)%4096)}
		total := 0
		for _, part := range Split(text, limit) {
			total += len(part)
			if limit.Measure(part) > limit.Max || strings.TrimSpace(part) == "" || utf8.ValidString(text) && !utf8.ValidString(part) {
				t.Fatalf("a part of %q with %d: %q", text, limit.Max, part)
			}
		}
		if total > 8*len(text)+limit.Max {
			t.Errorf("%q became %d bytes", text, total)
		}
	})
}

func notSpace(r rune) rune {
	if r == ' ' || r == '\n' {
		return -1
	}
	return r
}

// TestSplitKeepsCells: no cell of a table is lost because a row has more than the table has columns.
func TestSplitKeepsCells(t *testing.T) {
	const head = "| a | b |\n|---|---|\n"
	for row, want := range map[string]string{
		"| `x|y` | **z** |":       "| `x\\|y` | **z** |",
		"| `` a|`|b `` | `c|d` |": "| `` a\\|`\\|b `` | `c\\|d` |",
		"| 1 | 2 | 3 |":           "| 1 | 2 \\| 3 |",
		"1 | 2 | 3 | 4":           "1 | 2 \\| 3 \\| 4",
		"| a` | b` |":             "| a` | b` |",
		"| `x\\|y` | z |":         "| `x\\|y` | z |",
		"| 1 |":                   "| 1 |",
		"||2|":                    "||2|",
	} {
		if got := Split(head+row, Room{})[0]; got != head+want {
			t.Errorf("%q: %q", row, strings.TrimPrefix(got, head))
		}
	}
	if got := Split("a\u202eb", Room{})[0]; got != "ab" {
		t.Errorf("turned around: %q", got)
	}
}
