package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// report gives the result of a sub-agent to its parent.
func (j *job) report(ctx context.Context, o *message.Origin, key session.Key, done *turn.Done, failed error) error {
	m, err := message.Read(o.Back)
	if err != nil {
		return fmt.Errorf("of the parent: %w", err)
	}
	how, text := "finished", ""
	switch {
	case failed != nil:
		how, text = "failed", j.engine.config.Turn.Secrets.Redactor().Error(failed).Error()
	case done != nil:
		text = done.Reply
		if errors.Is(context.Cause(ctx), errTime) {
			how = fmt.Sprintf("not finished: its time of %v was up", o.Time)
		} else if done.Stopped {
			how = "been stopped"
		}
	}
	m.Kind, m.Outcome = message.KindResult, &turn.Outcome{System: true, Result: chat.Result{
		Session: string(key), Failed: failed != nil,
		Text: fmt.Sprintf("[system: the sub-agent %s has %s. Its task was: %s\nThe user does not see this message. Decide what to tell them.]\n%s", o.ID, how, o.Title, text),
	}}
	m.IdempotencyKey = "result-" + string(key)
	return j.engine.deliver(ctx, o.Parent(), m, key)
}

// takeResult takes the result of a sub-agent up: with a turn, in which the agent decides what
// the user is told. While a turn waits for a person, the session holds it.
func (j *job) takeResult(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) (needs *turnRequest, ok bool) {
	i := slices.IndexFunc(s.Awaits, func(a session.Await) bool {
		return a.For == session.SubAgent && string(a.Session) == m.Outcome.Result.Session
	})
	end := store.End{ID: j.item.ID, Result: message.Result(nil, nil)}
	switch {
	case i < 0 || s.Awaits[i].Held != nil && (m.Operator || s.Turn.ID != ""): // it was stopped, or has a result
	case s.Turn.ID != "":
		end.Session, end.State = s.Key, s.Clone()
		end.State.Awaits[i].Held = j.item.Message
	case m.Operator: // nobody knows in whose name a turn would be
		end.Session = s.Key
		state := s.Clone()
		user := state.Awaits[i].User
		state.Awaits = slices.Delete(state.Awaits, i, i+1)
		end.State, end.Messages = turn.Beside(state, chat.Message{Role: chat.User, Note: m.Outcome.Note(), User: user, Channel: identity.System, Time: j.engine.config.Now()})
	default:
		m.Outcome.Call = chat.Call{ID: s.Awaits[i].Call, Name: s.Awaits[i].Tool}
		return &turnRequest{m, s}, false
	}
	if err := j.engine.box.Write(ctx, end); err != nil {
		return nil, j.refuse(ctx, err, yield)
	}
	return nil, true
}

// again submits a result that came while a turn was open.
func (e *Engine) again(ctx context.Context, key session.Key, a session.Await) error {
	_, m, err := e.agents.Read(store.Item{Message: a.Held})
	if err != nil {
		return err
	}
	m.IdempotencyKey = "again-" + string(a.Session)
	return e.deliver(ctx, key, m, "")
}
