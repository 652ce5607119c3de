package memory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	m, err := s.Load(at, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	s := memory.New(memory.Config{Workspace: dir, Days: 2})
	if m := load(t, s, now); m.Shared.LongTerm != "" || len(m.Shared.Notes) != 0 {
		t.Errorf("an empty workspace remembers %+v", m)
	}
	write(t, dir, "MEMORY.md", "always")
	write(t, dir, "202602/20260228.md", "yesterday, in another month")
	write(t, dir, "202603/20260301.md", "today")
	m := load(t, s, now)
	if m.Shared.LongTerm != "always" {
		t.Errorf("MEMORY.md is %q", m.Shared.LongTerm)
	}
	want := []memory.Note{{Day: "2026-02-28", Text: "yesterday, in another month"}, {Day: "2026-03-01", Text: "today"}}
	if !slices.Equal(m.Shared.Notes, want) {
		t.Errorf("notes %v, want %v", m.Shared.Notes, want)
	}
	if load(t, s, now) != m {
		t.Error("nothing changed, and it was read again")
	}
	tomorrow := load(t, s, now.AddDate(0, 0, 1))
	if len(tomorrow.Shared.Notes) != 1 {
		t.Fatalf("len(tomorrow.Shared.Notes) = %v, want 1: %+v", len(tomorrow.Shared.Notes), tomorrow.Shared.Notes)
	}
	if tomorrow.Shared.Notes[0].Text != "today" {
		t.Errorf("tomorrow.Shared.Notes[0].Text = %q, want %q", tomorrow.Shared.Notes[0].Text, "today")
	}
}

func TestLongAndLinkedFiles(t *testing.T) {
	dir := t.TempDir()
	s := memory.New(memory.Config{Workspace: dir, Days: 2})
	path := write(t, dir, "MEMORY.md", strings.Repeat("x", memory.MaxFile+10))
	if m := load(t, s, now); len(m.Shared.LongTerm) > memory.MaxFile+100 || !strings.Contains(m.Shared.LongTerm, "cut") {
		t.Errorf("%d bytes are remembered", len(m.Shared.LongTerm))
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
	if m := load(t, s, now); m.Shared.LongTerm != "" {
		t.Errorf("a link out of the workspace was read: %q", m.Shared.LongTerm)
	}
	elsewhere := t.TempDir()
	write(t, elsewhere, "MEMORY.md", "secret")
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "memory")), os.Symlink(filepath.Join(elsewhere, "memory"), filepath.Join(dir, "memory"))); err != nil {
		t.Fatal(err)
	}
	if m := load(t, s, now); m.Shared.LongTerm != "" {
		t.Errorf("a folder out of the workspace was read: %q", m.Shared.LongTerm)
	}
}

// TestOwners: nobody reads what is remembered of another, whatever they are called.
func TestOwners(t *testing.T) {
	dir := t.TempDir()
	s := memory.New(memory.Config{Workspace: dir, Own: filepath.Join(dir, "own")})
	write(t, dir, "MEMORY.md", "for all")
	owners := []string{
		memory.Owner("people", "alice"), memory.Owner("people", "Alice"), memory.Owner("people", "ALICE"), memory.Owner("peers", "alice"),
		memory.Owner("people", ".."), memory.Owner("people", "../people/alice"), memory.Owner("people", "王芳"), memory.Owner("people", "alice/"),
		memory.Owner("groups", "telegram:-100"), memory.Owner("people", strings.Repeat("a", 300)), memory.Owner("people", strings.Repeat("a", 301)), "main",
	}
	for _, owner := range owners {
		if _, err := s.Change(t.Context(), owner, memory.Change{New: "of " + owner}); err != nil {
			t.Fatal(err)
		}
	}
	for _, owner := range owners {
		m, err := s.Load(now, owner)
		if err != nil {
			t.Fatal(err)
		}
		if m.Shared.LongTerm != "for all" {
			t.Errorf("%s reads %q, which is for all", owner, m.Shared.LongTerm)
		}
		if want := "of " + owner + "\n"; m.Own.LongTerm != want {
			t.Errorf("%s remembers %q, want %q", owner, m.Own.LongTerm, want)
		}
	}
	if m := load(t, s, now); m.Own.LongTerm != "" {
		t.Errorf("nobody remembers %q", m.Own.LongTerm)
	}
	for owner, want := range map[string]string{"": memory.ErrNobody.Error(), "../out": "no owner"} {
		if _, err := s.Change(t.Context(), owner, memory.Change{New: "x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", owner, err, want)
		}
	}
	if found, err := s.Forget(t.Context(), owners[0]); !found || err != nil {
		t.Errorf("forgetting alice: %v, %v", found, err)
	}
	if m, err := s.Load(now, owners[0]); err != nil || m.Own.LongTerm != "" {
		t.Errorf("after forgetting: %v, %v", m, err)
	}
}

