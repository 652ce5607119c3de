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

// eraser returns what forgets the people of an engine.
func eraser(g *engine.Engine) *erase.Eraser {
	return erase.New(erase.Config{Engine: g, Parts: []erase.Part{g.Approvals().Grants, schedule.NewTasks(g)}, Local: []erase.Part{g}})
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
	if err := g.Sessions().Delete(soon, "agent:main:session:s:guest:"); !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait for the turn: %v", err)
	}
	close(finish)
	must(t, g.Sessions().Delete(t.Context(), "agent:main:session:s:guest:"))
	must(t, <-sent)
	if list, err := store.List(t.Context(), session.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
	if err := g.Sessions().Delete(t.Context(), "agent:main:session:s:guest:"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("deleting it again: %v", err)
	}
}
