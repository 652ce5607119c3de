package textcode_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/textcode"
)

func TestOf(t *testing.T) {
	for raw, want := range map[string]string{
		"":                         "UTF-8",
		"plain":                    "UTF-8",
		"caf\xc3\xa9":              "UTF-8",
		"中文 \xff 中文":               "UTF-8",
		"\xef\xbb\xbfx":            "UTF-8 with a byte order mark",
		"\xff\xfex\x00":            "UTF-16",
		"\xfe\xff\x00x":            "UTF-16",
		"\xc4\xe3\xba\xc3, hello":  "GB18030",
		"caf\xe9 au lait":          "Windows-1252",
		"stra\xdfe, \x93so\x94":    "Windows-1252",
		"a\x00b":                   "",
		"\xff\xfe\x00\x00x\x00":    "",
		"\x01\x02\xff\xfe\xfd":     "",
		"\x82\xb1\x82\xea\x82\xcd": "", // これは in Shift_JIS
		"\x89PNG\r\n\x1a\n":        "",
	} {
		code, isText := textcode.Of([]byte(raw))
		if got := code.String(); isText != (want != "") || isText && got != want {
			t.Errorf("%q is %s, %v; want %s", raw, got, isText, want)
		}
	}
	code, _ := textcode.Of([]byte("\xc4\xe3\xba\xc3"))
	if text, err := code.Decode([]byte("\xc4\xe3\xba\xc3")); err != nil || text != "你好" {
		t.Errorf("%q, %v", text, err)
	}
	code, _ = textcode.Of([]byte("caf\xe9 au lait"))
	if _, err := code.Encode("茶"); err == nil || !strings.Contains(err.Error(), "Windows-1252") {
		t.Errorf("%v", err)
	}
}

// FuzzOf: what is read as a text can be read at once and as a stream, with the
// same outcome.
func FuzzOf(f *testing.F) {
	for _, s := range []string{"a\xff", "\xff\xfea\x00b", "\xc4\xe3\xba\xc3", "caf\xe9 au lait", "\xef\xbb\xbf\xef\xbb\xbf"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		code, isText := textcode.Of(raw)
		if !isText {
			return
		}
		text, err := code.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		var stream bytes.Buffer
		if _, err := stream.ReadFrom(code.Reader(bytes.NewReader(raw))); err != nil || stream.String() != text {
			t.Errorf("%q in %s is %q, as a stream %q, %v", raw, code, text, stream.String(), err)
		}
	})
}
