package workdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// TestEdit: a person's change reaches etui.yaml, whatever a running command has put there,
// and nothing else.
func TestEdit(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	place := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "new.yaml")
	place(t, outside, "log: {level: error}\n")
	for name, put := range map[string]func(file string) error{
		"a text":   func(file string) error { return os.WriteFile(file, []byte("sandbox: {mode: off}\n"), 0o600) },
		"nothing":  os.Remove,
		"a link":   func(file string) error { _ = os.Remove(file); return os.Symlink("notes.yaml", file) },
		"a folder": func(file string) error { _ = os.Remove(file); return os.MkdirAll(file+"/x", 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, notes := filepath.Join(dir, "etui.yaml"), filepath.Join(dir, "notes.yaml")
			place(t, file, "log: {level: warn}\n")
			place(t, notes, "kept\n")
			g, err := protect.New(protect.Config{Dir: dir, Names: []string{file}, Mode: sandbox.Landlock, Journal: filepath.Join(os.Getenv("XDG_STATE_HOME"), "etui")})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if _, err := g.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := put(file); err != nil {
				t.Fatal(err)
			}
			w, err := workdir.Open(dir, "", nil)
			if err != nil || w.Config.Log.Level != "warn" {
				t.Fatal(w, err)
			}
			if _, err := w.Edit(notes); err == nil {
				t.Error("a file that a command can write is taken for a person's")
			}
			e, err := w.Edit(outside)
			if err != nil || !e.Waits {
				t.Fatal(e, err)
			}
			if err := e.Accept(); err != nil {
				t.Fatal(err)
			}
			g.End()
			if text, err := os.ReadFile(file); string(text) != "log: {level: error}\n" {
				t.Errorf("%q, %v", text, err)
			}
			if text, _ := os.ReadFile(notes); string(text) != "kept\n" {
				t.Errorf("notes: %q", text)
			}
		})
	}
}
