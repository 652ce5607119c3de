package printable_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/printable"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext": "plain\n\ttext",
		"a\u200bd\u202ed \U000e0061\ufeff!\r\n\x1b[31mred\x1b[0m": "add !\nred",
		"👩\u200d💻 ☂\ufe0f مى\u200cخ":                              "👩\u200d💻 ☂\ufe0f مى\u200cخ", // joiners where writing needs them
		"x\xffy":                                                  "x\uFFFDy",
	} {
		if got := printable.Text(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got := printable.Line(" 一\n二\u200b三 四五 ", 5); got != "一 二三…" {
		t.Errorf("%q", got)
	}
}

func TestList(t *testing.T) {
	if got := printable.List(strings.Split("a b c d e f g h i j k l", " ")); got != "a, b, c, d, e, f, g, h, i, j and 2 more" {
		t.Error(got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u200d\u200c\x1b]0;x\x07b")
	f.Fuzz(func(t *testing.T, s string) {
		once := printable.Text(s)
		if twice := printable.Text(once); twice != once {
			t.Errorf("%q gives %q, then %q", s, once, twice)
		}
	})
}
