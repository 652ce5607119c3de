package protect_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/sandbox"
)

// workspace is a folder with a guard.
type workspace struct {
	t   *testing.T
	dir string
	*protect.Guard
}

func newWorkspace(t *testing.T, mode sandbox.Mode, files map[string]string) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir()}
	w.write(files)
	var err error
	w.Guard, err = protect.New(protect.Config{Dir: w.dir, Names: []string{w.path("etui.yaml"), w.path("skills"), w.path(".claude/skills"), "/elsewhere"}, Own: []string{w.path("state")}, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workspace) write(files map[string]string) {
	w.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(files[name], "-> "); ok {
			w.must(os.Symlink(target, w.path(name)))
			continue
		}
		w.must(os.WriteFile(w.path(name), []byte(files[name]), 0o644))
	}
}

func (w *workspace) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// files are all files and links below the workspace, but for what lies aside.
func (w *workspace) files() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(w.dir, func(name string, e fs.DirEntry, err error) error {
		below, _ := filepath.Rel(w.dir, name)
		switch {
		case err != nil:
			w.t.Error(err)
		case strings.HasPrefix(below, "etui-aside-") && e.IsDir():
			return fs.SkipDir
		case e.IsDir() || strings.HasPrefix(below, "etui-aside-"):
		case e.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(name)
			all[below] = "-> " + target
		default:
			text, _ := os.ReadFile(name)
			all[below] = string(text)
		}
		return nil
	})
	return all
}

const (
	plainConfig = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	userConfig  = plainConfig + "[user]\n\tname = A B\n"
)

