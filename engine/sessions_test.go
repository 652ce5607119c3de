package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

func steps(n int) []fake.Step {
	list := make([]fake.Step, n)
	for i := range list {
		list[i] = fake.Step{Text: "reply"}
	}
	return list
}

// TestForgetUserInTheInbox: what somebody wrote goes also where no turn has made it a part of
// a conversation.
func TestForgetUserInTheInbox(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	must(t, err)
	defer file.Close()
	for name, kept := range map[string]store.Store{"memory": &store.Memory{}, "sqlite": file} {
		for _, user := range []string{"web:ann", "web:bob"} {
			for _, state := range []store.State{store.Parked, store.Answered} {
				i, _, err := kept.Accept(t.Context(), store.Item{Session: "s", User: user, Message: []byte(`{"text":"secret"}`), Holder: "x"})
				must(t, err)
				if i.State = state; state == store.Answered {
					err = kept.Finish(t.Context(), store.End{ID: i.ID, Result: []byte(`{"done":{"reply":"secret"}}`), Deliver: true})
				} else {
					err = kept.Update(t.Context(), i)
				}
				must(t, err)
			}
		}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
		if _, err := g.ForgetUser(t.Context(), "web:ann"); err != nil {
			t.Fatal(err)
		}
		left, err := kept.Items(t.Context(), store.ItemFilter{})
		must(t, err)
		if len(left) != 2 || left[0].User != "web:bob" || left[1].User != "web:bob" {
			t.Errorf("%s: the inbox has %+v", name, left)
		}
	}
}

// TestForgetUser: a person's own sessions go, and what they said among others; the rest
// stays, and goes on.
func TestForgetUser(t *testing.T) {
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = store }, steps(9)...)
	say(t, g, engine.Message{Text: "own", Channel: "web", User: "ann"})
	say(t, g, engine.Message{Text: "named", Channel: "web", User: "ann", Session: "s"})
	say(t, g, engine.Message{Text: "bob's", Channel: "web", User: "bob"})
	for _, m := range []engine.Message{{Text: "from bob", User: "bob"}, {Text: "from ann", User: "ann"}, {Text: "more from bob", User: "bob"}} {
		m.Channel, m.Chat = "web", "team"
		say(t, g, m)
	}
	for _, peer := range []string{"ann", "ann b"} {
		key := route.Key(route.Place{Agent: "other", Channel: "web", Sender: identity.Sender{Channel: "web", ID: peer}}, route.Peer)
		must(t, store.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: "without an author"}))
	}

	f, err := g.ForgetUser(t.Context(), "web:ann")
	must(t, err)
	if want := (engine.Forgotten{User: "web:ann", Sessions: 3, Messages: 2}); f != want {
		t.Errorf("forgotten: %+v, want %+v", f, want)
	}
	left, err := g.Sessions(t.Context(), session.Filter{})
	must(t, err)
	if len(left) != 3 {
		t.Errorf("left are %+v; want bob's, the team's and one of somebody else", left)
	}
	for _, s := range left {
		c, err := g.Session(t.Context(), s.Key, 0, 100)
		must(t, err)
		if got := texts(c.Said); strings.Contains(got, "from ann") || len(s.Users) > 1 {
			t.Errorf("%s has %q of %q", s.Key, got, s.Users)
		}
	}
	if again, err := g.ForgetUser(t.Context(), "web:ann"); err != nil || again != (engine.Forgotten{User: "web:ann"}) {
		t.Errorf("again: %+v, %v", again, err)
	}
	say(t, g, engine.Message{Text: "and on", Channel: "web", Chat: "team", User: "bob"})
	if _, err := g.ForgetUser(t.Context(), ""); err == nil {
		t.Error("nobody was forgotten")
	}
}

// TestForgetClosesTheOpenTurn: a turn that waits for an answer to a forgotten question is
// closed, and that of somebody else still waits.
func TestForgetClosesTheOpenTurn(t *testing.T) {
	for user, open := range map[string]bool{"ann": false, "bob": true} {
		store := &store.Memory{}
		state := session.State{Summary: "ann said so", Turn: session.Turn{ID: "t", Request: []byte(`{}`)}, Awaits: []session.Await{{Call: "1", Tool: "echo", User: user, For: session.Approval}}}
		must(t, store.Append(t.Context(), "k", state,
			chat.Message{Role: chat.User, Text: "x", User: "bob"}, chat.Message{Role: chat.Assistant, Text: "y"},
			chat.Message{Role: chat.User, Text: "x", User: "ann"}, chat.Message{Role: chat.Assistant, Text: "y"},
			chat.Message{Role: chat.User, Text: "do it", User: user}, chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "echo"}}}))
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = store })
		_, err := g.ForgetUser(t.Context(), "ann")
		must(t, err)
		s, err := store.Load(t.Context(), "k", 0)
		must(t, err)
		if s.Open() != open {
			t.Errorf("the turn of %s is open: %v, want %v: %+v", user, s.Open(), open, s.State)
		}
		if s.Summary != "" {
			t.Errorf("the summary still says %q", s.Summary)
		}
	}
}

// TestDeleteWaitsForTheTurn: a running turn stores nothing into a session that was deleted.
func TestDeleteWaitsForTheTurn(t *testing.T) {
	store := &store.Memory{}
	running, finish := make(chan struct{}), make(chan struct{})
	r := registry(t)
	must(t, r.Register(tool.Func(tool.Definition{Name: "slow", Description: "Take time"}, func(context.Context, struct{}) (string, error) {
		close(running)
		<-finish
		return "done", nil
	})))
	g, _ := newEngine(t, func(c *engine.Config) { c.Store, c.Registry = store, r }, fake.Step{Calls: []chat.Call{fake.Call("1", "slow", "{}")}}, fake.Step{Text: "reply"})
	sent := make(chan error, 1)
	go func() {
		_, err := send(g, t.Context(), engine.Message{Text: "go", Session: "s"})
		sent <- err
	}()
	<-running
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.DeleteSession(soon, "agent:main:session:s:guest:"); !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait for the turn: %v", err)
	}
	close(finish)
	must(t, g.DeleteSession(t.Context(), "agent:main:session:s:guest:"))
	must(t, <-sent)
	if list, err := store.List(t.Context(), session.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
	if err := g.DeleteSession(t.Context(), "agent:main:session:s:guest:"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleting it again: %v", err)
	}
}
