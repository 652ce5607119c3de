package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// StopTurn ends the turn of a session that runs, or waits for an approval. It returns
// when the turn has ended, and false if there was none.
func (e *Engine) StopTurn(ctx context.Context, key session.Key) (bool, error) {
	if stopped, err := e.box.Stops.Interrupt(ctx, key); stopped || err != nil {
		return stopped, err
	}
	leave, err := e.box.Enter(ctx, key)
	if err != nil {
		return false, err
	}
	defer leave()
	s, err := e.config.Store.Load(ctx, key, session.Sent)
	if err != nil || turn.PhaseOf(s) != turn.Waiting || s.Turn.ID == "" && len(subagent.Of(s.State)) == 0 {
		return false, err
	}
	_, err = e.halt(ctx, s, s.Turn.Item, false)
	return err == nil, err
}

// halt ends the turn of a session that waits, if there is one, its sub-agents, and an item
// of the inbox with them.
func (e *Engine) halt(ctx context.Context, s session.Session, item int64, deliver bool) (turn.Done, error) {
	done := turn.Done{Stopped: true}
	state, told, stopped := turn.StopSubAgents(s.State, e.config.Now())
	if len(stopped) > 0 {
		done.Reply = fmt.Sprintf("Sub-agents that were stopped: %d.", len(stopped))
	}
	if s.State = state; s.Turn.ID != "" {
		var left []chat.Message
		var reply string
		state, left, reply = turn.Halt(s, e.Catalog(), e.config.Now())
		told, done.Reply = append(left, told...), strings.TrimSpace(reply+" "+done.Reply)
	}
	if state.Flow.Runs() {
		state.Flow, state.Skill = state.Flow.Clone(), state.Flow.Before
		workflow.End(state.Flow, workflow.Stopped, "a person stopped it")
		done.Flow, done.Reply = state.Flow.Brief(), strings.TrimSpace(done.Reply+" The workflow "+state.Flow.Workflow+" is stopped.")
	}
	err := e.box.Write(ctx, store.End{ID: item, Result: message.Result(&done, nil), Deliver: deliver, Session: s.Key, State: state, Messages: told})
	if err == nil {
		e.subAgents.Stop(ctx, stopped)
	}
	return done, err
}

// stopNow answers a message that stops the running turn. It reports whether it did. One with a
// key is in the inbox first: sent again, it does not stop a turn that began later.
func (j *job) stopNow(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	var item store.Item
	if m.IdempotencyKey != "" {
		var fresh bool
		var err error
		if item, fresh, err = j.engine.inbox.Accept(ctx, j.key, *m); err != nil || !fresh {
			return false // it is accepted again below, with the same outcome
		}
		ctx = context.WithoutCancel(ctx)
	}
	stopped, err := j.engine.box.Stops.Interrupt(ctx, j.key)
	if !stopped {
		j.item = item
		return false
	}
	done := turn.Done{Reply: "Stopped."}
	if errors.Is(err, context.DeadlineExceeded) {
		done.Reply, err = "The running turn is being stopped.", nil
	}
	if n := j.engine.box.Waiting(j.key); n > 0 {
		done.Reply += fmt.Sprintf(" Messages that still wait for their turn: %d.", n)
	}
	if item.ID != 0 {
		if err == nil {
			err = j.engine.box.Write(ctx, store.End{ID: item.ID, Result: message.Result(&done, nil), Deliver: len(m.Reply) > 0})
		}
		if err != nil {
			j.engine.box.TakeUp(item) // it is answered later
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
func (j *job) stopWaiting(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) bool {
	done := turn.Done{Reply: "Nothing is running."}
	var err error
	switch {
	case m.History != nil:
		done.Reply = "The client keeps this conversation, so it can only be stopped there: close the connection of the request."
	case s.Turn.ID == "" && len(subagent.Of(s.State)) == 0 && !s.Flow.Runs():
		err = j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: message.Result(&done, nil), Deliver: j.replies})
	default:
		done, err = j.engine.halt(ctx, s, j.item.ID, j.replies)
	}
	if err != nil {
		return j.refuse(ctx, err, yield)
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}
