package console_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/console"
)

// TestUndo: saves are taken back one by one, but never what somebody else wrote after them.
func TestUndo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etui.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a longer first text")
	f := &console.File{Path: path, Read: os.ReadFile, Write: func(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }, Check: func([]byte) error { return nil }}
	save := func(text string) console.Text {
		now, err := f.Now()
		if err != nil {
			t.Fatal(err)
		}
		if now, err = f.Save(console.Edit{Text: text, Base: now.Base}); err != nil || now.Text != text {
			t.Fatal(now, err)
		}
		return now
	}
	save("second")
	now := save("third")
	for _, want := range []string{"second", "a longer first text"} {
		var err error
		if now, err = f.Undo(now.Base); err != nil || now.Text != want {
			t.Errorf("taken back: %q, %v; want %q", now.Text, err, want)
		}
	}
	save("fourth")
	write("by hand")
	now, _ = f.Now()
	if now.Undo != 0 {
		t.Errorf("%d saves can be undone after a change by hand", now.Undo)
	}
	if _, err := f.Undo(now.Base); !errors.Is(err, console.ErrWrong) {
		t.Errorf("a change by hand was taken back: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "by hand" {
		t.Errorf("the file is %q", text)
	}
}
