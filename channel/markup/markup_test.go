package markup_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/markup/markuptest"
)

// plain writes each part between brackets.
var plain = markup.Dialect{
	Parser:  markup.GFM(true),
	Text:    func(s string, start bool) string { return map[bool]string{true: "^"}[start] + s },
	Strong:  markup.Around("{b ", "}"),
	Italic:  markup.Around("{i ", "}"),
	Struck:  markup.Around("{s ", "}"),
	Code:    func(code string) string { return "{c " + code + "}" },
	Link:    func(l markup.Link) string { return "{l " + l.Target + "|" + l.Label + "|" + l.Inner + "}" },
	Heading: func(_ int, s string) string { return "{h " + s + "}" },
	Fence:   func(language, code string) string { return "{" + language + "\n" + code + "\n}" },
	Table:   func(t markup.Table) string { return markup.Aligned(t.Words, 5, true) },
}

func TestGolden(t *testing.T) { markuptest.Golden(t, plain.Render) }

func TestRender(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"**a **b** c**", "{b ^a b c}"},
		{"a\x00b\xff", "^a\uFFFDb\uFFFD"},
		{strings.Repeat("> ", 20) + "deep", strings.Repeat("> ", 8) + "^deep"},
		{"a<br />b<BR>c", "^a\n^b\n^c"},
		{"<br><br>", "<br><br>"},
		{"[x]()", "{l |x|^x}"},
	} {
		if got := plain.Render(test.in); got != test.want {
			t.Errorf("%q:\n got %q\nwant %q", test.in, got, test.want)
		}
	}
	joint := plain
	joint.Joint, joint.MarkedBreak = "~", " "
	if got := joint.Render("a**b**c `d`e\n*f\ng*"); got != "^a~{b ^b}~c {c d}~e\n{i ^f g}" {
		t.Errorf("joints: %q", got)
	}
	if n := markup.UTF16("a😀"); n != 3 {
		t.Errorf("a and an emoji have %d units", n)
	}
	if long := strings.Repeat("*", 41); plain.Sent(long, 10) != long {
		t.Error("a text that is much too long was written")
	}
}

// FuzzRender: no text is written without its letters, or takes much more room than it has.
func FuzzRender(f *testing.F) {
	f.Add(strings.Repeat("> ", 500) + "deep")
	f.Add(strings.Repeat("![", 200) + strings.Repeat("](a)", 200))
	f.Add("| `|` |\n|-|\n|*a|")
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 1<<13 {
			return
		}
		out := plain.Render(markdown)
		if strings.TrimSpace(markdown) != "" && strings.TrimSpace(out) == "" {
			t.Errorf("nothing is left of %q", markdown)
		}
	})
}

// TestBracketsAroundLinks: brackets around an address are no part of it.
func TestBracketsAroundLinks(t *testing.T) {
	got := plain.Render("(see https://e.com/A_(b)), and (https://e.com/c)")
	if want := "(see {l https://e.com/A_(b)|https://e.com/A_(b)|}), and ({l https://e.com/c|https://e.com/c|})"; got != "^"+want {
		t.Errorf("%q", got)
	}
}

// TestCodeInTables: code in a table may have bars in it.
func TestCodeInTables(t *testing.T) {
	parts := markup.Split("| a | b |\n|---|---|\n| `x|y` | **z** |", markup.Room{})
	if got := plain.Render(parts[0]); !strings.Contains(got, "x|y") || !strings.Contains(got, "z") {
		t.Errorf("%q", got)
	}
}
