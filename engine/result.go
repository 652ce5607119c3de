package engine

import (
	"context"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// takeResult takes the result of a sub-agent up: with a turn, in which the agent decides what
// the user is told. While a turn waits for a person, the session holds it.
func (j *job) takeResult(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) (needs *turnRun, ok bool) {
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
		end.State, end.Messages = turn.AddMessages(state, chat.Message{
			Role: chat.User, Note: m.Outcome.Note(), User: user, Channel: identity.System, Time: j.engine.config.Now(),
		})
	default:
		m.Outcome.Call = chat.Call{ID: s.Awaits[i].Call, Name: s.Awaits[i].Tool}
		return &turnRun{job: j, mail: m, session: s}, false
	}
	if err := j.engine.box.Write(ctx, end); err != nil {
		return nil, j.refuse(ctx, err, yield)
	}
	return nil, true
}
