// Package storetest is the conformance suite of session.Store.
//
// It says what the interface's comments leave open: a history that is cut off
// does not begin with the result of a call that was cut off; the arguments of
// calls come back byte for byte, broken ones too; state and messages that are
// loaded together were stored together; appends of one caller keep their order;
// keys of more than 512 bytes are refused.
package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

// Test runs the suite on stores that open makes, each empty.
func Test(t *testing.T, open func(t *testing.T) session.Store) {
	t.Run("unknown session is new and empty", func(t *testing.T) {
		s, err := open(t).Load(t.Context(), "nobody", 0)
		if err != nil || s.Key != "nobody" || len(s.Messages) != 0 || len(s.Declared) != 0 {
			t.Fatalf("Load = %+v, %v", s, err)
		}
	})
	t.Run("everything comes back as it was", func(t *testing.T) { everything(t, open(t)) })
	t.Run("arguments keep their bytes", func(t *testing.T) { arguments(t, open(t)) })
	t.Run("limit gives the newest", func(t *testing.T) { newest(t, open(t)) })
	t.Run("no result without its call", func(t *testing.T) { orphans(t, open(t)) })
	t.Run("state is replaced", func(t *testing.T) { state(t, open(t)) })
	t.Run("list and delete", func(t *testing.T) { list(t, open(t)) })
	t.Run("list is in order of change", func(t *testing.T) { order(t, open(t)) })
	t.Run("open sessions are found", func(t *testing.T) { openSessions(t, open(t)) })
	t.Run("what is sent is loaded", func(t *testing.T) { sent(t, open(t)) })
	t.Run("keys are kept apart", func(t *testing.T) { keys(t, open(t)) })
	t.Run("keys have a limit", func(t *testing.T) { longKey(t, open(t)) })
	t.Run("many writers", func(t *testing.T) { many(t, open(t)) })
	t.Run("state and messages agree", func(t *testing.T) { agree(t, open(t)) })
	t.Run("what is loaded is the caller's own", func(t *testing.T) { own(t, open(t)) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, store session.Store, key session.Key, limit int) session.Session {
	t.Helper()
	s, err := store.Load(t.Context(), key, limit)
	must(t, err)
	return s
}

func everything(t *testing.T, store session.Store) {
	want := []chat.Message{
		{Role: chat.User, Text: "你好 \x00 \U0001F600 \"q\"", Note: "[note]", Tools: []string{"a", "b"}, Why: []byte(`{"tools":2,"sent":[{"tool":"a","score":1.25}]}`), Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)},
		{Role: chat.Assistant, Text: "one moment", Calls: []chat.Call{{ID: "1", Name: "a", Arguments: []byte(`{"x":1}`)}}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "1", Name: "a", Text: "done", Tools: []string{"a"}, Failed: true, Pending: true, View: &chat.View{
			Text: "t", Data: []byte(`[1]`), Error: "e", Files: []chat.File{{Name: "f", MediaType: "text/plain", Data: []byte{0, 255}}},
		}}},
	}
	state := session.State{Skill: "s", Declared: []string{"a"}, Directory: "a: 目录\nb", Front: session.Front{
		Mode: "m", Model: "o", Strategy: "full", Skill: "s", Tools: "1", System: "2", First: "3", Used: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}}
	must(t, store.Append(t.Context(), "k", state, want...))
	got := load(t, store, "k", 0)
	if !reflect.DeepEqual(got.Messages, want) {
		t.Errorf("messages:\ngot  %+v\nwant %+v", got.Messages, want)
	}
	if !reflect.DeepEqual(got.State, state) {
		t.Errorf("state: %+v", got.State)
	}
}

func arguments(t *testing.T, store session.Store) {
	var calls []chat.Call
	for i, args := range []string{`{"x":1}`, `{ "x": 1,\n "a": "<b> & 你好" }`, `{"broken": "`, `"text"`, `not JSON`, `{"n":1.0, "n":2e3}`, ` {} `} {
		calls = append(calls, chat.Call{ID: fmt.Sprint(i), Name: "a", Arguments: []byte(args)})
	}
	must(t, store.Append(t.Context(), "k", session.State{}, chat.Message{Role: chat.Assistant, Calls: calls}))
	got := load(t, store, "k", 0).Messages
	if len(got) != 1 || len(got[0].Calls) != len(calls) {
		t.Fatalf("got %+v", got)
	}
	for i, c := range got[0].Calls {
		if c.ID != calls[i].ID || string(c.Arguments) != string(calls[i].Arguments) {
			t.Errorf("call %d:\ngot  %s\nwant %s", i, c.Arguments, calls[i].Arguments)
		}
	}
}

