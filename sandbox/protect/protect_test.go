package protect_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
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
)

// TestEnd: whatever a program does to the names, afterwards they are as before.
func TestEnd(t *testing.T) {
	existing := map[string]string{
		"etui.yaml": "log: {}\n", "skills/a.yaml": "name: a\n", "skills/b/SKILL.md": "b", "direnv/.envrc": "dotenv", ".vscode/tasks.json": "{}", "main.go": "package main\n",
		".git/HEAD": "ref", ".git/refs/x": "r", "deep/.vscode/tasks.json": "{}", ".git/config": plainConfig + "[alias]\n\tx = !mine\n", ".git/hooks/pre-commit": "mine", ".git/hooks/a.sample": "s", ".git/objects/x": "o",
		"sub/lib/.git/HEAD": "ref", "sub/lib/.git/refs/x": "r", "sub/lib/.git/objects/x": "r", "sub/lib/.git/config": plainConfig, "sub/lib/.git/hooks/post-merge": "mine",
		".git/modules/m/HEAD": "ref", ".git/modules/m/refs/x": "r", ".git/modules/m/objects/x": "r", ".git/modules/m/config": plainConfig, ".claude/settings.json": "x",
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
		{"ordinary work", []string{"write main.go new", "write x/y z", "write .git/HEAD other", "write .git/objects/y o", "write .gitignore x"}, "", []string{"x/y", ".git/objects/y", ".gitignore"}},
		{"new names", []string{"write .envrc evil", "write .mcp.json {}", "write .husky/pre-commit evil", "write .idea/x y"}, "/1-.envrc now", nil},
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
		{"settings", []string{"write .git/config " + plainConfig + "[branch \"main\"]\n\tremote = o\n"}, ".git/config is as it was before", nil},
		{"settings that run", []string{"write .git/config " + plainConfig + "[alias]\n\tx = !mine\n[core]\n\tfsmonitor = evil\n"}, ".git/config is as it was before", nil},
		{"an own setting changed", []string{"write .git/config " + plainConfig + "[alias]\n\tx = !evil\n"}, ".git/config is as it was before", nil},
		{"repositories below", []string{"write sub/lib/.git/config [core]\n\thooksPath = x\n", "write sub/lib/.git/hooks/pre-push evil", "write .git/modules/m/hooks/x evil", "write .git/modules/m/config [core]\n\tsshCommand = x\n"}, "sub/lib/.git/config is as it was before", nil},
		{"a repository removed", []string{"remove sub/lib"}, "", []string{"- sub/lib/.git/HEAD", "- sub/lib/.git/config", "- sub/lib/.git/hooks/post-merge"}},
		{"a repository moved", []string{"move sub/lib lib"}, "", []string{"- sub/lib/.git/HEAD", "- sub/lib/.git/config", "- sub/lib/.git/hooks/post-merge", "lib/.git/HEAD", "lib/.git/config", "lib/.git/hooks/post-merge"}},
		{"a new repository", []string{"write new/.git/HEAD ref", "write new/.git/objects/x o", "write new/.git/refs/x o", "write new/.git/hooks/pre-commit evil"}, "new/.git is a new repository", nil},
		{"a repository to come", []string{"write new/.git/hooks/pre-commit evil"}, "new/.git is a new repository", nil},
		{"a bare repository", []string{"write a/b/HEAD evil", "write a/b/objects/x o", "write a/b/refs/x o", "write a/b/config runs"}, "a/b/HEAD made a repository of its folder", []string{"a/b/config", "a/b/objects/x", "a/b/refs/x"}},
		{"the workspace as a repository", []string{"write HEAD evil", "write objects/x o", "write refs/x o"}, "HEAD made a repository of its folder", []string{"objects/x", "refs/x"}},
		{"a repository in a repository", []string{"write .git/objects/ab/HEAD evil", "write .git/objects/ab/commondir ../x"}, ".git/objects/ab/HEAD made", []string{".git/objects/ab/commondir"}},
		{"a repository in packages", []string{"write node_modules/a/.git/HEAD evil", "write node_modules/a/.git/objects/x o", "write node_modules/a/.git/refs/x o"}, "node_modules/a/.git is a new", nil},
		{"settings in packages", []string{"write node_modules/a/.vscode/settings.json evil"}, "node_modules/a/.vscode is a name that other programs trust", nil},
		{"a link to settings in packages", []string{"write node_modules/a/.vscode/settings.json evil", "link a node_modules/a"}, "node_modules/a/.vscode is a name that other programs trust", []string{"a"}},
		{"a folder moved into packages", []string{"write node_modules/x x", "move deep node_modules/deep", "write node_modules/deep/.envrc evil", "link deep node_modules/deep"}, "node_modules/deep/.envrc is a name that other programs trust", []string{"node_modules/x", "deep", "node_modules/deep/.vscode/tasks.json", "- deep/.vscode/tasks.json"}},
		{"a folder moved and changed, and a link for it", []string{"move deep other", "link deep other", "write other/.vscode/tasks.json evil"}, "other/.vscode/tasks.json is as it was before", []string{"deep", "other/.vscode/tasks.json", "- deep/.vscode/tasks.json"}},
		{"a repository moved, and a link for it", []string{"move sub/lib lib", "link sub/lib ../lib", "write lib/.git/config evil"}, "lib/.git/config is as it was before", []string{"sub/lib", "- sub/lib/.git/HEAD", "- sub/lib/.git/config", "- sub/lib/.git/hooks/post-merge", "lib/.git/HEAD", "lib/.git/config", "lib/.git/hooks/post-merge"}},
		{"version managers and agents", []string{"write a/.tool-versions evil", "write a/mise.toml evil", "write a/.cargo/config.toml evil", "write .gemini/settings.json evil"}, "a/.tool-versions is a name", nil},
		{"services that run what is pushed", []string{"write .gitlab-ci.yml evil", "write .forgejo/workflows/a.yml evil"}, ".gitlab-ci.yml is a name", nil},
		{"a name with letters that some systems ignore", []string{"write a/.g\u200cit/config evil", "write .VSCODE\u200d/tasks.json evil", "write .envrc. evil"}, "is a new repository", nil},
		{"a name with a line end", []string{"write a\nb/.envrc evil"}, `"a\nb/.envrc" is a name that other programs trust`, nil},
		{"less known version control", []string{"write x/_darcs/prefs/defaults evil", "write y/.sl/config evil"}, "x/_darcs is a new repository", nil},
		{"a file for a work tree", []string{"write .git/worktrees/t/HEAD evil", "write .git/worktrees/t/commondir ../..\n", "write t/.git gitdir: ../.git/worktrees/t evil\n"}, "t/.git is a name that other programs trust", []string{".git/worktrees/t/commondir"}},
		{"a file for a repository", []string{"write sub/x/.git gitdir: ../evil"}, "sub/x/.git is a name that other programs trust", nil},
		{"a link for a repository", []string{"write evil/HEAD evil", "write evil/objects/x o", "write evil/refs/x o", "link x ."}, "evil/HEAD made", []string{"evil/objects/x", "evil/refs/x", "x"}},
		{"old remotes", []string{"write .git/remotes/origin URL: evil"}, ".git/remotes is a name", nil},
		{"steps of a rebase", []string{"write .git/rebase-merge/git-rebase-todo exec evil"}, ".git/rebase-merge is a name", nil},
		{"other version control", []string{"write x/.hg/hgrc evil", "write .jj/repo/config.toml evil"}, "x/.hg is a new repository", nil},
		{"neighbours of settings", []string{
			"write lefthook-local.yml evil", "write a/lefthook.toml evil", "write mise.local.toml evil", "write .config/mise/config.toml evil", "write .config/mise.toml evil", "write opencode.json evil", "write .github/actions/x/action.yml evil",
		}, "lefthook-local.yml is a name that other programs trust", nil},
		{"more neighbours of settings", []string{
			"write .vim/plugin/x.vim evil", "write .lvimrc evil", "write .yarnrc evil", "write .pnpmfile.mjs evil", "write Jenkinsfile evil", "write azure-pipelines-nightly.yml evil", "write .drone.star evil", "write .npmrc evil",
		}, ".vim is a name that other programs trust", nil},
		{"an .env beside an .envrc", []string{"write direnv/.env evil", "write direnv/.direnv/x evil"}, "direnv/.env is a name that other programs trust", nil},
		{"an .env of the project", []string{"write app/.env mine"}, "", []string{"app/.env"}},
		{"settings in folders", []string{"write a/b/.vscode/tasks.json evil", "write a/.envrc evil", "write a/.ENVRC evil", "write .github/workflows/x.yml evil"}, "a/b/.vscode is a name that other programs trust", nil},
		{"a folder with settings removed", []string{"remove deep"}, "", []string{"- deep/.vscode/tasks.json"}},
		{"a folder with settings moved", []string{"move deep other"}, "", []string{"- deep/.vscode/tasks.json", "other/.vscode/tasks.json"}},
		{"a folder with settings moved and changed", []string{"move deep other", "write other/.vscode/tasks.json evil"}, "other/.vscode/tasks.json is as it was before", []string{"- deep/.vscode/tasks.json", "other/.vscode/tasks.json"}},
		{"names like those that are moved aside", func() (list []string) {
			for i := range 1001 {
				list = append(list, fmt.Sprintf("write etui-aside-%d-etui.yaml x", i))
			}
			return append(list, "write etui.yaml evil")
		}(), "etui.yaml is as it was before", nil},
		{"a folder far down and many before it", func() (list []string) {
			for i := range 300 {
				list = append(list, fmt.Sprintf("write n%d/x x", i))
			}
			return append(list, "write z/y/x/w/v/.envrc evil")
		}(), "z/y/x/w/v/.envrc is a name", nil},
		{"many", func() (list []string) {
			for i := range 150 {
				list = append(list, "write skills/"+strings.Repeat("x", i+1)+".yaml evil")
			}
			return list
		}(), "skills was changed; it is etui-aside-", nil},
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
				if now, ok := after[name]; guarded && now != before[name] {
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

// TestAnotherFolder: the guard looks after the folder that it opened, also if another one
// takes its place.
func TestAnotherFolder(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, nil)
	other := t.TempDir()
	w.must(errors.Join(os.Mkdir(other+"/a", 0o755), os.WriteFile(other+"/a/.envrc", []byte("theirs"), 0o644)))
	if _, err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	w.write(map[string]string{"a/.envrc": "evil", "b/.envrc": "evil"})
	w.must(os.Rename(w.dir, w.dir+".away"))
	w.must(os.Symlink(other, w.dir))
	done := w.End()
	if text, err := os.ReadFile(other + "/a/.envrc"); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(w.dir + ".away/" + name + "/.envrc"); err == nil {
			t.Errorf("%s/.envrc is there: %v", name, done)
		}
	}
}

// TestLinkedWorkspace: a workspace that is configured by a link is searched as any other.
func TestLinkedWorkspace(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, nil)
	link := filepath.Join(t.TempDir(), "link")
	w.must(os.Symlink(w.dir, link))
	g, err := protect.New(protect.Config{Dir: link, Mode: sandbox.Landlock})
	w.must(err)
	defer g.Close()
	if _, err := g.Begin(); err != nil {
		t.Fatal(err)
	}
	w.write(map[string]string{"a/.envrc": "evil"})
	_ = g.End()
	if text, there := w.files()["a/.envrc"]; there {
		t.Errorf("a/.envrc is %q", text)
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

// TestDisorder: if something cannot be restored, a file outside of the workspace says so.
func TestDisorder(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "a", "disorder")
	if err := os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := protect.New(protect.Config{Dir: dir, Names: []string{filepath.Join(dir, "etui.yaml")}, Disorder: file, Mode: sandbox.Landlock})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if done := strings.Join(g.End(), "\n"); !strings.Contains(done, "Not everything could be restored") {
		t.Error(done)
	}
	if text, err := os.ReadFile(file); !strings.Contains(string(text), "etui.yaml") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := g.Begin(); err == nil {
		t.Error("another command may run")
	}
}

// TestKeepNew: if the configuration says so, new names stay, and what existed is restored
// all the same.
func TestKeepNew(t *testing.T) {
	w := newWorkspace(t, sandbox.Landlock, map[string]string{".git/HEAD": "ref", ".git/config": "mine", ".github/workflows/a.yml": "mine"})
	g, err := protect.New(protect.Config{Dir: w.dir, Names: []string{w.path("etui.yaml"), w.path(".claude/skills")}, KeepNew: true, Mode: sandbox.Landlock})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Begin(); err != nil {
		t.Fatal(err)
	}
	w.write(map[string]string{
		"new/.git/HEAD": "ref", "new/.git/hooks/x": "x", ".envrc": "x", ".github/workflows/b.yml": "x", ".claude/settings.json": "x",
		".git/config": "evil", ".git/hooks/x": "evil", ".github/workflows/a.yml": "evil", "etui.yaml": "evil", ".claude/skills/x.yaml": "evil",
	})
	g.End()
	for name, text := range w.files() {
		if text == "evil" {
			t.Errorf("%s is there", name)
		}
	}
	for _, name := range []string{"new/.git/hooks/x", ".envrc", ".github/workflows/b.yml", ".claude/settings.json"} {
		if w.files()[name] != "x" {
			t.Errorf("%s was moved aside", name)
		}
	}
}

// BenchmarkGuard is what the guard adds to a command, without and with a journal on the disk,
// in a workspace of 300 folders with
// one repository and one below.
func BenchmarkGuard(b *testing.B) {
	dir := b.TempDir()
	for i := range 300 {
		name := filepath.Join(dir, fmt.Sprintf("a%d/b%d", i%17, i))
		if err := errors.Join(os.MkdirAll(name, 0o755), os.WriteFile(filepath.Join(name, "x"), nil, 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	for _, git := range []string{".git", "a1/.git"} {
		for _, name := range []string{"HEAD", "config", "objects/ab/x", "refs/x", "hooks/a.sample", "hooks/b.sample"} {
			file := filepath.Join(dir, git, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
				b.Fatal(err)
			}
		}
	}
	time.Sleep(1100 * time.Millisecond) // folders that were just made are read again
	for name, journal := range map[string]string{"memory": "", "journal": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			g, err := protect.New(protect.Config{Dir: dir, Mode: sandbox.Landlock, Journal: journal})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			for b.Loop() {
				if _, err := g.Begin(); err != nil {
					b.Fatal(err)
				}
				g.End()
			}
		})
	}
}

// TestSecondNameInSealedFolder: a file in a sealed folder that can be changed by another name
// is put back, and not used meanwhile.
func TestSecondNameInSealedFolder(t *testing.T) {
	for _, name := range []string{"skills/a/run.sh", ".vscode/tasks.json", ".git/hooks/pre-commit"} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, sandbox.Strong, map[string]string{name: "good", ".git/HEAD": "ref", "skills/b.yaml": "good"})
			aside := w.path("aside") // where a person puts it, and from where it comes back
			w.must(os.Rename(w.path(name), aside))
			w.must(os.Link(aside, w.path("other")))
			w.must(os.Rename(aside, w.path(name)))
			sealed, err := w.Begin()
			folder := w.path(filepath.Dir(name))
			if err != nil || !slices.ContainsFunc(sealed, func(s string) bool { return strings.HasPrefix(folder+"/", s+"/") }) {
				t.Fatal(sealed, err)
			}
			if w.Steady(w.path("skills"))() == strings.HasPrefix(name, "skills/") {
				t.Error("skills that can be changed are read, or others are not")
			}
			w.must(os.WriteFile(w.path("other"), []byte("evil"), 0o644))
			if done := w.End(); len(done) == 0 || w.files()[name] != "good" || w.files()["skills/b.yaml"] != "good" {
				t.Errorf("it says %q, and there are %v", done, w.files())
			}
			if _, err := w.Begin(); err != nil {
				t.Fatal(err)
			}
			w.must(os.WriteFile(w.path("other"), []byte("evil again"), 0o644)) // now another file
			if done := w.End(); len(done) != 0 || w.files()[name] != "good" {
				t.Errorf("it says %q, and there are %v", done, w.files())
			}
		})
	}
}
