package engine

import (
	"context"
	"errors"

	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/turn"
)

// stopNow answers a message that stops the running turn. It reports whether it did. One with a
// key is in the inbox first: sent again, it does not stop a turn that began later.
func (s *sender) stopNow(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	var item store.Item
	if m.IdempotencyKey != "" {
		var fresh bool
		var err error
		if item, fresh, err = s.engine.inbox.Accept(ctx, s.job.key, *m); err != nil || !fresh {
			return false // it is accepted again below, with the same outcome
		}
		ctx = context.WithoutCancel(ctx)
	}
	stopped, err := s.engine.box.Stops.Interrupt(ctx, s.job.key)
	if !stopped {
		s.job.item = item
		return false
	}
	done := turn.End{Reply: phrase.In(m.Language, "Stopped.")}
	if errors.Is(err, context.DeadlineExceeded) {
		done.Reply, err = phrase.In(m.Language, "The running turn is being stopped."), nil
	}
	if n := s.engine.box.Waiting(s.job.key); n > 0 {
		done.Reply += " " + phrase.In(m.Language, "Messages that still wait for their turn: %d.", n)
	}
	if item.ID != 0 {
		if err == nil {
			err = s.engine.box.Write(ctx, store.End{ID: item.ID, Result: message.Result(&done, nil),
				Deliver: len(m.Reply) > 0})
		}
		if err != nil {
			s.engine.box.TakeUp(item) // it is answered later
			err = nil
		}
		if m.Accepted != nil {
			m.Accepted()
		}
	}
	if err != nil {
		yield(turn.Event{}, err)
		return true
	}
	_ = yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
	return true
}

// stopWaiting answers a message that stops a turn that waits, if there is one.
func (j *job) stopWaiting(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) bool {
	done := turn.End{Reply: phrase.In(m.Language, "Nothing is running.")}
	var err error
	switch {
	case m.History != nil:
		done.Reply = phrase.In(m.Language, "The client keeps this conversation, so it can only be stopped there: "+
			"close the connection of the request.")
	case s.Turn.ID == "" && len(subagent.Of(s.State)) == 0 && !s.Flow.Runs():
		err = j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: message.Result(&done, nil), Deliver: j.replies})
	default:
		done, err = j.engine.sessions.halt(ctx, s, m.Language, j.item.ID, j.replies)
	}
	if err != nil {
		return j.refuse(ctx, err, yield)
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}
