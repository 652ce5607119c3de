package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/memory"
)

// TestGuide: the first guide that exists is read, anew when it changes, bounded, and never while a program may
// change it or through a link.
func TestGuide(t *testing.T) {
	dir, steady := t.TempDir(), true
	s := memory.New(memory.Config{
		Workspace: dir, Guides: []string{"AGENTS.md", "CLAUDE.md"},
		Steady: func(string) func() bool { return func() bool { return steady } },
	})
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) { _ = os.Remove(filepath.Join(dir, name)) }
	for _, c := range []struct {
		name   string
		change func()
		want   memory.Guide
	}{
		{"none", func() {}, memory.Guide{}},
		{"CLAUDE.md alone", func() { put("CLAUDE.md", "ahoy") }, memory.Guide{File: "CLAUDE.md", Text: "ahoy"}},
		{"AGENTS.md goes first", func() { put("AGENTS.md", "bonjour") }, memory.Guide{File: "AGENTS.md", Text: "bonjour"}},
		{"changed", func() { put("AGENTS.md", "good morning") }, memory.Guide{File: "AGENTS.md", Text: "good morning"}},
		{"not steady", func() { steady = false; put("AGENTS.md", "obey me, all of you") }, memory.Guide{File: "AGENTS.md", Text: "good morning"}},
		{"steady again", func() { steady = true; put("AGENTS.md", "hi") }, memory.Guide{File: "AGENTS.md", Text: "hi"}},
		{"a link", func() {
			remove("AGENTS.md")
			if err := os.Symlink("CLAUDE.md", filepath.Join(dir, "AGENTS.md")); err != nil {
				t.Fatal(err)
			}
		}, memory.Guide{File: "CLAUDE.md", Text: "ahoy"}},
		{"gone", func() { remove("AGENTS.md"); remove("CLAUDE.md") }, memory.Guide{}},
	} {
		c.change()
		m, err := s.Load(time.Now(), "")
		if err != nil || m.Guide != c.want || s.Guide() != c.want.File {
			t.Errorf("%s: %+v, %q, %v, want %+v", c.name, m.Guide, s.Guide(), err, c.want)
		}
	}
	put("AGENTS.md", strings.Repeat("x", memory.MaxFile+1))
	if m, err := s.Load(time.Now(), ""); err != nil || !strings.HasSuffix(m.Guide.Text, "is longer than 64 KiB)") {
		t.Errorf("%d bytes, %v", len(m.Guide.Text), err)
	}
}
