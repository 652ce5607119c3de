package memory_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/memory"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, "memory", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, s *memory.Store, at time.Time) *memory.Memory {
	t.Helper()
	m, err := s.Load(at)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	s := memory.New(dir)
	if m := load(t, s, now); m.LongTerm != "" || len(m.Notes) != 0 {
		t.Errorf("an empty workspace remembers %+v", m)
	}
	write(t, dir, "MEMORY.md", "always")
	write(t, dir, "202602/20260228.md", "yesterday, in another month")
	write(t, dir, "202603/20260301.md", "today")
	m := load(t, s, now)
	if m.LongTerm != "always" {
		t.Errorf("MEMORY.md is %q", m.LongTerm)
	}
	want := []memory.Note{{Day: "2026-02-28", Text: "yesterday, in another month"}, {Day: "2026-03-01", Text: "today"}}
	if !slices.Equal(m.Notes, want) {
		t.Errorf("notes %v, want %v", m.Notes, want)
	}
	if load(t, s, now) != m {
		t.Error("nothing changed, and it was read again")
	}
	tomorrow := load(t, s, now.AddDate(0, 0, 1))
	if len(tomorrow.Notes) != 1 {
		t.Fatalf("len(tomorrow.Notes) = %v, want 1: %+v", len(tomorrow.Notes), tomorrow.Notes)
	}
	if tomorrow.Notes[0].Text != "today" {
		t.Errorf("tomorrow.Notes[0].Text = %q, want %q", tomorrow.Notes[0].Text, "today")
	}
}

func TestLongAndLinkedFiles(t *testing.T) {
	dir := t.TempDir()
	s := memory.New(dir)
	path := write(t, dir, "MEMORY.md", strings.Repeat("x", memory.MaxFile+10))
	if m := load(t, s, now); len(m.LongTerm) > memory.MaxFile+100 || !strings.Contains(m.LongTerm, "cut") {
		t.Errorf("%d bytes are remembered", len(m.LongTerm))
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	if m := load(t, s, now); m.LongTerm != "" {
		t.Errorf("a link out of the workspace was read: %q", m.LongTerm)
	}
	elsewhere := t.TempDir()
	write(t, elsewhere, "MEMORY.md", "secret")
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "memory")), os.Symlink(filepath.Join(elsewhere, "memory"), filepath.Join(dir, "memory"))); err != nil {
		t.Fatal(err)
	}
	if m := load(t, s, now); m.LongTerm != "" {
		t.Errorf("a folder out of the workspace was read: %q", m.LongTerm)
	}
}
