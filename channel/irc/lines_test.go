package irc

import (
	"net"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircfmt"
	"github.com/ergochat/irc-go/ircmsg"
)

func TestRender(t *testing.T) {
	for markdown, want := range map[string]string{
		"# A **title**\n\ntext\nand *more*":                     "\x02A title\x02\ntext\nand \x1dmore\x1d",
		"**bold\nover lines**":                                  "\x02bold\n\x02over lines\x02",
		"~~old~~ `a_b*c` <b> &amp; \\*":                         "\x1eold\x1e `a_b*c` <b> & *",
		"[text](http://a.b/c_d) <http://e.f> ![x](y)":           "text <http://a.b/c_d> http://e.f x <y>",
		"[http://a.b](http://a.b)":                              "http://a.b",
		"- one\n  - two\n\n    more\n- [x] three\n\n3. a\n4. b": "• one\n  • two\n    more\n• [x] three\n3. a\n4. b",
		"> said\n> - so\n\nand":                                 "> said\n> • so\nand",
		"```go\nfunc f() {\n\n\tx()\n}\n```\nend":               "  func f() {\n  \tx()\n  }\nend",
		"| a | b |\n|---|---|\n| 1 | **2** |":                   "a | b\n1 | \x022\x02",
		"<div>\nx\n</div>\n\n---\n":                             "<div>\nx\n</div>\n———",
		"a\x01b\x02c &#1;&#2;&#13;&#10;d \u202ee":               "abc  d e",
		"": "",
	} {
		if got := strings.Join(render(markdown), "\n"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", markdown, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"short", []string{"short"}},
		{"one two three four five six", []string{"one two", "three four", "five six"}},
		{"one \x02two three four five\x02 x", []string{"one \x02two", "\x02three four", "\x02five\x02 x"}},
		{"一二三四五", []string{"一二三", "四五"}},
		{"abcdefghi👩\u200d💻", []string{"abcdefghi", "👩\u200d💻"}},
		{"abcdefghijk" + "e\u0301x", []string{"abcdefghijk", "e\u0301x"}},
		{"0123456789 1", []string{"0123456789", "1"}},
		{"\x02\x02 ", nil},
	} {
		if got := wrap(c.line, 11); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}

func TestCost(t *testing.T) {
	for text, want := range map[string]int{"": 0, "hi": 100, "hi\nho": 200, strings.Repeat("字", 100): 300, "a\n" + strings.Repeat("b", 150): 250} {
		if got := cost(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// FuzzSend: whatever the agent writes, each line fits, says only what it means, and no
// letter is lost.
func FuzzSend(f *testing.F) {
	f.Add("**An** answer: `a_b*c` <tag> & 1 < 2, 好\n- list\n> quote", "#etui")
	f.Add(strings.Repeat("👩\u200d💻e\u0301", 200)+"\r\nQUIT\x01\x00", "ann")
	f.Add(strings.Repeat("**a ~~b _c", 100)+"&#10;&#0;", strings.Repeat("n", 64))
	f.Fuzz(func(t *testing.T, text, target string) {
		if !validNick(target) {
			target = "#etui"
		}
		most := width("etui", target)
		for _, line := range render(text) {
			parts := wrap(line, most)
			for _, part := range parts {
				m := ircmsg.MakeMessage(nil, "etui!~123456789012345678@"+strings.Repeat("h", 64), "PRIVMSG", target, part)
				if len(part) > most || !utf8.ValidString(part) || strings.ContainsAny(part, "\r\n\x00\x01") {
					t.Fatalf("%q", part)
				}
				if _, err := m.LineBytesStrict(false, 512); err != nil {
					t.Fatalf("%q: %v", part, err)
				}
			}
			letters := func(s string) string { return strings.Join(strings.Fields(ircfmt.Strip(s)), "") }
			if got, want := letters(strings.Join(parts, "")), letters(line); got != want {
				t.Errorf("%q became %q", want, got)
			}
		}
	})
}

// FuzzHandle: no line of a server does harm.
func FuzzHandle(f *testing.F) {
	for _, line := range []string{
		"@account=ann;batch=1;msgid=x;time=2026-01-02T03:04:05.678Z :ann!a@h PRIVMSG #etui :etui: hi\n:x!a@h PRIVMSG etui :\x01ACTION \x0304waves\x01",
		":irc.test 005 etui PREFIX=(ov)@ CHANTYPES= CHANMODES=,k :x\n:etui!e@h JOIN #etui\n:x 353 etui = #etui :@ann!a@h +\n:x MODE #etui +ovkl-b ann ann",
		"BATCH\nBATCH +1 chathistory\nBATCH -1\nKICK #etui\n:a NICK\n:etui!e NICK\nQUIT\nJOIN\nPONG\nMODE\n353\nACCOUNT *\nPRIVMSG\n:a!b PRIVMSG :\nPRIVMSG #etui",
		":a!b@c PRIVMSG etui\n:irc.test 005 etui CASEMAPPING=rfc1459\n:A[]!b@c PRIVMSG #E\u0130tui :@etui\n:etui!e@h PART #etui\n:old!e@h QUIT",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		c, err := New(Config{URL: "irc://localhost", Nick: "old", Rooms: []string{"#etui"}})
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		near.Close()
		far.Close()
		s := newSession(c, near)
		s.nick = "etui"
		for _, name := range wanted {
			s.caps[name] = true
		}
		for line := range strings.SplitSeq(lines, "\n") {
			if m, err := ircmsg.ParseLine(line); err == nil {
				s.handle(m)
			}
		}
	})
}
