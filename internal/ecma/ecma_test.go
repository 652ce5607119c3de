package ecma_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/ecma"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ pattern, fits, fails string }{
		{`^[a-z]+$`, "abc", "ABC"},
		{`^(?!foo).*$`, "bar", "foobar"},
		{`(?<=a)b`, "ab", "cb"},
		{`^(?=.*\d)(?=.*[a-z]).{8,}$`, "abcdefg1", "abcdefgh"},
		{`^(a|b)\1$`, "aa", "ab"},
		{`^(?<year>\d{4})-\k<year>$`, "2026-2026", "2026-2025"},
		{`^(?<year>\d{4})$`, "2026", "20266"},
		{`^[\w\-\/]+\u{1F600}?$`, "a/b😀", "a b"},
		{`^\u0041+$`, "AA", "BB"},
		{`^\\u0041$`, `\u0041`, "A"},
		{`^\p{L}+$`, "äö", "a1"},
		{`^\p{Script=Greek}+$`, "αβ", "ab"},
		{`^(?!x)\p{L}+$`, "äö", "xa"},
		{`^a[^]b$`, "a\nb", "ab"},
		{`^.{0,5000}$`, "abc", strings.Repeat("a", 5001)},
		{`^\d+$`, "12", "1a"},
	} {
		p, err := ecma.Compile(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if p.String() != c.pattern || !p.MatchString(c.fits) || p.MatchString(c.fails) {
			t.Errorf("%s (%s): %.20q fits: %v, %.20q fits: %v", c.pattern, p, c.fits, p.MatchString(c.fits), c.fails, p.MatchString(c.fails))
		}
	}
	for _, pattern := range []string{`(`, `[z-a]`, `*`, strings.Repeat("a", 10_001)} {
		if _, err := ecma.Compile(pattern); err == nil {
			t.Errorf("%.20s compiles", pattern)
		}
	}
}

// TestSlow: a text that takes too long does not fit, and texts as long as it are not tried again.
func TestSlow(t *testing.T) {
	p, err := ecma.Compile(`^(?!x)(a+)+$`)
	if err != nil {
		t.Fatal(err)
	}
	if !p.MatchString("aaa") {
		t.Error("a short text does not fit")
	}
	for range 1000 { // a minute and a half, if each took its time
		if p.MatchString(strings.Repeat("a", 5000) + "!") {
			t.Fatal("it fits")
		}
	}
	if !p.MatchString("aaa") {
		t.Error("a short text does not fit any more")
	}
}

// TestCheck: the patterns of one check together take a bounded time, and a check says what it left.
func TestCheck(t *testing.T) {
	var all ecma.Patterns
	slow, err := all.Compile(`^(?!x)(a+)+$`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := all.Compile(`^(?!y)(b+)+$`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text   string
		undone bool
	}{{"aaa", false}, {strings.Repeat("a", 5000) + "!", true}, {"aaa", false}} {
		end := all.Begin()
		slow.MatchString(c.text)
		other.MatchString("bbb")
		if undone := end(); (undone != "") != c.undone || c.undone && undone != slow.String() {
			t.Errorf("%.10s: %q was left", c.text, undone)
		}
	}
	end := all.Begin()
	left := 0
	for n := 4999; n > 0; n-- { // many minutes without a bound
		for _, p := range []*ecma.Pattern{slow, other} {
			if !p.MatchString(strings.Repeat(p.String()[6:7], n) + "!") {
				left++
			}
		}
	}
	if end() == "" || left < 9000 {
		t.Errorf("%d were left", left)
	}
}
