package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// takeAnswer lets a turn go on with what people say about its calls.
func (j *job) takeAnswer(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) (needs *turnRequest, ok bool) {
	if text, is := approval.Parse(m.Text); is {
		return j.decided(ctx, m, s, text, yield)
	}
	m, err := j.answered(ctx, s, m)
	if err != nil {
		return nil, j.refuse(ctx, err, yield)
	}
	return &turnRequest{m, s}, false
}

// decided answers a message that approves or denies a call: of its own conversation, whose
// turn goes on for it, or of another one, where that happens in the background.
func (j *job) decided(ctx context.Context, m message.Mail, s session.Session, text approval.Command, yield func(turn.Event, error) bool) (needs *turnRequest, ok bool) {
	found, said, err := j.engine.approvals.Meant(ctx, s, text)
	if err == nil {
		err = j.engine.mayAnswer(ctx, s.Key, m, found)
	}
	if err == nil && found.Session == s.Key {
		here := m
		here.Text, here.Answers = "", []session.Answer{said}
		if here, err = j.answered(ctx, s, here); err == nil {
			return &turnRequest{here, s}, false
		}
	}
	if errors.Is(err, ErrStore) {
		return nil, j.refuse(ctx, err, yield)
	}
	done := turn.Done{Reply: "Denied; the conversation in which it was asked goes on."}
	if text.Chooses {
		done.Reply = "Answered; the conversation in which it was asked goes on."
	}
	if err == nil {
		there := m
		there.Text, there.Answers, there.To, there.Wait, there.IdempotencyKey, there.History = "", []session.Answer{said}, found.Session, false, "", nil
		there.Reply = nil // the turn replies where it was asked
		waits := m.Wait && slices.ContainsFunc(s.Awaits, func(a session.Await) bool { return a.For == session.SubAgent && a.Session == found.Session })
		if waits { // before the sub-agent goes on: it may end at once
			j.ticket.ExpectFrom(found.Session)
		}
		if err = j.engine.inbox.Submit(ctx, found.Session, there); err != nil && waits {
			j.engine.box.Nothing(found.Session)
		}
		if errors.Is(err, ErrStore) {
			return nil, j.refuse(ctx, err, yield)
		}
		if text.Approved {
			done.Reply = "Approved; the conversation in which it was asked goes on."
		}
	}
	if err != nil {
		done.Reply = err.Error() + "."
	}
	if err := j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: message.Result(&done, nil), Deliver: len(m.Reply) > 0}); err != nil {
		return nil, j.refuse(ctx, err, yield)
	}
	return nil, yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}

// toldText makes a text the answer to the question for which the turn waits, if there is
// one and the sender may answer it. What the clock says is none, and neither is a command.
func (j *job) toldText(ctx context.Context, m message.Mail, s session.Session) message.Mail {
	if turn.PhaseOf(s) != turn.Waiting || m.Text == "" || m.Background || j.commands(m, s) || len(m.Files) > 0 {
		return m
	}
	for _, a := range s.Awaits {
		if a.For == session.Approval && a.Question != "" && j.engine.mayAnswer(ctx, s.Key, m, approval.Approval{Await: a, Session: s.Key}) == nil {
			m.Text, m.Answers = "", []session.Answer{{Call: a.Call, ID: a.ID, Approved: true, Text: approval.Approval{Await: a}.Choice(m.Text)}}
			break
		}
	}
	return m
}

// expired is the reason with which the engine answers what nobody has answered.
const expired = "nobody answered in time, so the request has expired"

// answered returns the message that a session's turn began with, with the answers, and
// makes its agent that of the turn. A lasting approval is stored.
func (j *job) answered(ctx context.Context, s session.Session, m message.Mail) (message.Mail, error) {
	answers := slices.Clone(m.Answers)
	var lasting []session.Await
	for i := range answers {
		said := &answers[i]
		at := slices.IndexFunc(s.Awaits, func(a session.Await) bool {
			return a.Call == said.Call && (said.ID == "" || a.ID == said.ID) && a.For == session.Approval && a.Note == ""
		})
		if turn.PhaseOf(s) != turn.Waiting || at < 0 {
			return m, fmt.Errorf("call %q: %w", said.Call, message.ErrNothingAwaited)
		}
		if slices.ContainsFunc(answers[:i], func(a session.Answer) bool { return a.Call == said.Call }) {
			return m, fmt.Errorf("call %q has two answers", said.Call)
		}
		if err := checkLasts(said.Lasts); err != nil {
			return m, err
		}
		a := s.Awaits[at]
		if err := j.engine.mayAnswer(ctx, s.Key, m, approval.Approval{Await: a, Session: s.Key}); err != nil {
			return m, err
		}
		if said.By == "" {
			said.By = j.engine.people.Sender(m.Caller()).Record()
		}
		if !a.Until.IsZero() && j.engine.config.Now().After(a.Until) {
			*said = session.Answer{Call: said.Call, ID: said.ID, Reason: expired}
		}
		if said.Approved && said.Lasts == session.Always && a.Question == "" {
			lasting = append(lasting, a)
		}
	}
	a, begun, err := j.engine.agents.Begun(s)
	if err != nil {
		return begun, err
	}
	for _, await := range lasting {
		by := answers[slices.IndexFunc(answers, func(said session.Answer) bool { return said.Call == await.Call })].By
		g := approval.Grant{ID: await.ID, Tool: await.Tool, Hash: await.Hash, Agent: a.Name, User: await.User, Channel: begun.Channel, By: by, Time: j.engine.config.Now().Round(time.Second)}
		if g.User == "" && !route.Operator(s.Key) {
			return begun, fmt.Errorf("%w: the one who asked has no name, so an approval cannot count always; leave it out, or write %s", ErrInvalid, session.ForSession)
		}
		if err := j.engine.approvals.Grants.Put(ctx, g); err != nil {
			return begun, fmt.Errorf("storing the approval: %w: %w", ErrStore, err)
		}
	}
	j.agent, begun.Kind, begun.Answers, begun.IdempotencyKey = a, message.KindAnswer, answers, m.IdempotencyKey
	if len(m.Reply) > 0 {
		begun.Reply = m.Reply
	}
	return begun, nil
}
