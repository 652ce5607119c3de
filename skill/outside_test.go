//go:build unix

package skill_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/etui-run/etui/skill"
)

// TestOutside: nothing outside the workspace is read, and nothing waits.
func TestOutside(t *testing.T) {
	base := t.TempDir()
	ws, dir := filepath.Join(base, "ws"), filepath.Join(base, "ws", "skills")
	put(t, base, "out", "secret.yaml", yamlOf("secret", "SECRET"))
	put(t, base, "out", "pack", "SKILL.md", "SECRET")
	put(t, ws, "shared", "in.yaml", yamlOf("in", "1"))
	put(t, ws, "shared", "pack", "SKILL.md", "2")
	put(t, dir, "big.yaml", strings.Repeat("#", 300<<10))
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("../../out/secret.yaml", "relative.yaml")
	link(filepath.Join(base, "out", "secret.yaml"), "absolute.yaml")
	link("../../out/pack", "pack")
	link("/proc/self/environ", "environ.yaml")
	link("/dev/zero", "zero.yaml")
	link("nothing.yaml", "dangling.yaml")
	link("../shared/in.yaml", "in.yaml")
	link(filepath.Join(ws, "shared", "pack"), "inside")
	link(".", "loop")
	put(t, ws, "notes.md", "SECRET")
	for name, target := range map[string]string{
		"linked": "../own/SKILL.md", "absolute": filepath.Join(dir, "own", "SKILL.md"), "leaves": "../../../out/pack/SKILL.md", "notes": "../../notes.md", "dangles": "nothing.md", "folder": "../own",
	} {
		put(t, dir, name, "script.sh", "echo")
		link(target, filepath.Join(name, "SKILL.md"))
	}
	put(t, dir, "own", "SKILL.md", "3")
	if err := os.Link(filepath.Join(base, "out", "secret.yaml"), filepath.Join(dir, "hard.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	table := skill.NewTable(nil)
	r := skill.NewLoader(table, config(ws)).Load(t.Context())
	if got, want := list(table), "absolute=3 in=1 inside=2 linked=3 own=3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var files []string
	for _, p := range r.Problems {
		files = append(files, filepath.Base(p.File))
		if strings.Contains(p.Error(), "SECRET") {
			t.Errorf("it tells what is outside: %v", p)
		}
	}
	want := []string{"absolute.yaml", "big.yaml", "SKILL.md", "dangling.yaml", "environ.yaml", "folder.yaml", "SKILL.md", "hard.yaml", "SKILL.md", "SKILL.md", "pack", "pipe.yaml", "relative.yaml", "zero.yaml"}
	if !slices.Equal(files, want) {
		t.Errorf("got  %s\nwant %s", files, want)
	}

	for _, root := range []skill.Root{
		{Dir: "../out", Within: ws}, {Dir: filepath.Join(base, "out"), Within: ws}, {Dir: "/nowhere", Within: ws}, {Dir: "elsewhere", Within: ws},
	} {
		_ = os.Symlink("../out", filepath.Join(ws, "elsewhere"))
		c := config(ws)
		c.Roots = []skill.Root{root}
		r := skill.NewLoader(skill.NewTable(nil), c).Load(t.Context())
		if len(r.Loaded) > 0 {
			t.Errorf("%s: loaded %v, want nothing", root.Dir, r.Loaded)
		}
		if len(r.Problems) != 1 {
			t.Fatalf("%s: len(r.Problems) = %d, want 1: %v", root.Dir, len(r.Problems), r.Problems)
		}
		if !strings.Contains(r.Problems[0].Message, "outside") {
			t.Errorf("%s: r.Problems[0].Message = %q, want %q in it", root.Dir, r.Problems[0].Message, "outside")
		}
	}
	c := config(ws)
	c.Roots = []skill.Root{{Dir: filepath.Join(base, "out"), Scope: skill.Global}}
	if r := skill.NewLoader(skill.NewTable(nil), c).Load(t.Context()); len(r.Loaded) != 1 || len(r.Problems) != 1 { // the one with a hard link
		t.Errorf("a global root: %+v", r)
	}
}
