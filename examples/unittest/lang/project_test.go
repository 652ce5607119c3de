package lang_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/unittest/lang"
)

func newProject(t *testing.T) *lang.Project {
	t.Helper()
	p := &lang.Project{Root: filepath.Join(t.TempDir(), "root"), Bench: filepath.Join(t.TempDir(), "bench")}
	for _, dir := range []string{p.Root, p.Bench} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSync follows a project: new, changed and removed files, and a mutant that is undone.
func TestSync(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	bench := func(file string) string {
		text, err := os.ReadFile(filepath.Join(p.Bench, file))
		if err != nil {
			return "-"
		}
		return string(text)
	}
	sync := func() {
		t.Helper()
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(p.Root, "a/b.go"), "one")
	put(t, filepath.Join(p.Root, ".git/config"), "secret")
	put(t, filepath.Join(p.Root, "target/x.class"), "kept: there is no pom.xml")
	sync()
	if got := bench("a/b.go") + bench(".git/config") + bench("target/x.class"); got != "one-kept: there is no pom.xml" {
		t.Errorf("the bench has %q", got)
	}
	put(t, filepath.Join(p.Root, "pom.xml"), "")
	put(t, filepath.Join(p.Bench, "made"), "by a command")
	if err := p.Put("a/b.go", []byte("two")); err != nil { // as long as the file itself
		t.Fatal(err)
	}
	if got := bench("a/b.go"); got != "two" {
		t.Errorf("the mutant is %q", got)
	}
	sync()
	if got := bench("a/b.go") + bench("target/x.class") + bench("made"); got != "one-by a command" {
		t.Errorf("the bench has %q", got)
	}
	if err := os.Remove(filepath.Join(p.Root, "a/b.go")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(p.Root, "a/c.go"), "three")
	sync()
	if got := bench("a/b.go") + bench("a/c.go"); got != "-three" {
		t.Errorf("the bench has %q", got)
	}
}

// TestHostileBench has links and pipes where files should be, as a test could leave them.
func TestHostileBench(t *testing.T) {
	t.Parallel()
	p, outside := newProject(t), t.TempDir()
	put(t, filepath.Join(p.Root, "a/b.go"), "one")
	put(t, filepath.Join(outside, "secret"), "secret")
	if err := os.Symlink(outside, filepath.Join(p.Bench, "a")); err != nil {
		t.Fatal(err)
	}
	if err := p.Sync(); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("Sync wrote through a link: %v", err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(p.Bench, "report")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(p.Bench, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"report", "pipe", "a/secret", "../root/a/b.go", "none"} {
		done := make(chan error, 1)
		go func() { _, err := p.Made(file); done <- err }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s was read", file)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s blocks", file)
		}
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	p := &lang.Project{Root: "/project"}
	for file, want := range map[string]string{"a/b.go": "a/b.go", "./a//b.go": "a/b.go", "/project/a.go": "a.go", "../x": "", "/etc/passwd": "", "a/../../x": ""} {
		if got, err := p.Relative(file); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
}
