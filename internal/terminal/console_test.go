package terminal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/terminal"
)

// TestNothingSteersTerminals: what files and commands hold reaches a terminal as text.
func TestNothingSteersTerminals(t *testing.T) {
	const evil = "a\x1b[2J\x1b]0;title\x07b\x1b[8mc\x9b31md\u009b2Je\x1b[1mf\x1b[m\r\u202eg\x7f\n"
	for _, c := range []struct {
		name   string
		screen bool
		want   string
	}{
		{"a terminal", true, "abc\uFFFD31md2Je\x1b[1mf\x1b[m\ng\n"},
		{"a file", false, evil},
	} {
		var out bytes.Buffer
		a := &terminal.Console{Out: &out, Screen: c.screen}
		if err := a.Print(nil, func() string { return evil }); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, out.String(), c.want)
		}
	}
	var out bytes.Buffer
	a := &terminal.Console{Out: &out, JSON: true}
	if err := a.Print(evil, nil); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\x7f\r") {
		t.Errorf("JSON: %q", out.String())
	}
}

// TestChineseWraps: a Chinese text without spaces fits the width, and no line begins with a sign that ends
// something.
func TestChineseWraps(t *testing.T) {
	t.Parallel()
	got := terminal.Hang("ok  ", "命令无法读取或修改外部文件，也无法连接 127.0.0.1:3884。", 24)
	want := "ok  命令无法读取或修改外\n    部文件，也无法连接\n    127.0.0.1:3884。\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
