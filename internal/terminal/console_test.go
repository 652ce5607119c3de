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
