package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// worker does for the mailbox what items ask for, while nobody waits for it.
type worker struct{ engine *Engine }

// Finish implements [mailbox.Worker].
func (w worker) Finish(ctx context.Context, key session.Key, crashed bool) error {
	return w.finish(ctx, key, crashed, nobody)
}

// Work implements [mailbox.Worker].
func (w worker) Work(ctx context.Context, i store.Item) error {
	a, m, err := w.engine.agents.Read(i)
	if err != nil { // its agent is gone, say
		w.engine.config.Log.ErrorContext(
			ctx, "a message of the inbox cannot be answered", "item", i.ID, "session", i.Session, "error", err,
		)
		return w.engine.box.Write(ctx, store.End{ID: i.ID, Result: message.Result(nil, err), Deliver: len(m.Reply) > 0})
	}
	j := &job{engine: w.engine, agent: a, key: i.Session, item: i, ticket: w.engine.box.Ticket(false)}
	defer j.ticket.Close()
	j.answer(ctx, &m, silent)
	return j.kept
}

// Lost implements [mailbox.Worker]. It reports the calls of ended processes that went on after their
// turn, except for those whose outcome is in the inbox.
func (w worker) Lost(ctx context.Context, key session.Key) error {
	s, err := w.engine.config.Store.Load(ctx, key, 1)
	if err != nil || len(s.Awaits) == 0 {
		return err
	}
	waiting, err := w.engine.config.Store.Items(ctx, store.ItemFilter{Session: key, State: store.Waiting})
	if err != nil {
		return err
	}
	for _, i := range waiting {
		if _, m, err := w.engine.agents.Read(i); err == nil && m.Outcome != nil {
			w.engine.outcomes.expect(key, m.Outcome.Call.ID)
		}
	}
	var alive []string
	if w.engine.shared != nil {
		if alive, err = w.engine.shared.Alive(ctx); err != nil {
			return err
		}
	}
	for _, a := range s.Awaits {
		if w.engine.outcomes.expected(key, a.Call) || a.For != session.Outcome || slices.Contains(alive, a.Holder) {
			continue
		}
		if s.State, err = w.engine.outcomes.store(ctx, key, s.State, turn.LostOutcome(a), 0); err != nil {
			return err
		}
	}
	return nil
}

// finish runs the open turn of a session to its end, or until it waits. The caller has
// the session to itself. An error means that the turn is still open; that a turn failed
// is none. What happens is yielded to who hears the turn's item. Crashed says that an attempt
// here ended unexpectedly.
func (w worker) finish(ctx context.Context, key session.Key, crashed bool, of hears) error {
	s, err := w.engine.config.Store.Load(ctx, key, session.Sent)
	if err != nil || s.Turn.ID == "" || turn.PhaseOf(s) == turn.Waiting {
		return err
	}
	a, m, err := w.engine.agents.OpenTurn(s)
	if err != nil { // the agent is gone, say
		w.engine.config.Log.ErrorContext(ctx, "open turn closed: it cannot be resumed", "session", key, "error", err)
		state, left := turn.Close(s, w.engine.Catalog(), "its turn could not be resumed", w.engine.config.Now())
		return w.engine.box.Write(ctx, store.End{
			ID: s.Turn.Item, Result: message.Result(nil, err), Deliver: len(m.Reply) > 0, Session: key, State: state,
			Messages: left,
		})
	}
	if w.engine.box.Stopping() {
		return turn.ErrSuspended
	}
	i, err := w.engine.box.Item(ctx, s.Turn.Item)
	left := err == nil && !crashed && (i.Holder == "" || i.Holder == w.engine.holder)
	if err == nil && i.Holder != w.engine.holder { // if this process ends, too, that is another end
		i, err = w.engine.box.Hold(ctx, i, false)
	}
	if err != nil && !errors.Is(err, store.ErrEnded) {
		return err
	}
	w.engine.config.Log.InfoContext(ctx, "turn resumed", "session", key, "agent", a.Name)
	ctx, ended := w.engine.box.Stops.Begin(ctx, key)
	defer ended()
	j := &job{
		engine: w.engine, agent: a, key: key, item: store.Item{ID: s.Turn.Item}, left: left,
		ticket: w.engine.box.Ticket(false),
	}
	defer j.ticket.Close()
	(&turnRun{job: j, mail: m, session: s}).run(ctx, of(s.Turn.Item))
	w.engine.box.HandOver(i, j.kept)
	return j.kept
}

// Park implements [mailbox.Worker]. It tells the sender of a message that it is about to be parked, on
// the channel that it came from: once, whatever ends the process in between. An error means that the
// store failed.
func (w worker) Park(ctx context.Context, i store.Item) error {
	var posted error
	if _, m, err := w.engine.agents.Read(i); err == nil && len(m.Reply) > 0 && m.Outcome == nil {
		text := phrase.In(
			m.Language, "This message could not be answered, again and again, and was set aside: “%s”. "+
				"An operator can have it tried again.",
			printable.Line(m.Text, 100),
		)
		posted = w.engine.outbox.Post(ctx, i.Session, m.Reply, text, fmt.Sprintf("parked-%d-%d", i.ID, i.Tries))
	}
	if posted == nil || errors.Is(posted, ErrStore) {
		return posted
	}
	w.engine.config.Log.ErrorContext(
		ctx, "the sender of a parked message was not told", "item", i.ID, "session", i.Session, "error", posted,
	)
	return nil
}

// silent receives events for which nobody waits.
func silent(turn.Event, error) bool { return true }

// hears returns who receives the events of an item's turn.
type hears func(item int64) func(turn.Event, error) bool

func nobody(int64) func(turn.Event, error) bool { return silent }
