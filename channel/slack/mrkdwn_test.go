package slack

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	for _, c := range [][2]string{
		{"plain & <b>", "plain &amp; &lt;b&gt;"},
		{"**An** answer: `a_b*c` <tag> & 1 < 2, 好", "*An* answer: `a_b*c` &lt;tag&gt; &amp; 1 &lt; 2, 好"},
		{"# Title\n\ntext", "*Title*\n\ntext"},
		{"## A **bold** one", "*A bold one*"},
		{"*it* _it_ **b** ~~s~~", "_it_ _it_ *b* ~s~"},
		{"***both***", "_*both*_"},
		{"**粗体**文字", "*粗体*\u200b文字"},
		{"a**b**c", "a\u200b*b*\u200bc"},
		{"**two\nlines** here\nnext", "*two lines* here\nnext"},
		{"- a\n- b\n  - c\n  - d\n- e", "• a\n• b\n    • c\n    • d\n• e"},
		{"3. a\n4. b\n\n   more", "3. a\n4. b\n    \n    more"},
		{"- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"},
		{"> q\n> r\n\nafter", "> q\n> r\n\nafter"},
		{"```go\nif a < b {\n\tx()\n}\n```", "```\nif a &lt; b {\n\tx()\n}\n```"},
		{"````\n```\n````", "```\n`\u200b``\n```"},
		{"``a`b``", "a`b"},
		{"[site](https://x.org/?a=1&b=2)", "<https://x.org/?a=1&amp;b=2|site>"},
		{"[https://x.org](https://x.org)", "<https://x.org>"},
		{"https://x.org/_a_b and me@x.org", "<https://x.org/_a_b> and <mailto:me@x.org|me@x.org>"},
		{"![alt](https://x.org/a.png)", "<https://x.org/a.png|alt>"},
		{"[see](docs/a.md)", "see (docs/a.md)"},
		{"a | b\n--|--\nlong one | 1\nx | 22", "```\na        | b\nlong one | 1\nx        | 22\n```"},
		{"a\\*b &lt;c&gt; &copy;", "a*b &lt;c&gt; ©"},
		{"one\n\ntwo\nthree", "one\n\ntwo\nthree"},
		{"---", "———"},
		{"<div>\n<!channel>\n</div>", "&lt;div&gt;\n&lt;!channel&gt;\n&lt;/div&gt;"},
		{"[x]: https://x.org", "[x]: https://x.org"},
		{"", ""},
		// Nothing that a model writes mentions anybody.
		{"<!channel> <@U1> <#C1>", "&lt;!channel&gt; &lt;@U1&gt; &lt;#C1&gt;"},
		{"[all](!channel) [you](<@U1>) [x](!here)", "all (!channel) you (@U1) x (!here)"},
		{"[a](<https://x.org/><!channel>)", "[a](<https://x.org/>&lt;!channel&gt;)"},
		{"[a|b>](https://x.org/|c)", "<https://x.org/%7Cc|a¦b&gt;>"},
		{"&lt;!channel&gt; &#60;@U1>", "&lt;!channel&gt; &lt;@U1&gt;"},
	} {
		if got := dialect().Render(c[0]); got != c[1] {
			t.Errorf("%q:\n got %q\nwant %q", c[0], got, c[1])
		}
	}
}

func TestLength(t *testing.T) {
	m := &Channel{dialect: dialect()}
	for text, want := range map[string]int{"": 0, "abc": 3, "a & b": 9, "好😀": 3, "**b**": 3} {
		if got := m.length(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := m.length(strings.Repeat(">", 1<<20)); got < maxText {
		t.Errorf("a long text has %d", got)
	}
}

// FuzzRender: no text becomes a mention, and quotes of quotes stay small.
func FuzzRender(f *testing.F) {
	f.Add("**a** <!channel> [x](!here)")
	f.Add(strings.Repeat("> ", 500) + "deep")
	f.Add(strings.Repeat("- ", 500) + "deep")
	f.Add("a|b\n-|-\n`|`|<@U1>")
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 1<<13 {
			return
		}
		out := dialect().Render(markdown)
		if len(out) > 100*len(markdown)+100 {
			t.Errorf("%d bytes become %d", len(markdown), len(out))
		}
		for _, part := range strings.Split(out, "<")[1:] {
			if !strings.HasPrefix(part, "http") && !strings.HasPrefix(part, "HTTP") && !strings.HasPrefix(strings.ToLower(part), "mailto:") && !strings.HasPrefix(strings.ToLower(part), "http") {
				t.Errorf("%q has a token that is no link: %q", markdown, out)
			}
		}
	})
}

func TestReadText(t *testing.T) {
	for _, c := range []struct {
		in, out string
		named   bool
	}{
		{"<@B1> hello", "hello", true},
		{"hey <@B1|etui> there", "hey there", true},
		{"<@U2> and <@U3|bob>", "@U2 and @bob", false},
		{"&lt;b&gt; &amp;lt;", "<b> &lt;", false},
		{"<https://x.org/?a&amp;b|site> <https://y.org>", "[site](https://x.org/?a&b) https://y.org", false},
		{"<mailto:me@x.org|me@x.org> <mailto:a@x.org>", "me@x.org a@x.org", false},
		{"<!here> <!channel> <!subteam^S1|@team> <!subteam^S2>", "@here @channel @team @subteam", false},
		{"<!date^1392734382^{date}|Feb 18, 2014>", "Feb 18, 2014", false},
		{"<#C1|general> <#C2>", "#general #C2", false},
		{"open < end", "open < end", false},
		{"<>", "", false},
	} {
		if out, named := readText(c.in, "B1"); out != c.out || named != c.named {
			t.Errorf("%q: %q, %v", c.in, out, named)
		}
	}
}

func FuzzReadText(f *testing.F) {
	f.Add("<@B1> <https://x|y> &lt;")
	f.Add("<!date^1|")
	f.Fuzz(func(t *testing.T, s string) {
		if out, _ := readText(s, "B1"); len(out) > len(s)*3+3 {
			t.Errorf("%d bytes become %d", len(s), len(out))
		}
	})
}
