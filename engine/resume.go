package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Resume goes on with what other processes left: it resumes open turns, works on what
// waits in the inbox, and reports calls that went on after their turn as lost. It returns
// when all of that is done, or when ctx ends: then the rest is left for the next time. With a
// [store.Shared], processes may end at any time, and Resume goes on until ctx ends. Call it
// once, before or while the engine serves, and with any other store in one process only. If
// it fails while ctx goes on, the store could not be read, nothing was taken up, and it may be
// called again.
func (e *Engine) Resume(ctx context.Context) error {
	if e.shared == nil {
		return e.box.Resume(ctx)
	}
	var followers sync.WaitGroup
	defer followers.Wait()
	for what, loop := range map[string]func(context.Context){
		"following what is changed of agents": e.agents.Roster.Follow,
		"following past turns":                e.learner.Follow,
	} {
		followers.Go(func() {
			defer panics.Log(e.config.Log, what)
			loop(ctx)
		})
	}
	return e.box.Resume(ctx)
}

// lost reports the calls of ended processes that went on after their turn, except for
// those whose outcome is in the inbox.
func (e *Engine) lost(ctx context.Context, key session.Key) error {
	s, err := e.config.Store.Load(ctx, key, 1)
	if err != nil || len(s.Awaits) == 0 {
		return err
	}
	waiting, err := e.config.Store.Items(ctx, store.ItemFilter{Session: key, State: store.Waiting})
	if err != nil {
		return err
	}
	for _, i := range waiting {
		if _, m, err := e.agents.Read(i); err == nil && m.Outcome != nil {
			e.pending.Store(pending{key, m.Outcome.Call.ID}, nil)
		}
	}
	var alive []string
	if e.shared != nil {
		if alive, err = e.shared.Alive(ctx); err != nil {
			return err
		}
	}
	for _, a := range s.Awaits {
		if _, here := e.pending.Load(pending{key, a.Call}); here || a.For != session.Outcome || slices.Contains(alive, a.Holder) {
			continue
		}
		if s.State, err = e.storeOutcome(ctx, key, s.State, turn.Lost(a), 0); err != nil {
			return err
		}
	}
	return nil
}

// finish runs the open turn of a session to its end, or until it waits. The caller has
// the session to itself. An error means that the turn is still open; that a turn failed
// is none. What happens is yielded to who hears the turn's item. Crashed says that an attempt
// here ended unexpectedly.
func (e *Engine) finish(ctx context.Context, key session.Key, crashed bool, of hears) error {
	s, err := e.config.Store.Load(ctx, key, session.Sent)
	if err != nil || s.Turn.ID == "" || turn.PhaseOf(s) == turn.Waiting {
		return err
	}
	a, m, err := e.agents.Begun(s)
	if err != nil { // the agent is gone, say
		e.config.Log.ErrorContext(ctx, "open turn closed: it cannot be resumed", "session", key, "error", err)
		state, left := turn.Close(s, e.Catalog(), "its turn could not be resumed", e.config.Now())
		return e.box.Write(ctx, store.End{ID: s.Turn.Item, Result: message.Result(nil, err), Deliver: len(m.Reply) > 0, Session: key, State: state, Messages: left})
	}
	if e.box.Stopping() {
		return turn.ErrSuspended
	}
	i, err := e.box.Item(ctx, s.Turn.Item)
	left := err == nil && !crashed && (i.Holder == "" || i.Holder == e.holder)
	if err == nil && i.Holder != e.holder { // if this process ends, too, that is another end
		i, err = e.box.Hold(ctx, i, false)
	}
	if err != nil && !errors.Is(err, store.ErrEnded) {
		return err
	}
	e.config.Log.InfoContext(ctx, "turn resumed", "session", key, "agent", a.Name)
	ctx, ended := e.box.Stops.Begin(ctx, key)
	defer ended()
	j := &job{engine: e, agent: a, key: key, item: store.Item{ID: s.Turn.Item}, left: left, ticket: e.box.Ticket(false)}
	defer j.ticket.Close()
	j.run(ctx, &turnRequest{m, s}, of(s.Turn.Item))
	e.box.HandOver(i, j.kept)
	return j.kept
}
