package workdir_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/workdir"
)

// TestDisorder: nothing is loaded from a workspace that is not in order. That is kept in the
// folder of ETUI_STATE, unless commands could reach it there, or beside the user's state.
func TestDisorder(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	for _, c := range []struct {
		name, variable string
		at             func(dir, name string) string
		refused        bool
	}{
		{"home", "", func(_, name string) string { return filepath.Join(home, "etui", name) }, true},
		{"home with ETUI_STATE", state, func(_, name string) string { return filepath.Join(home, "etui", name) }, true},
		{"ETUI_STATE", state, func(_, name string) string { return filepath.Join(state, name) }, true},
		{"ETUI_STATE in the workspace", "state", func(dir, name string) string { return filepath.Join(dir, "state", name) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(dir))
			file := c.at(dir, filepath.Base(dir)+"-"+hex.EncodeToString(sum[:4])+".disorder")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("hooks/pre-commit\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var environ []string
			if c.variable != "" {
				environ = append(environ, "ETUI_STATE="+c.variable)
			}
			_, err = workdir.Open(dir, "", environ)
			if refused := err != nil && strings.Contains(err.Error(), "Then remove "+file); refused != c.refused {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestGivenAway: root does not read what the user of programs could have written.
func TestGivenAway(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has programs of another user")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, name := range []string{"etui.yaml", "skills", "workflows"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		make := func() error { return os.Mkdir(path, 0o755) }
		if name == "etui.yaml" {
			make = func() error { return os.WriteFile(path, []byte("log: {level: warn}\n"), 0o600) }
		}
		if err := errors.Join(make(), os.Chown(path, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, err := workdir.Open(dir, "", nil); err == nil || !strings.Contains(err.Error(), "chown -R root "+path) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := workdir.Open(dir, "", nil); err != nil {
			t.Error(err)
		}
	}
}