// TestEnd: whatever a program does to the names, afterwards they are as before.
func TestEnd(t *testing.T) {
	existing := map[string]string{
		"etui.yaml": "log: {}\n", "skills/a.yaml": "name: a\n", "skills/b/SKILL.md": "b", ".vscode/tasks.json": "{}", "main.go": "package main\n",
		".git/HEAD": "ref", ".git/config": plainConfig + "[alias]\n\tx = !mine\n", ".git/hooks/pre-commit": "mine", ".git/hooks/a.sample": "s", ".git/objects/x": "o",
		"sub/lib/.git/HEAD": "ref", "sub/lib/.git/config": plainConfig, "sub/lib/.git/hooks/post-merge": "mine",
		".git/modules/m/HEAD": "ref", ".git/modules/m/config": plainConfig, ".claude/settings.json": "x",
	}
	sh := func(w *workspace, lines ...string) {
		for _, line := range lines {
			verb, rest, _ := strings.Cut(line, " ")
			a, b, _ := strings.Cut(rest, " ")
			switch verb {
			case "write":
				w.must(os.MkdirAll(filepath.Dir(w.path(a)), 0o755))
				w.must(os.WriteFile(w.path(a), []byte(b), 0o644))
			case "remove":
				w.must(os.RemoveAll(w.path(a)))
			case "move":
				w.must(os.Rename(w.path(a), w.path(b)))
			case "link":
				w.must(os.Symlink(b, w.path(a)))
			case "hard":
				w.must(os.Link(w.path(b), w.path(a)))
			case "close":
				w.must(os.Chmod(w.path(a), 0o500))
			case "mode":
				w.must(os.Chmod(w.path(a), 0o755))
			}
		}
	}
	for _, c := range []struct {
		name string
		does []string
		says string // in what End says; empty: it says nothing
		left []string
	}{
		{"ordinary work", []string{"write main.go new", "write x/y z", "write .git/HEAD other", "write .git/objects/y o", "write .git/hooks/b.sample s", "write .gitignore x"}, "", []string{"x/y", ".git/objects/y", ".git/hooks/b.sample", ".gitignore"}},
		{"new names", []string{"write .envrc evil", "write .mcp.json {}", "write .husky/pre-commit evil", "write .idea/x y"}, ".envrc is a name that other programs trust; it is etui-aside-1-.envrc now", nil},
		{"new in folders", []string{"write .vscode/launch.json evil", "write skills/c/SKILL.md evil", "write skills/c.yaml evil", "write .git/hooks/post-commit evil"}, "skills/c is a name", nil},
		{"changes", []string{"write etui.yaml evil", "write .vscode/tasks.json evil", "write skills/b/SKILL.md evil", "write .git/hooks/pre-commit evil"}, "etui.yaml is as it was before", nil},
		{"removals", []string{"remove etui.yaml", "remove skills", "remove .git/hooks", "remove .vscode/tasks.json"}, "skills was removed; it is there again", nil},
		{"modes", []string{"mode .git/hooks/pre-commit"}, ".git/hooks/pre-commit is as it was before", nil},
		{"moves", []string{"move skills old", "write skills/a.yaml evil", "remove old"}, "skills/a.yaml", nil},
		{"links", []string{"remove .git/hooks", "link .git/hooks ../x", "write x/pre-commit evil", "link .envrc x"}, ".git/hooks is as it was before", []string{"x/pre-commit"}},
		{"hard links", []string{"hard h .git/config", "write h evil"}, ".git/config is as it was before", nil},
		{"the folder of git moved away", []string{"move .git git", "write .git/config evil", "remove git", "write .git/HEAD ref", "write .git/hooks/pre-commit evil"}, ".git/config is as it was before", []string{"- .git/modules/m/config"}},
		{"a link for the folder of git", []string{"move .git git", "link .git git"}, ".git replaced a folder with protected names", []string{"- .git/config", "- .git/hooks/pre-commit", "- .git/hooks/a.sample", "- .git/modules/m/config", "git/config", "git/hooks/pre-commit", "git/modules/m/config"}},
		{"closed folders", []string{"write skills/c.yaml evil", "write .vscode/x y", "close skills", "close .vscode"}, "skills/c.yaml", nil},
		{"harmless settings", []string{"write .git/config " + plainConfig + "[alias]\n\tx = !mine\n[remote \"o\"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/o/*\n[branch \"main\"]\n\tremote = o\n"}, "", nil},
		{"settings that run", []string{"write .git/config " + plainConfig + "[alias]\n\tx = !mine\n[core]\n\tfsmonitor = evil\n"}, ".git/config is as it was before", nil},
		{"an own setting changed", []string{"write .git/config " + plainConfig + "[alias]\n\tx = !evil\n"}, ".git/config is as it was before", nil},
		{"repositories below", []string{"write sub/lib/.git/config [core]\n\thooksPath = x\n", "write sub/lib/.git/hooks/pre-push evil", "write .git/modules/m/hooks/x evil", "write .git/modules/m/config [core]\n\tsshCommand = x\n"}, "sub/lib/.git/config is as it was before", nil},
		{"a repository removed", []string{"remove sub/lib"}, "", []string{"- sub/lib/.git/HEAD", "- sub/lib/.git/config", "- sub/lib/.git/hooks/post-merge"}},
		{"a repository moved", []string{"move sub/lib lib"}, "", []string{"- sub/lib/.git/HEAD", "- sub/lib/.git/config", "- sub/lib/.git/hooks/post-merge", "lib/.git/HEAD", "lib/.git/config", "lib/.git/hooks/post-merge"}},
		{"a new repository", []string{"write new/.git/HEAD ref", "write new/.git/config " + userConfig, "write new/.git/hooks/a.sample s"}, "", []string{"new/.git/HEAD", "new/.git/config", "new/.git/hooks/a.sample"}},
		{"a new repository that runs", []string{"write a/b/.git/HEAD ref", "write a/b/.git/config " + userConfig + "[core]\n\tfsmonitor = evil\n", "write a/b/.git/hooks/pre-commit evil"}, `held settings for which git may run programs ("[core] fsmonitor = evil")`, []string{"a/b/.git/HEAD", "a/b/.git/config"}},
		{"a repository elsewhere that runs", []string{"write new/.git/config " + plainConfig + "[remote \"o\"]\n\turl = ext:\":\"sh -c evil\n"}, "held settings", nil},
		{"a file for a work tree", []string{"write .git/worktrees/t/commondir ../..\n", "write t/.git gitdir: ../.git/worktrees/t\n"}, "", []string{"t/.git", ".git/worktrees/t/commondir"}},
		{"a file for a repository", []string{"write sub/x/.git gitdir: ../evil"}, "sub/x/.git is a name that other programs trust", nil},
		{"a work tree", []string{"write .git/worktrees/t/commondir ../..\n", "write .git/worktrees/t/HEAD ref"}, "", []string{".git/worktrees/t/commondir", ".git/worktrees/t/HEAD"}},
		{"a work tree of another one", []string{"write .git/worktrees/t/commondir ../../../evil\n", "write .git/worktrees/t/config.worktree x"}, ".git/worktrees/t/commondir", nil},
		{"many", func() (list []string) {
			for i := range 150 {
				list = append(list, "write skills/"+strings.Repeat("x", i+1)+".yaml evil")
			}
			return list
		}(), "skills was changed; it is etui-aside-1-skills now", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, sandbox.Landlock, existing)
			before := w.files()
			sealed, err := w.Begin()
			if err != nil || len(sealed) > 0 {
				t.Fatal(sealed, err)
			}
			sh(w, c.does...)
			done := strings.Join(w.End(), "\n")
			if !strings.Contains(done, c.says) || c.says == "" && done != "" {
				t.Errorf("it says %q, want %q", done, c.says)
			}
			after := w.files()
			for _, name := range c.left {
				if gone, ok := strings.CutPrefix(name, "- "); ok {
					delete(before, gone)
					continue
				}
				if _, ok := after[name]; !ok {
					t.Errorf("%s is not there", name)
				}
				delete(after, name)
				delete(before, name)
			}
			for name := range before {
				guarded := strings.HasPrefix(name, "skills/") || strings.HasPrefix(name, ".vscode/") || name == "etui.yaml" || strings.Contains(name, "hooks/") || strings.HasSuffix(name, "/config")
				if now, ok := after[name]; guarded && now != before[name] && c.name != "harmless settings" {
					t.Errorf("%s is %q (%v), was %q", name, now, ok, before[name])
				}
			}
			for name, text := range after {
				if _, known := before[name]; !known && strings.Contains(text, "evil") && name != "h" {
					t.Errorf("%s is there: %q", name, text)
				}
			}
			if again, err := w.Begin(); err != nil || len(again) > 0 || len(w.End()) > 0 {
				t.Errorf("a second look finds something, or fails: %v", err)
			}
		})
	}
}

