package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// eraser returns what forgets the people of an engine.
func eraser(g *engine.Engine) *erase.Eraser {
	return erase.New(erase.Config{Engine: g, Parts: []erase.Part{g.Grants(), schedule.NewTasks(g)}, Local: []erase.Part{g}})
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

// TestSessionShowsWhatIsUnknown: a call without a result leaves the turn open, and a broken
// argument does not break the answer.
func TestSessionShowsWhatIsUnknown(t *testing.T) {
	store := &store.Memory{}
	must(t, store.Append(t.Context(), "k", session.State{Turn: session.Turn{ID: "t"}, Summary: "before", Sent: 2},
		chat.Message{Role: chat.User, Text: "early"}, chat.Message{Role: chat.User, Text: "go"},
		chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "echo", Arguments: []byte(`{"wor`)}}}))
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = store })
	c, err := g.Session(t.Context(), "k", -1, 2)
	must(t, err)
	if c.Phase != turn.Calling {
		t.Errorf("phase %s, want calling", c.Phase)
	}
	if c.Skip != 1 || len(c.Said) != 2 {
		t.Errorf("%d messages after %d, want the newest 2 of 3", len(c.Said), c.Skip)
	}
	if got := string(c.Said[1].Calls[0].Arguments); got != `"{\"wor"` {
		t.Errorf("arguments %s", got)
	}
	if c.Summarised != "before" || c.Sent != 2 {
		t.Errorf("the summary %q is before the newest %d", c.Summarised, c.Sent)
	}
	if _, err := g.Session(t.Context(), "none", -1, 2); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
}

func TestSweep(t *testing.T) {
	store := &store.Memory{}
	for i := range 250 {
		must(t, store.Append(t.Context(), session.Key(strings.Repeat("k", i+1)), session.State{}))
	}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = store })
	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 250}} {
		if n, err := g.Sweep(t.Context(), c.before); n != c.want || err != nil {
			t.Errorf("%d were removed, %v; want %d", n, err, c.want)
		}
	}
}
