package protect_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// newJournal returns a workspace whose guard keeps a journal in the returned folder.
func newJournal(t *testing.T, mode sandbox.Mode, files map[string]string) (*workspace, string) {
	t.Helper()
	w, folder := &workspace{t: t, dir: t.TempDir()}, filepath.Join(t.TempDir(), "etui")
	w.write(files)
	w.again(mode, folder)
	return w, folder
}

// again gives the workspace another guard, as another start of etui does.
func (w *workspace) again(mode sandbox.Mode, folder string) {
	w.t.Helper()
	var err error
	w.Guard, err = protect.New(protect.Config{
		Dir: w.dir, Names: []string{w.path("etui.yaml"), w.path("skills")}, Mode: mode, Journal: folder, Disorder: filepath.Join(folder, "x.disorder"),
	})
	w.must(err)
}

func (w *workspace) recover(folder string) []string {
	w.t.Helper()
	done, err := protect.Recover(folder, nil)
	w.must(err)
	return done
}

// TestCrash: whatever a program had done when etui ended, everything is as before when etui
// starts again, and stays so.
func TestCrash(t *testing.T) {
	existing := map[string]string{
		"etui.yaml": "mine", "skills/a.yaml": "mine", ".vscode/tasks.json": "mine", ".git/HEAD": "ref", ".git/config": "mine", ".git/hooks/a": "mine",
		"lib/.git/HEAD": "ref", "lib/.git/config": "mine", "lib/.envrc": "mine", "big/.envrc": strings.Repeat("x", 2<<20), "main.go": "mine",
	}
	attack := map[string]string{
		".envrc": "evil", "x/.vscode/tasks.json": "evil", "lib/.git/config": "evil", "lib/.git/hooks/b": "evil", "y/.git/HEAD": "ref", "y/.git/config": "evil",
		"main.go": "work", "lib/.envrc": "evil",
	}
	for _, mode := range []sandbox.Mode{sandbox.Landlock, sandbox.Strong} {
		for _, before := range []int{0, 1, 2} { // commands that ended as usual
			w, folder := newJournal(t, mode, existing)
			for range before {
				_, err := w.Begin()
				w.must(err)
				w.End()
			}
			_, err := w.Begin()
			w.must(err)
			w.write(attack)
			w.must(os.Rename(w.path("lib"), w.path("moved")))
			if mode == sandbox.Landlock {
				w.write(map[string]string{"etui.yaml": "sandbox: {mode: off}", "skills/b.yaml": "evil", ".vscode/tasks.json": "evil", ".git/hooks/a": "evil"})
			}
			if done := w.recover(folder); len(done) != 0 {
				t.Errorf("of a process that lives: %q", done)
			}
			w.Crash()
			if done := w.recover(folder); len(done) < 6 {
				t.Errorf("%s, %d before: it says %q", mode, before, done)
			}
			want := maps.Clone(existing)
			want["main.go"] = "work"
			for _, name := range []string{".git/HEAD", ".git/config", ".envrc"} {
				want["moved/"+name] = want["lib/"+name]
				delete(want, "lib/"+name)
			}
			got := w.files()
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s, %d before: %s is %.20q", mode, before, name, got[name])
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("%s, %d before: there is more: %.200v", mode, before, got)
			}
			if done := w.recover(folder); len(done) != 0 {
				t.Errorf("a second time: %q", done)
			}
			w.again(mode, folder)
			if _, err := w.Begin(); err != nil {
				t.Error(err)
			}
			w.End()
			w.must(w.Close())
			if left, _ := filepath.Glob(filepath.Join(folder, "*.commands")); len(left) != 0 {
				t.Errorf("%s, %d before: %v is left", mode, before, left)
			}
		}
	}
}

// TestCrashWithoutPrograms: what a person changed while no program ran stays.
func TestCrashWithoutPrograms(t *testing.T) {
	w, folder := newJournal(t, sandbox.Landlock, map[string]string{"etui.yaml": "old"})
	for range 2 {
		_, err := w.Begin()
		w.must(err)
		w.End()
	}
	w.write(map[string]string{"etui.yaml": "new", ".envrc": "mine"})
	w.Crash()
	if done := w.recover(folder); len(done) != 0 || w.files()["etui.yaml"] != "new" || w.files()[".envrc"] != "mine" {
		t.Errorf("it says %q, and there are %v", done, w.files())
	}
}

// TestCrashAgain: a crash while a restart puts things in order loses nothing, and what cannot
// be put in order is said.
func TestCrashAgain(t *testing.T) {
	w, folder := newJournal(t, sandbox.Landlock, map[string]string{"etui.yaml": "mine"})
	_, err := w.Begin()
	w.must(err)
	w.write(map[string]string{"etui.yaml": "evil", ".envrc": "evil"})
	w.must(os.RemoveAll(w.dir))
	w.Crash()
	if done := w.recover(folder); len(done) != 0 {
		t.Errorf("of a workspace that is gone: %q", done)
	}

	w, folder = newJournal(t, sandbox.Landlock, map[string]string{"etui.yaml": "mine"})
	_, err = w.Begin()
	w.must(err)
	root, err := os.OpenRoot(w.dir)
	w.must(err)
	defer root.Close()
	deep := strings.Repeat("x", 200)
	w.must(root.MkdirAll(strings.Repeat(deep+"/", 21)+".git", 0o755)) // nothing can look there
	w.write(map[string]string{"etui.yaml": "evil"})
	w.Crash()
	w.recover(folder)
	if text, err := os.ReadFile(filepath.Join(folder, "x.disorder")); err != nil || !strings.Contains(string(text), "a folder cannot be checked") {
		t.Errorf("%q, %v", text, err)
	}
	if text, _ := os.ReadFile(w.path("etui.yaml")); string(text) != "mine" {
		t.Errorf("%s", text)
	}
}

// TestForeignJournal: what another user could have written is not restored.
func TestForeignJournal(t *testing.T) {
	w, folder := newJournal(t, sandbox.Landlock, map[string]string{"etui.yaml": "mine"})
	_, err := w.Begin()
	w.must(err)
	w.write(map[string]string{"etui.yaml": "new"})
	w.Crash()
	found, _ := filepath.Glob(filepath.Join(folder, "*.commands"))
	w.must(os.Chmod(found[0], 0o777))
	if done := w.recover(folder); len(done) != 0 || w.files()["etui.yaml"] != "new" {
		t.Errorf("%q, %v", done, w.files())
	}
}

// TestNoJournal: no program runs where nothing can be kept for the case of a crash, or where
// programs could change it.
func TestNoJournal(t *testing.T) {
	w, _ := newJournal(t, sandbox.Strong, nil)
	w.again(sandbox.Strong, w.path("state"))
	if _, err := w.Begin(); err == nil || !strings.Contains(err.Error(), "ETUI_STATE") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	w.must(os.WriteFile(file, nil, 0o600))
	w.again(sandbox.Strong, file)
	if _, err := w.Begin(); err == nil || !strings.Contains(err.Error(), "ETUI_STATE") {
		t.Error(err)
	}
}
