package engine

import (
	"context"

	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// worker does for the mailbox what items ask for, while nobody waits for it.
type worker struct{ engine *Engine }

// Finish implements [mailbox.Worker].
func (w worker) Finish(ctx context.Context, key session.Key, crashed bool) error {
	return w.engine.finish(ctx, key, crashed, nobody)
}

// Work implements [mailbox.Worker].
func (w worker) Work(ctx context.Context, i store.Item) error {
	a, m, err := w.engine.agents.Read(i)
	if err != nil { // its agent is gone, say
		w.engine.config.Log.ErrorContext(ctx, "a message of the inbox cannot be answered", "item", i.ID, "session", i.Session, "error", err)
		return w.engine.box.Write(ctx, store.End{ID: i.ID, Result: message.Result(nil, err), Deliver: len(m.Reply) > 0})
	}
	j := &job{engine: w.engine, agent: a, key: i.Session, item: i, ticket: w.engine.box.Ticket(false)}
	defer j.ticket.Close()
	j.answer(ctx, &m, silent)
	return j.kept
}

// Lost implements [mailbox.Worker].
func (w worker) Lost(ctx context.Context, key session.Key) error { return w.engine.lost(ctx, key) }

// Park implements [mailbox.Worker].
func (w worker) Park(ctx context.Context, i store.Item) error { return w.engine.tellParked(ctx, i) }
