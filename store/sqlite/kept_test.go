package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
)

// TestKeptMessages: what stays in memory is what the file has, whatever sessions do
// beside each other: they grow, send less, are removed, begin again and get other keys.
// What a caller does with a loaded session changes no other.
func TestKeptMessages(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := new(store.Memory)
	both := func(do func(s session.Store) error) {
		t.Helper()
		if a, b := do(file), do(want); !errors.Is(a, b) {
			t.Fatalf("the file gives %v, the memory %v", a, b)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	sent := map[session.Key]int{}
	key := func() session.Key { return session.Key(fmt.Sprint("session", r.IntN(4))) }
	for i := range 2000 {
		k := key()
		switch n := r.IntN(100); {
		case n < 60:
			added := 1 + r.IntN(3)
			if sent[k] += added; r.IntN(20) == 0 {
				sent[k] = added + r.IntN(sent[k]-added+1) // the oldest are not sent any more
			}
			var messages []chat.Message
			for j := range added {
				messages = append(messages, chat.Message{Role: chat.User, Text: fmt.Sprintf("%d.%d of %s", i, j, k), Tools: []string{"a"}})
			}
			state := session.State{Sent: sent[k]}
			both(func(s session.Store) error { return s.Append(t.Context(), k, state, messages...) })
		case n < 62:
			sent[k] = 0
			both(func(s session.Store) error { return s.Delete(t.Context(), k) })
		default:
			limit := []int{session.Sent, session.Sent, session.Sent, 0, 1, 5}[r.IntN(6)]
			got, err := file.Load(t.Context(), k, limit)
			if err != nil {
				t.Fatal(err)
			}
			expected, _ := want.Load(t.Context(), k, limit)
			if a, b := text(t, got), text(t, expected); a != b {
				t.Fatalf("step %d, %s with limit %d:\n%s\nwant\n%s", i, k, limit, a, b)
			}
			for j := range got.Messages {
				got.Messages[j].Text = "changed by a caller"
			}
			_ = append(got.Messages, chat.Message{Text: "added by a caller"})
		}
	}
}

func text(t *testing.T, s session.Session) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestNumbersAreNotUsedAgain: a session that is removed and begins again is a new one.
func TestNumbersAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "etui.db"))
	for _, said := range []string{"first", "second"} {
		if err := store.Append(t.Context(), "k", session.State{Sent: 1}, chat.Message{Role: chat.User, Text: said}); err != nil {
			t.Fatal(err)
		}
		s, err := store.Load(t.Context(), "k", session.Sent)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Messages[0].Text; got != said {
			t.Errorf("loaded %q, want %q", got, said)
		}
		if err := store.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeptBesideAnother: what another process adds to a session is loaded, with the state
// that belongs to it.
func TestKeptBesideAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "etui.db")
	stores := []*sqlite.Store{open(t, path), open(t, path)}
	for i := range 40 {
		said := chat.Message{Role: chat.User, Text: fmt.Sprint(i)}
		if err := stores[i/3%2].Append(t.Context(), "k", session.State{Sent: i + 1}, said); err != nil {
			t.Fatal(err)
		}
		for _, s := range stores {
			got, err := s.Load(t.Context(), "k", session.Sent)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Messages) != i+1 || got.Messages[i].Text != said.Text || got.Sent != i+1 {
				t.Fatalf("after %d messages: %d loaded, %d sent", i+1, len(got.Messages), got.Sent)
			}
		}
	}
}
