package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/store/sqlite"
	"github.com/etui-run/etui/internal/store/storetest"
	"github.com/etui-run/etui/session"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) session.Store { return open(t, filepath.Join(t.TempDir(), "state", "etui.db")) })
}

func TestFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "etui.db")
	open(t, path)
	for _, p := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
	}
}

// TestOddPath: a path is a path, whatever it means in a URL.
func TestOddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%20e", "x.db")
	if err := open(t, path).Append(t.Context(), "k", session.State{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	cases := map[string]struct {
		make func(t *testing.T, path string)
		says string
	}{
		"no database": {func(t *testing.T, path string) { write(t, path, strings.Repeat("not a database ", 100)) }, "damaged or no database"},
		"cut off": {func(t *testing.T, path string) {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		"another program's": {func(t *testing.T, path string) { sql(t, path, "CREATE TABLE other (x); PRAGMA application_id=7") }, "another program's"},
		"newer": {func(t *testing.T, path string) {
			open(t, path)
			sql(t, path, "PRAGMA user_version=99")
		}, "newer etui"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "must be writable"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "etui.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				_, err = s.List(t.Context(), 0)
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v; want it to say %q and name the file", err, c.says)
			}
			if after, _ := os.ReadFile(path); name != "newer" && string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etui.db")
	s := open(t, path)
	ctx := t.Context()
	if err := s.Append(ctx, "k", session.State{Skill: "before"}, chat.Message{Role: chat.User, Text: "kept"}); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.LimitPages(s, 12); err != nil {
		t.Fatal(err)
	}
	err := s.Append(ctx, "k", session.State{Skill: "after"}, chat.Message{Role: chat.User, Text: strings.Repeat("x", 1<<20)})
	if err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("Append on a full disk: %v", err)
	}
	got, err := s.Load(ctx, "k", 0)
	if err != nil || got.Skill != "before" || len(got.Messages) != 1 {
		t.Errorf("after the failure: %+v, %v", got, err)
	}
}

func TestLimits(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	if err := s.Append(t.Context(), session.Key(strings.Repeat("k", 513)), session.State{}); err == nil {
		t.Error("a key of 513 bytes was taken")
	}
	if err := s.Append(t.Context(), "k", session.State{}, chat.Message{Text: strings.Repeat("x", 9<<20)}); err == nil {
		t.Error("a message of 9 MiB was taken")
	}
}

// TestKilled kills a process in the middle of its appends: every append that it
// was told of is there, whole and in order.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etui.db")
	if os.Getenv("ETUI_APPEND_TO") != "" {
		appendForever(os.Getenv("ETUI_APPEND_TO"))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "ETUI_APPEND_TO="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for lines := bufio.NewScanner(out); acknowledged < 50 && lines.Scan(); acknowledged++ {
		if lines.Text() != fmt.Sprint(acknowledged) {
			t.Fatalf("the child said %q", lines.Text())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s, err := open(t, path).Load(t.Context(), "k", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Messages) < 2*acknowledged || len(s.Messages)%2 != 0 {
		t.Fatalf("%d messages after %d acknowledged appends of two", len(s.Messages), acknowledged)
	}
	for i, m := range s.Messages {
		if m.Text != fmt.Sprint(i/2) {
			t.Fatalf("message %d is %q", i, m.Text)
		}
	}
}

func appendForever(path string) {
	s, err := sqlite.Open(context.Background(), path)
	for i := 0; err == nil; i++ {
		m := chat.Message{Role: chat.User, Text: fmt.Sprint(i)}
		if err = s.Append(context.Background(), "k", session.State{}, m, m); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sql(t *testing.T, path, statements string) {
	t.Helper()
	if err := sqlite.Exec(path, statements); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "etui.db")
	open(b, path)
	for b.Loop() {
		s, err := sqlite.Open(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendTwo(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "etui.db"))
	m := chat.Message{Role: chat.User, Text: strings.Repeat("hello ", 50)}
	for i := 0; b.Loop(); i++ {
		if err := s.Append(context.Background(), session.Key(fmt.Sprint(i%100)), session.State{}, m, m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad50(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "etui.db"))
	m := chat.Message{Role: chat.User, Text: strings.Repeat("hello ", 50)}
	for range 50 {
		if err := s.Append(context.Background(), "k", session.State{}, m); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.Load(context.Background(), "k", 50); err != nil {
			b.Fatal(err)
		}
	}
}
