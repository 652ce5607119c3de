package rtf_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/rtf"
)

// TestText reads the text of RTF without its fonts, pictures and tables of styles.
func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\pard one\'e4 {\b two}\par three\tab four\line}`:          "oneä two\nthree\tfour",
		`{\rtf1\ansi\ansicpg936 \'c4\'e3\'ba\'c3}`:                                                              "你好",
		`{\rtf1\uc1 \u20320?\u22909?!}`:                                                                         "你好!",
		`{\rtf1\uc2\u-10179 ??\u-8704 ??}`:                                                                      "😀",
		`{\rtf1\fromhtml1 {\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 said{\*\htmltag72 </p>}\htmlrtf\par}\htmlrtf0}`: "said",
		`{\rtf1 a\{b\}\\c}`:    `a{b}\c`,
		`{\rtf1 {\pict 00ff}x`: "x",
		`\`:                    "",
	} {
		if got := rtf.Text(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(`{\rtf1\ansi\ansicpg936\uc2 \'c4\'e3\u-10179 ??{\*\x{\pict 00}}\bin3 abc}`, []byte{16, 0, 0, 0, 4, 0, 0, 0, 'L', 'Z', 'F', 'u', 0, 0, 0, 0, 0, 'x'})
	f.Fuzz(func(t *testing.T, text string, packed []byte) {
		if got := rtf.Text(text); strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q is no UTF-8", got)
		}
		rtf.Text(string(rtf.Unpack(packed)))
	})
}