// TestNoEditIsLost: changes from many places at once, and an editor's, are all there.
func TestNoEditIsLost(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	s := memory.New(memory.Config{Own: own})
	base, err := s.Change(t.Context(), "main", memory.Change{New: "first"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			other := memory.New(memory.Config{Own: own}) // as another process has it
			if _, err := other.Change(t.Context(), "main", memory.Change{New: fmt.Sprintf("fact %d.", i)}); err != nil {
				t.Error(err)
			}
			if err := other.Note(t.Context(), "main", now, fmt.Sprintf("note %d.", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := s.StoreEdit(t.Context(), "main", base, "edited\n"); err != nil {
		t.Fatal(err)
	}
	m, err := s.Load(now, "main")
	if err != nil || len(m.Own.Notes) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if !strings.HasPrefix(m.Own.LongTerm, "edited\n") || strings.Contains(m.Own.LongTerm, "first") {
		t.Errorf("the editor's text is lost:\n%s", m.Own.LongTerm)
	}
	for i := range 20 {
		if !strings.Contains(m.Own.LongTerm, fmt.Sprintf("fact %d.\n", i)) || !strings.Contains(m.Own.Notes[0].Text, fmt.Sprintf("12:00 note %d.\n", i)) {
			t.Errorf("change %d is lost:\n%s\n%s", i, m.Own.LongTerm, m.Own.Notes[0].Text)
		}
	}
}

func TestChange(t *testing.T) {
	s := memory.New(memory.Config{Own: t.TempDir()})
	for _, c := range []struct {
		change     memory.Change
		want, fail string
	}{
		{memory.Change{New: "Likes tea."}, "Likes tea.\n", ""},
		{memory.Change{New: "Lives in Bern."}, "Likes tea.\nLives in Bern.\n", ""},
		{memory.Change{Old: "tea", New: "coffee"}, "Likes coffee.\nLives in Bern.\n", ""},
		{memory.Change{Old: "tea", New: "x"}, "", memory.ErrNoText.Error()},
		{memory.Change{Old: "i", New: "x"}, "", memory.ErrNoText.Error()},
		{memory.Change{New: " \n"}, "", "no text"},
		{memory.Change{New: strings.Repeat("x", memory.MaxEntry+1)}, "", "at most"},
		{memory.Change{New: "\xff"}, "", "UTF-8"},
		{memory.Change{Old: "Likes coffee."}, "Lives in Bern.\n", ""},
	} {
		got, err := s.Change(t.Context(), "main", c.change)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%.40q: %v, want %q", c.change, err, c.fail)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%.40q: %q, %v, want %q", c.change, got, err, c.want)
		}
	}
	var err error
	for err == nil {
		_, err = s.Change(t.Context(), "main", memory.Change{New: strings.Repeat("x", memory.MaxEntry)})
	}
	if !errors.Is(err, memory.ErrFull) {
		t.Errorf("a memory that is full: %v", err)
	}
	if _, err := s.Change(t.Context(), "main", memory.Change{Old: "Lives in Bern.\n"}); err != nil {
		t.Errorf("removing from a full memory: %v", err)
	}
}

// texts are what processes share.
type texts map[string]string

func (s texts) Texts(_ context.Context, owner string, names ...string) (map[string]string, error) {
	found := map[string]string{}
	for name, text := range s {
		if of, ok := strings.CutPrefix(name, owner+" "); ok && (len(names) == 0 || slices.Contains(names, of)) {
			found[of] = text
		}
	}
	return found, nil
}

func (s texts) Change(_ context.Context, owner, name string, change func(string) (string, error)) error {
	text, err := change(s[owner+" "+name])
	if err == nil {
		s[owner+" "+name] = text
	}
	return err
}

func (texts) Forget(context.Context, string) (bool, error) { return false, nil }

// TestMove: the files of several processes become one memory, and are removed.
func TestMove(t *testing.T) {
	shared := texts{}
	s := memory.New(memory.Config{Shared: shared})
	for _, fact := range []string{"a", "b"} {
		dir := t.TempDir()
		own := memory.New(memory.Config{Own: dir})
		for _, text := range []string{"# both\n\nlikes tea", "fact " + fact} {
			if _, err := own.Change(t.Context(), "people/ann", memory.Change{New: text}); err != nil {
				t.Fatal(err)
			}
		}
		if err := own.Note(t.Context(), "main", now, fact); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Move(t.Context(), dir); n != 2 || err != nil {
			t.Errorf("%d files were moved, %v", n, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
		if n, err := s.Move(t.Context(), dir); n != 0 || err != nil {
			t.Errorf("without a folder: %d, %v", n, err)
		}
	}
	want := texts{"people/ann MEMORY.md": "# both\n\nlikes tea\nfact a\nfact b\n", "main 202603/20260301.md": "- 12:00 a\n- 12:00 b\n"}
	if !maps.Equal(shared, want) {
		t.Errorf("they share %q, want %q", shared, want)
	}
	shared["people/ann MEMORY.md"] = strings.Repeat("x", memory.MaxFile+10)
	m, err := s.Load(now, "people/ann")
	if err != nil || len(m.Own.LongTerm) > memory.MaxFile+100 || !strings.Contains(m.Own.LongTerm, "cut") {
		t.Errorf("of a long memory %d bytes are read, %v", len(m.Own.LongTerm), err)
	}
	if text, err := s.StoreEdit(t.Context(), "people/ann", shared["people/ann MEMORY.md"], "short"); text != "short" || err != nil {
		t.Errorf("it is edited to %.10q, %v", text, err)
	}
}

// TestMoveLosesNothing: a memory that people made longer than what is read moves whole, and
// what is no memory stays where it is.
func TestMoveLosesNothing(t *testing.T) {
	dir, shared := t.TempDir(), texts{}
	own := memory.New(memory.Config{Own: dir})
	if _, err := own.Change(t.Context(), "main", memory.Change{New: "x"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("likes tea\n", memory.MaxFile/8)
	other := filepath.Join(dir, "main", "draft.txt")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "main", "MEMORY.md"), []byte(long), 0o600), os.WriteFile(other, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if n, err := memory.New(memory.Config{Shared: shared}).Move(t.Context(), dir); n != 1-i || err != nil {
			t.Errorf("move %d: %d files, %v", i, n, err)
		}
	}
	if got := shared["main MEMORY.md"]; got != long {
		t.Errorf("of %d bytes %d are moved", len(long), len(got))
	}
	if raw, err := os.ReadFile(other); string(raw) != "mine" {
		t.Errorf("what is no memory: %q, %v", raw, err)
	}
}
