package protect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// TestNothingHidesAside: what goes aside inside of something else is not taken for the
// user's by the next command.
func TestNothingHidesAside(t *testing.T) {
	bring := func(from, to string) func(*workspace) {
		return func(w *workspace) {
			found, err := filepath.Glob(w.path("etui-aside-*/" + from))
			w.must(err)
			for _, name := range found {
				w.must(os.MkdirAll(filepath.Dir(w.path(to)), 0o755))
				_ = os.Rename(name, w.path(to))
			}
		}
	}
	for name, c := range map[string]struct {
		first, second func(*workspace)
		gone, kept    string
	}{
		"settings in settings": {
			func(w *workspace) { w.write(map[string]string{".claude/.vscode/tasks.json": "evil"}) },
			bring("1-.claude/.vscode", ".vscode"), ".vscode", "",
		},
		"a repository in a repository": {
			func(w *workspace) {
				for _, repo := range []string{"x/.git/", "x/.git/y/.git/"} {
					w.write(map[string]string{repo + "HEAD": "ref: refs/heads/main", repo + "objects/a": "", repo + "refs/a": "", repo + "config": "evil"})
				}
			},
			bring("*-x-.git/y/.git", "y/.git"), "y/.git/HEAD", "",
		},
		"settings that are a repository": {
			func(w *workspace) {
				w.write(map[string]string{".vscode/HEAD": "ref: refs/heads/main", ".vscode/objects/a": "", ".vscode/refs/a": "", ".vscode/tasks.json": "evil"})
			},
			func(*workspace) {}, ".vscode", "",
		},
		"a folder of the user in settings": {
			func(w *workspace) {
				w.must(os.Mkdir(w.path(".claude"), 0o755))
				w.must(os.Rename(w.path("app"), w.path(".claude/app")))
				w.write(map[string]string{".claude/app/.vscode/tasks.json": "evil", ".claude/app/.git/config": "evil"})
			},
			bring("*-.claude/app", "app"), "", "app/.vscode/tasks.json",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, sandbox.Landlock, map[string]string{"app/.vscode/tasks.json": "mine", "app/.git/HEAD": "ref: refs/heads/main", "app/.git/config": plainConfig})
			for _, run := range []func(*workspace){c.first, c.second} {
				if _, err := w.Begin(); err != nil {
					t.Fatal(err)
				}
				run(w)
				if done := strings.Join(w.End(), "\n"); strings.Contains(done, "Not everything") {
					t.Errorf("it says %s", done)
				}
			}
			if _, err := os.Lstat(w.path(c.gone)); c.gone != "" && err == nil {
				t.Errorf("%s is there", c.gone)
			}
			if c.kept != "" && w.files()[c.kept] != "mine" {
				t.Errorf("%s is %q", c.kept, w.files()[c.kept])
			}
		})
	}
}

// TestTooLong: a name that cannot be checked is refused, and the rest is as before.
func TestTooLong(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, map[string]string{"lib/.git/HEAD": "ref: refs/heads/main", "lib/.git/config": plainConfig})
	if _, err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	w.write(map[string]string{"lib/.git/config": "[core]\n\tpager = evil\n"})
	root, err := os.OpenRoot(w.dir)
	w.must(err)
	defer root.Close()
	w.must(root.MkdirAll(strings.Repeat(strings.Repeat("x", 200)+"/", 21)+".git", 0o755))
	if done := strings.Join(w.End(), "\n"); !strings.Contains(done, "a folder cannot be checked") {
		t.Errorf("it says %s", done)
	}
	if text, _ := os.ReadFile(w.path("lib/.git/config")); string(text) != plainConfig {
		t.Errorf("the configuration is %q", text)
	}
	if _, err := w.Begin(); err == nil {
		t.Error("the next command runs")
	}
}
