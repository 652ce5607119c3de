package feishu_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/feishu"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"**bold** *it* ~~no~~ `a_b*c`", "**bold** *it* ~~no~~ `a_b*c`"},
		{"# One\n\n### Three\ntext", "### One\n\n##### Three\n\ntext"},
		{"1 < 2 & <at id=all></at> <font color=red>x</font>", "1 &#60; 2 & &#60;at id=all&#62;&#60;/at&#62; &#60;font color=red&#62;x&#60;/font&#62;"},
		{"<at id=all></at>\n\nx", "&#60;at id=all&#62;&#60;/at&#62;\n\nx"},
		{"`<at id=all></at>`", "`<\u200bat id=all></at>`"},
		{"```go\nx := a < b\n// <AT ID=all>\n```\nafter", "```go\nx := a < b\n// <\u200bAT ID=all>\n```\n\nafter"},
		{"````\n```\n````", "```\n`\u200b``\n```"},
		{"- a\n  - b\n- [x] c\n\n3. d\n4. e", "- a\n    - b\n- ☑ c\n\n3. d\n4. e"},
		{"> quote\n> more", "> quote\n> more"},
		{"| a | b |\n|---|---|\n| 1 | x\\|y **z** |", "| a | b |\n| --- | --- |\n| 1 | x&#124;y **z** |"},
		{"[text](https://example.com/a_(b)) <https://e.com> https://f.com", "[text](https://example.com/a_%28b%29) [https://e.com](https://e.com) [https://f.com](https://f.com)"},
		{"[x](javascript:alert(1)) ![pic](https://example.com/p.png) [m](mailto:a@b.c)", "x (javascript:alert(1)) [pic](https://example.com/p.png) m (mailto:a@b.c)"},
		{"[](lark://x) a@b.c", "lark://x a@b.c"},
		{`\# no heading \* \_ \[x\] :OK: a:b`, "&#35; no heading &#42; &#95; &#91;x&#93; &#58;OK&#58; a:b"},
		{"a\n\\- b\n1986\\. A year", "a\n&#45; b\n1986&#46; A year"},
		{"a  \nb\n\n---\n\nc", "a\nb\n\n---\n\nc"},
		{"&lt;at&gt; &copy; &amp;lt; R&D &#38;#60;", "&#60;at&#62; © &#38;lt; R&#38;D &#38;#60;"},
		{"a_b_c _d_ e_", "a_b_c *d* e&#95;"},
		{"你好，**世界**。", "你好，**世界**。"},
		{"[a]: https://example.com", "&#91;a&#93;: https://example.com"},
	} {
		if got := feishu.Render(test.in); got != test.want {
			t.Errorf("%q:\n got %q\nwant %q", test.in, got, test.want)
		}
	}
	one := "| a |\n|---|\n| 1 |\n\n"
	if got := feishu.Render(strings.Repeat(one, 5)); strings.Count(got, "```") != 4 || strings.Count(got, "| --- |") != 5 {
		t.Errorf("five tables: %q", got)
	}
	// Quotes and line ends count as often as they are escaped in the request.
	if got := feishu.Length("a \"b\"\n\nc"); got != len(`"\"a \\\"b\\\"\\n\\nc\""`) {
		t.Errorf("length: %d", got)
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"**a** `b`", "> - 1. # x", "[a](b)", "<at id=all></at>", "```\n\x00", "&#60;at id=all&#62;", "* * *\n    <at>", "|a|\n|-|\n|<at id=1>|", "`` <at ` ``", "[<at id=1>](https://x.y/<at>)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if out := feishu.Render(s); reaches.MatchString(out) {
			t.Errorf("%q mentions somebody: %q", s, out)
		}
		if feishu.Length(s) < len(s)/2 && len(s) > 10000 {
			t.Errorf("%d bytes count as %d", len(s), feishu.Length(s))
		}
	})
}
