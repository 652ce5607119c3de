package sqlite_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/store/storetest"
	"github.com/etui-run/etui/usage"
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
	storetest.Test(t, func(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "state", "etui.db")) })
}

func TestFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "etui.db")
	if err := open(t, path).Append(t.Context(), "k", session.State{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + "-wal", path + "-shm", filepath.Dir(path)} {
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
	made := func(t *testing.T, path string) {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Append(t.Context(), "k", session.State{}), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		make func(t *testing.T, path string)
		says string
	}{
		"no database": {func(t *testing.T, path string) { write(t, path, strings.Repeat("not a database ", 100)) }, "damaged or no database"},
		"short text":  {func(t *testing.T, path string) { write(t, path, "hello") }, "damaged or no database"},
		"cut off": {func(t *testing.T, path string) {
			made(t, path)
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		"scribbled on": {func(t *testing.T, path string) {
			made(t, path)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, string(raw[:200])+strings.Repeat("x", len(raw)-200))
		}, "damaged"},
		"another program's":              {func(t *testing.T, path string) { sql(t, path, "CREATE TABLE other (x); PRAGMA application_id=7") }, "another program's"},
		"another program's without mark": {func(t *testing.T, path string) { sql(t, path, "CREATE TABLE sessions (key)") }, "another program's"},
		"another program's and empty":    {func(t *testing.T, path string) { sql(t, path, "PRAGMA user_version=3") }, "another program's"},
		"another program's, with a log":  {func(t *testing.T, path string) { sql(t, path, "PRAGMA journal_mode=wal; CREATE TABLE other (x)") }, "another program's"},
		"newer": {func(t *testing.T, path string) {
			made(t, path)
			sql(t, path, "PRAGMA user_version=99")
		}, "newer etui"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "must be writable"},
		"below a file": {func(t *testing.T, path string) {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Dir(path), "x")
		}, "making the state folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "etui.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			c.make(t, path)
			before, _ := os.ReadFile(path)
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				_, err = s.List(t.Context(), session.Filter{})
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), filepath.Dir(path)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Open: %v; want it to say %q and name the file", err, c.says)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestReadOnly: a file or folder that cannot be written is said, not half used.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 { // root may write everything: the test runs as another user
		asOrdinaryUser(t)
		return
	}
	for name, modes := range map[string][2]os.FileMode{"file": {0o400, 0o700}, "folder": {0o600, 0o500}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "etui.db")
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Close(), os.Chmod(path, modes[0]), os.Chmod(filepath.Dir(path), modes[1])); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
			if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "must be writable") {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// asOrdinaryUser runs the test that calls it again in a process of the user nobody.
func asOrdinaryUser(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "tests")
	if out, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

// TestLocked: another program that holds the file is waited for, and then told of.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etui.db")
	s := open(t, path)
	if err := sqlite.WaitFor(s, 50); err != nil {
		t.Fatal(err)
	}
	err := sqlite.Lock(path, func() {
		if err := s.Append(t.Context(), "k", session.State{}); err == nil || !strings.Contains(err.Error(), "another program holds the file") {
			t.Errorf("Append: %v", err)
		}
		if _, err := s.Load(t.Context(), "k", 0); err != nil {
			t.Errorf("Load: %v, though readers wait for nobody", err)
		}
		if err := sqlite.WaitFor(s, 60_000); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := s.Append(ctx, "k", session.State{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Append with a deadline: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "k", session.State{}); err != nil {
		t.Errorf("Append when the file is free again: %v", err)
	}
}

// TestOpenAtOnce: whoever comes first makes the file, the others find it made.
func TestOpenAtOnce(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "state", "etui.db")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				s, err := sqlite.Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(s.Append(t.Context(), session.Key(fmt.Sprint(i)), session.State{}), s.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if list, err := open(t, path).List(t.Context(), session.Filter{}); err != nil || len(list) != 8 {
			t.Errorf("%d sessions, %v", len(list), err)
		}
	}
}

// TestFirstVersion opens files that etui wrote when it had this schema for the first time. It
// refuses older ones.
func TestFirstVersion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"etui.db", "calls.db", "usage.db"} {
		packed, err := os.Open(filepath.Join("testdata", name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		text, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, filepath.Join(dir, "etui.db"))
	storetest.Filled(t, s, "ann")
	storetest.Fill(t, s, "bob")
	storetest.Filled(t, s, "bob")
	always := sqlite.Limits{Most: 100, Age: 100 * 365 * 24 * time.Hour}
	calls := sqlite.NewCalls(filepath.Join(dir, "calls.db"), always)
	defer calls.Close()
	if err := calls.Add(t.Context(), audit.Record{Time: time.Now(), Skill: "weather", User: "bob", Outcome: audit.OK}); err != nil {
		t.Error(err)
	}
	if v, err := calls.Verify(t.Context(), nil); err != nil || !v.Unbroken || v.Records != 3 {
		t.Errorf("the audit is %+v, %v", v, err)
	}
	turns, err := sqlite.OpenUsage(t.Context(), filepath.Join(dir, "usage.db"), always)
	if err != nil {
		t.Fatal(err)
	}
	defer turns.Close()
	if err := turns.Add(t.Context(), usage.Turn{Time: time.Now(), Agent: "main", User: "bob", Text: "ho"}); err != nil {
		t.Error(err)
	}
	if list, err := turns.List(t.Context(), usage.Filter{Agent: "main"}); err != nil || len(list) != 2 {
		t.Errorf("the turns are %+v, %v", list, err)
	}
	old := filepath.Join(dir, "old.db")
	sql(t, old, `CREATE TABLE sessions (key TEXT); PRAGMA application_id=1702131049; PRAGMA user_version=3`)
	if _, err := sqlite.Open(t.Context(), old); err == nil || !strings.Contains(err.Error(), "before the first release (version 3") {
		t.Errorf("an older file: %v", err)
	}
}

// TestDeleteTakesMessages, not only the session's row.
func TestDeleteTakesMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etui.db")
	s := open(t, path)
	if err := errors.Join(s.Append(t.Context(), "k", session.State{}, chat.Message{Text: "x"}), s.Delete(t.Context(), "k")); err != nil {
		t.Fatal(err)
	}
	if got, err := sqlite.Query(path, `SELECT count(*) FROM messages`); err != nil || got != "0" {
		t.Errorf("%s messages are left, %v", got, err)
	}
}

func TestCancelledAppendStoresNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, "k", session.State{}, chat.Message{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Append: %v", err)
	}
	if list, err := s.List(t.Context(), session.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("List: %v, %v", list, err)
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
	if err != nil {
		t.Fatal(err)
	}
	if got.Skill != "before" {
		t.Errorf("got.Skill = %q, want %q", got.Skill, "before")
	}
	if len(got.Messages) != 1 {
		t.Fatalf("len(got.Messages) = %v, want 1: %+v", len(got.Messages), got.Messages)
	}
}

func TestLimits(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	ok := chat.Message{Text: "x"}
	if err := s.Append(t.Context(), "k", session.State{}, ok, chat.Message{Text: strings.Repeat("x", 9<<20)}); err == nil || !strings.Contains(err.Error(), "8388608") {
		t.Errorf("a message of 9 MiB: %v", err)
	}
	if list, err := s.List(t.Context(), session.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("List: %v, %v", list, err)
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

// TestNothingIsLeft: what is deleted, erased or swept is gone from the file and its journal,
// so that no copy of the file has it.
func TestNothingIsLeft(t *testing.T) {
	const word = "Zanzibar-7421"
	for name, remove := range map[string]func(*sqlite.Store) error{
		"delete": func(s *sqlite.Store) error { return s.Delete(t.Context(), "k") },
		"erase": func(s *sqlite.Store) error {
			_, err := s.Erase(t.Context(), "k", session.State{}, "ann")
			return err
		},
		"erase an item": func(s *sqlite.Store) error { // of a message that never became a part of the session
			i, _, err := s.Accept(t.Context(), store.Item{Session: "i", User: "ann", Message: []byte(`"` + word + `"`)})
			if err != nil {
				return err
			}
			i.State = store.Parked
			if err := errors.Join(s.Update(t.Context(), i), s.Delete(t.Context(), "k")); err != nil {
				return err
			}
			_, err = s.Erase(t.Context(), "i", session.State{}, "ann")
			return err
		},
		"sweep": func(s *sqlite.Store) error {
			_, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), 10)
			return err
		},
	} {
		path := filepath.Join(t.TempDir(), "etui.db")
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 50 { // many pages
			if err := s.Append(t.Context(), "k", session.State{Summary: word}, chat.Message{Role: chat.User, User: "ann", Text: strings.Repeat(word+" ", 100)}); err != nil {
				t.Fatal(err)
			}
		}
		found := func() int {
			n := 0
			for _, suffix := range []string{"", "-wal"} {
				raw, err := os.ReadFile(path + suffix)
				if err != nil {
					t.Fatal(err)
				}
				n += bytes.Count(raw, []byte(word))
			}
			return n
		}
		if found() == 0 {
			t.Fatalf("%s: the file has no message to begin with", name)
		}
		if err := remove(s); err != nil {
			t.Fatal(err)
		}
		if n := found(); n > 0 {
			t.Errorf("%s: the word is still there %d times", name, n)
		}
	}
}

// TestWritersTogether: writers that come at once share a commit, and of these one that
// fails is undone alone.
func TestWritersTogether(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			key := session.Key(fmt.Sprint(i))
			end := store.End{ID: 1000, Session: key, Messages: []chat.Message{{Role: chat.User, Text: "undone"}}}
			if i%3 == 0 {
				if err := s.Finish(t.Context(), end); !errors.Is(err, store.ErrEnded) {
					t.Errorf("an item that there is not: %v", err)
				}
			} else if err := s.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: "kept"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 200 {
		got, err := s.Load(t.Context(), session.Key(fmt.Sprint(i)), 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 0, false: 1}[i%3 == 0]; len(got.Messages) != want {
			t.Errorf("session %d has %d messages, want %d", i, len(got.Messages), want)
		}
	}
}

// TestPanicIsTheCallersOwn: writers share transactions, but not their panics.
func TestPanicIsTheCallersOwn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			var got any
			func() {
				defer func() { got = recover() }()
				if err := s.Change(t.Context(), "kind", fmt.Sprint(i), func(json.RawMessage) (json.RawMessage, error) {
					if i%3 == 0 {
						panic(i)
					}
					return json.RawMessage("1"), nil
				}); err != nil {
					t.Error(err)
				}
			}()
			if p, ok := got.(*panics.Error); ok != (i%3 == 0) || ok && p.Value != i {
				t.Errorf("writer %d panicked with %v", i, got)
			}
		})
	}
	all.Wait()
	list, err := s.Records(t.Context(), "kind")
	if err != nil || len(list) != 40 {
		t.Errorf("%d records, want 40: %v", len(list), err)
	}
}
