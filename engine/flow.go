package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/engine/internal/follow"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// Workflows returns the workflows in effect.
func (e *Engine) Workflows() *workflow.Set { return e.config.Workflows.Load() }

// maxParams is how many named texts a message may have for a workflow.
const maxParams = 50

// beginning reads which workflow a message begins, and refuses one that does not exist.
// Without any workflow, a text is only a text.
func (e *Engine) beginning(m Message) (Message, error) {
	set := e.Workflows()
	names := set.Names()
	if rest, ok := strings.CutPrefix(m.Text, message.Run+" "); ok && len(names) > 0 && m.Workflow == "" {
		name, input, _ := strings.Cut(strings.TrimSpace(rest), " ")
		m.Workflow, m.Text = name, strings.TrimSpace(input)
	}
	if m.Workflow == "" {
		m.Target, m.Params = "", nil // nothing reads them
		return m, nil
	}
	if _, ok := set.Get(m.Workflow); !ok {
		return m, fmt.Errorf("workflow %q: %w%s", m.Workflow, ErrUnknown, cmp.Or(nearest.Hint(m.Workflow, slices.Values(names)), "; the workflows are "+cmp.Or(strings.Join(names, ", "), "none")))
	}
	switch {
	case m.History != nil:
		return m, fmt.Errorf("%w: a workflow needs a conversation that is stored; leave the history out and name a session", ErrInvalid)
	case len(m.Answers) > 0:
		return m, fmt.Errorf("%w: a message begins a workflow or has answers, not both", ErrInvalid)
	case len(m.Params) > maxParams:
		return m, fmt.Errorf("%w: a workflow takes at most %d params", ErrInvalid, maxParams)
	}
	secrets := e.config.Turn.Secrets.Redactor()
	size := len(m.Target)
	m.Target = secrets.Text(m.Target)
	params := make(map[string]string, len(m.Params))
	for name, value := range m.Params {
		size += len(name) + len(value)
		params[name] = secrets.Text(value)
	}
	if m.Params = params; size > e.config.MaxMessage {
		return m, fmt.Errorf("%w: its target and params have %d bytes, at most %d are accepted", ErrTooLong, size, e.config.MaxMessage)
	}
	if m.Text == "" {
		m.Text = strings.TrimSpace("Run the workflow " + m.Workflow + " " + m.Target)
	}
	return m, nil
}

// flow begins the workflow that a message names in its session, and returns the plan of the
// one that runs there; nil when none does. One that was removed meanwhile is [workflow.Gone]:
// its work is not done without its phases.
func (e *Engine) flow(m message.Mail, s *session.Session) *workflow.Plan {
	if m.Workflow != "" {
		before := s.Skill
		if s.Flow.Runs() {
			before = s.Flow.Before
		}
		p := e.plan(m.Workflow)
		s.Flow = p.Begin(m.Text, m.Target, m.Params)
		s.Flow.Skill, s.Flow.Before = m.Skill, before
		return p
	}
	if !s.Flow.Runs() {
		return nil
	}
	s.Flow = s.Flow.Clone()
	if m.Skill != "" {
		s.Flow.Skill = m.Skill
	}
	return e.plan(s.Flow.Workflow)
}

// plan returns the workflow of a name.
func (e *Engine) plan(name string) *workflow.Plan {
	if p, ok := e.Workflows().Get(name); ok {
		return p
	}
	return workflow.Gone(name)
}

// following is where the events go of a turn that is taken up before a message is answered:
// to the sender of [Run], or of the message if the turn is its own.
func (j *job) following(m message.Mail, f *follow.Follower) hears {
	return func(item int64) func(turn.Event, error) bool {
		switch {
		case item != 0 && item == j.item.ID:
			return f.HandOpen
		case m.Text != message.Run:
			return silent
		}
		return func(e turn.Event, err error) bool {
			if e.Done != nil {
				j.resumed = e.Done
			}
			return f.Hand(e, err)
		}
	}
}

// goOn answers [Run] without a name: it goes on with the workflow of the session, or says how
// it ended.
func (j *job) goOn(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) (*turnRequest, bool) {
	says := ""
	switch {
	case j.resumed != nil: // the sender has seen it
		if err := j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: message.Result(j.resumed, nil), Deliver: j.replies}); err != nil {
			return nil, j.refuse(ctx, err, yield)
		}
		return nil, true
	case s.Flow == nil:
		says = "No workflow has run here. " + message.Run + " NAME begins one: " + strings.Join(j.engine.Workflows().Names(), ", ") + "."
	case turn.PhaseOf(s) == turn.Waiting:
		var waiting []session.Await
		for _, a := range s.Awaits {
			if a.For == session.Approval {
				waiting = append(waiting, a)
			}
		}
		return nil, j.ends(ctx, m, s, turn.Done{Reply: approval.Text(waiting), Awaits: waiting, Flow: s.Flow.Brief()}, yield)
	case s.Flow.Runs():
		m.Text = "Go on."
		return &turnRequest{m, s}, false
	default:
		says = strings.TrimSpace(fmt.Sprintf("%s\n\nThe workflow %s ended: %s (%s).", s.Flow.Reply, s.Flow.Workflow, s.Flow.Outcome, s.Flow.Reason))
	}
	return nil, j.ends(ctx, m, s, turn.Done{Reply: says, Flow: s.Flow.Brief()}, yield)
}