func texts(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text + " ")
	}
	return strings.TrimSpace(b.String())
}

func newest(t *testing.T, store session.Store) {
	for i := range 5 {
		must(t, store.Append(t.Context(), "k", session.State{}, chat.Message{Role: chat.User, Text: fmt.Sprint(i)}))
	}
	for limit, want := range map[int]string{0: "0 1 2 3 4", 2: "3 4", 9: "0 1 2 3 4"} {
		if got := texts(load(t, store, "k", limit).Messages); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

func orphans(t *testing.T, store session.Store) {
	result := func(id string) chat.Message {
		return chat.Message{Role: chat.Tool, Text: "result" + id, Result: &chat.Result{CallID: id}}
	}
	must(t, store.Append(t.Context(), "k", session.State{},
		chat.Message{Role: chat.User, Text: "question"},
		chat.Message{Role: chat.Assistant, Text: "calls", Calls: []chat.Call{{ID: "1", Name: "a"}, {ID: "2", Name: "a"}}},
		result("1"), result("2"),
		chat.Message{Role: chat.Assistant, Text: "answer"}))
	for limit, want := range map[int]string{
		1: "answer", 2: "answer", 3: "answer", 4: "calls result1 result2 answer", 5: "question calls result1 result2 answer", 0: "question calls result1 result2 answer",
	} {
		if got := texts(load(t, store, "k", limit).Messages); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

func state(t *testing.T, store session.Store) {
	must(t, store.Append(t.Context(), "k", session.State{Skill: "a", Declared: []string{"x"}}))
	must(t, store.Append(t.Context(), "k", session.State{Skill: "b"}))
	if got := load(t, store, "k", 0); got.Skill != "b" || len(got.Declared) != 0 {
		t.Errorf("state: %+v", got.State)
	}
}

func list(t *testing.T, store session.Store) {
	for _, key := range []session.Key{"a", "b"} {
		must(t, store.Append(t.Context(), key, session.State{Skill: "s" + string(key)}, chat.Message{Role: chat.User, Text: "hi"}, chat.Message{Role: chat.Assistant, Text: "ho"}))
	}
	all, err := store.List(t.Context(), 0)
	must(t, err)
	if len(all) != 2 || all[0].Messages != 2 || all[0].Created.IsZero() || all[0].Skill != "s"+string(all[0].Key) {
		t.Errorf("List = %+v", all)
	}
	one, err := store.List(t.Context(), 1)
	must(t, err)
	if len(one) != 1 {
		t.Errorf("List with limit 1 = %+v", one)
	}
	must(t, store.Delete(t.Context(), "a"))
	if got := load(t, store, "a", 0); len(got.Messages) != 0 || got.Skill != "" {
		t.Errorf("deleted session still has %+v", got)
	}
	if err := store.Delete(t.Context(), "a"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
}

func order(t *testing.T, store session.Store) {
	for _, key := range []session.Key{"b", "c", "a", "b"} {
		must(t, store.Append(t.Context(), key, session.State{}))
		// The next change is later, by any store's clock.
		for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
		}
	}
	got, err := store.List(t.Context(), 2)
	must(t, err)
	if len(got) != 2 || got[0].Key != "b" || got[1].Key != "a" {
		t.Fatalf("List = %+v, want b and a", got)
	}
	if !got[0].Created.Before(got[1].Created) || !got[0].Updated.After(got[0].Created) {
		t.Errorf("the times are wrong: %+v", got)
	}
}

func openSessions(t *testing.T, store session.Store) {
	turn := session.State{Turn: session.Turn{ID: "t", Request: []byte(`{"user":"ann"}`), Resumed: 1}}
	await := session.State{Awaits: []session.Await{{Call: "1", Tool: "slow", For: session.Outcome}}}
	must(t, store.Append(t.Context(), "turn", turn, chat.Message{Role: chat.User, Text: "go"}))
	must(t, store.Append(t.Context(), "await", await))
	must(t, store.Append(t.Context(), "done", turn))
	must(t, store.Append(t.Context(), "done", session.State{}))
	keys, err := store.Open(t.Context())
	must(t, err)
	slices.Sort(keys)
	if !slices.Equal(keys, []session.Key{"await", "turn"}) {
		t.Errorf("Open = %q, want await and turn", keys)
	}
	if got := load(t, store, "turn", 0).State; !reflect.DeepEqual(got, turn) {
		t.Errorf("the open turn came back as %+v", got)
	}
	if got := load(t, store, "await", 0).State; !reflect.DeepEqual(got, await) {
		t.Errorf("the awaited call came back as %+v", got)
	}
	must(t, store.Delete(t.Context(), "turn"))
	if keys, err := store.Open(t.Context()); err != nil || !slices.Equal(keys, []session.Key{"await"}) {
		t.Errorf("after one was deleted: %q, %v", keys, err)
	}
}

func sent(t *testing.T, store session.Store) {
	for i := range 5 {
		must(t, store.Append(t.Context(), "k", session.State{Sent: 3}, chat.Message{Role: chat.User, Text: fmt.Sprint(i)}))
		must(t, store.Append(t.Context(), "uncounted", session.State{}, chat.Message{Role: chat.User, Text: fmt.Sprint(i)}))
	}
	for key, want := range map[session.Key]string{"k": "2 3 4", "uncounted": "0 1 2 3 4"} {
		if got := texts(load(t, store, key, session.Sent).Messages); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func longKey(t *testing.T, store session.Store) {
	longest := session.Key(strings.Repeat("k", 512))
	must(t, store.Append(t.Context(), longest, session.State{Skill: "s"}))
	if got := load(t, store, longest, 0); got.Skill != "s" {
		t.Errorf("a key of 512 bytes: %+v", got)
	}
	if err := store.Append(t.Context(), longest+"k", session.State{}); err == nil || !strings.Contains(err.Error(), "512") {
		t.Errorf("a key of 513 bytes: %v, want an error that says how many are allowed", err)
	}
	got, err := store.List(t.Context(), 0)
	must(t, err)
	if len(got) != 1 {
		t.Errorf("List = %+v", got)
	}
}

func keys(t *testing.T, store session.Store) {
	odd := []session.Key{"a:b", "a%3Ab", "A:b", "' OR 1=1 --", "键", "a:b "}
	for _, key := range odd {
		must(t, store.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: string(key)}))
	}
	for _, key := range odd {
		if got := load(t, store, key, 0); len(got.Messages) != 1 || got.Messages[0].Text != string(key) {
			t.Errorf("session %q holds %+v", key, got.Messages)
		}
	}
}

func many(t *testing.T, store session.Store) {
	const writers, each = 8, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			own := session.Key(fmt.Sprint("own", w))
			for i := range each {
				m := chat.Message{Role: chat.User, Text: fmt.Sprintf("%d.%d", w, i)}
				if err := errors.Join(store.Append(t.Context(), own, session.State{}, m), store.Append(t.Context(), "shared", session.State{}, m)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := load(t, store, "shared", 0); len(got.Messages) != writers*each {
		t.Errorf("%d messages, want %d", len(got.Messages), writers*each)
	}
	next := map[string]int{}
	for _, m := range load(t, store, "shared", 0).Messages {
		w, i, _ := strings.Cut(m.Text, ".")
		if i != fmt.Sprint(next[w]) {
			t.Fatalf("writer %s: message %s came when %d was next", w, i, next[w])
		}
		next[w]++
	}
}

// agree reads while another writes: each append makes the state say how many
// messages there are.
func agree(t *testing.T, store session.Store) {
	done := make(chan error, 1)
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		for i := range 50 {
			m := chat.Message{Role: chat.User, Text: fmt.Sprint(i)}
			if err := store.Append(t.Context(), "k", session.State{Skill: fmt.Sprint(2*i + 2)}, m, m); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	})
	for running := true; running; {
		select {
		case err := <-done:
			must(t, err)
			running = false
		default:
		}
		if s := load(t, store, "k", 0); s.Skill != "" && s.Skill != fmt.Sprint(len(s.Messages)) {
			t.Errorf("%d messages with the state of %s", len(s.Messages), s.Skill)
			return
		}
	}
}

func own(t *testing.T, store session.Store) {
	must(t, store.Append(t.Context(), "k", session.State{Declared: []string{"x"}}, chat.Message{Role: chat.User, Text: "a"}))
	s := load(t, store, "k", 0)
	s.Declared[0], s.Messages[0].Text = "changed", "changed"
	if again := load(t, store, "k", 0); again.Declared[0] != "x" || again.Messages[0].Text != "a" {
		t.Errorf("the stored session changed: %+v", again)
	}
}