// TestAnotherFolder: commands run in no folder that has taken the workspace's place.
func TestAnotherFolder(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, nil)
	w.must(os.Rename(w.dir, w.dir+".away"))
	w.must(os.Symlink(t.TempDir(), w.dir))
	if _, err := w.Begin(); err == nil || !strings.Contains(err.Error(), "was replaced since etui started") {
		t.Error(err)
	}
	w.must(os.Remove(w.dir))
	w.must(os.Rename(w.dir+".away", w.dir))
	if _, err := w.Begin(); err != nil {
		t.Error(err)
	}
}

// TestSecondName: what can be changed by another name is not sealed, but put back.
func TestSecondName(t *testing.T) {
	w := newWorkspace(t, sandbox.Strong, map[string]string{"etui.yaml": "good", ".mcp.json": "{}"})
	w.must(os.Link(w.path("etui.yaml"), w.path("other")))
	sealed, err := w.Begin()
	if err != nil || !slices.Equal(sealed, []string{w.path(".mcp.json")}) {
		t.Fatal(sealed, err)
	}
	w.must(os.WriteFile(w.path("other"), []byte("evil"), 0o644))
	if done := w.End(); len(done) == 0 || w.files()["etui.yaml"] != "good" {
		t.Errorf("it says %q, and etui.yaml is %q", done, w.files()["etui.yaml"])
	}
}

// TestTogether: what one program has done before another one began is known by how
// everything stood before both.
func TestTogether(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, map[string]string{"etui.yaml": "good"})
	for range 2 {
		if _, err := w.Begin(); err != nil {
			t.Fatal(err)
		}
		w.write(map[string]string{"etui.yaml": "evil"})
	}
	if done := w.End(); len(done) == 0 || w.files()["etui.yaml"] != "good" {
		t.Errorf("%v, %v", done, w.files())
	}
	w.write(map[string]string{"etui.yaml": "evil again", ".envrc": "evil"})
	if done := w.End(); len(done) == 0 || w.files()["etui.yaml"] != "good" || w.files()[".envrc"] != "" {
		t.Errorf("%v, %v", done, w.files())
	}
	if lies := len(w.files()); lies != 1 {
		t.Errorf("%v", w.files())
	}
}

// TestSteady: nothing is taken up while a program could have written it, nor what was
// read while one ran.
func TestSteady(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Landlock, sandbox.Strong} {
		w := newWorkspace(t, mode, map[string]string{"etui.yaml": "good"})
		file, skills := w.path("etui.yaml"), w.path("skills")
		want := func(when string, there, missing, outside bool) {
			t.Helper()
			if a, b, c := w.Steady(file)(), w.Steady(skills)(), w.Steady("/elsewhere")(); a != there || b != missing || c != outside {
				t.Errorf("%s, %s: %v, %v, %v", mode, when, a, b, c)
			}
		}
		want("at first", true, true, true)
		stillThere, stillMissing := w.Steady(file), w.Steady(skills)
		sealed, err := w.Begin()
		if err != nil || slices.Contains(sealed, file) != (mode == sandbox.Strong) {
			t.Fatal(mode, sealed, err)
		}
		want("while it runs", mode == sandbox.Strong, false, true)
		if mode == sandbox.Strong { // an editor replaces the file, which ends its being sealed
			w.write(map[string]string{"new": "good, too"})
			w.must(os.Rename(w.path("new"), file))
			want("after a replacement", false, false, true)
		}
		w.End()
		want("at last", true, true, true)
		if stillThere() || stillMissing() {
			t.Errorf("%s: what was read before is taken up", mode)
		}
	}
}

// TestOwn: what etui itself writes cannot be put back, so that no command runs.
func TestOwn(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, map[string]string{"state/etui.db": "x"})
	if _, err := w.Begin(); err == nil || !strings.Contains(err.Error(), "outside of the workspace") {
		t.Errorf("%v", err)
	}
	w = newWorkspace(t, sandbox.Strong, map[string]string{"state/etui.db": "x"})
	if sealed, err := w.Begin(); err != nil || !slices.Contains(sealed, w.path("state")) {
		t.Errorf("%v, %v", sealed, err)
	}
}
