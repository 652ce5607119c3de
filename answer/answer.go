// Package answer takes the answers of people to calls and questions that wait for them. It decides who
// may answer and whether a text is an answer, and answers itself when nobody does in time. Package
// approval keeps the approvals.
package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Config says what answers depend on. All of it is needed.
type Config struct {
	Approvals *approval.Approvals
	Agents    *agent.Agents
	People    *people.People
	Inbox     *inbox.Inbox
	Store     store.Store
	Catalog   func() *catalog.Catalog
	Now       func() time.Time
}

// Answers takes answers. It is safe for concurrent use.
type Answers struct{ config Config }

// New returns what takes answers.
func New(cfg Config) *Answers { return &Answers{cfg} }

// For returns what the sender of a message, whose text is not needed, may answer.
func (w *Answers) For(ctx context.Context, sender message.Message) ([]approval.Approval, error) {
	m, err := w.config.Agents.Identify(message.New(sender))
	if err != nil {
		return nil, err
	}
	key, err := w.from(m)
	if err != nil {
		return nil, err
	}
	list, err := w.config.Approvals.List(ctx)
	return slices.DeleteFunc(list, func(a approval.Approval) bool { return w.May(ctx, key, m, a) != nil }), err
}

// Give answers what waits under an ID, in the name of the sender of a message, whose
// text is not needed. The turn goes on in the background. An operator's answer always
// counts. It returns what was answered, [approval.ErrNone] or [approval.ErrNotYours].
func (w *Answers) Give(
	ctx context.Context, sender message.Message, id string, said session.Answer, operator bool,
) (approval.Approval, error) {
	a, err := w.config.Approvals.Get(ctx, id)
	if err != nil {
		return a, err
	}
	said.Call, said.ID = a.Call, a.ID
	sender.Text, sender.Files, sender.Answers = "", nil, []session.Answer{said}
	sender.IdempotencyKey, sender.Wait, sender.History, sender.Reply = "", false, nil, nil
	_, m, err := w.config.Agents.Ready(message.New(sender))
	if err != nil {
		return a, err
	}
	m.Operator, m.Background = operator, false
	if err := checkLasts(said.Lasts); err != nil {
		return a, err
	}
	key, err := w.from(m)
	if err == nil {
		err = w.May(ctx, key, m, a)
	}
	if err == nil {
		m.To = a.Session
		err = w.config.Inbox.Submit(ctx, a.Session, m)
	}
	return a, err
}

// from returns the conversation from which the sender of a message answers.
func (w *Answers) from(m message.Mail) (session.Key, error) {
	a, err := w.config.Agents.Get(m.Agent)
	if err != nil {
		return "", err
	}
	return w.config.Agents.Key(a, m), nil
}

// checkLasts refuses what does not say how long an approval lasts.
func checkLasts(l session.Lasts) error {
	if err := approval.CheckLasts(l); err != nil {
		return fmt.Errorf("%w: %w", message.ErrInvalid, err)
	}
	return nil
}

// May returns why the sender of a message in a conversation may not answer what waits.
func (w *Answers) May(ctx context.Context, from session.Key, m message.Mail, a approval.Approval) error {
	f := w.config.People.Facts(m.Caller(), w.config.Catalog())
	return w.config.Approvals.May(ctx, approval.Person{Facts: f, From: from, Operator: m.Operator}, a)
}

// Expire answers for the people what nobody has answered in time: the calls are refused,
// and their turns go on. Turns whose client has brought no results end.
func (w *Answers) Expire(ctx context.Context) error {
	return errors.Join(w.expireAsked(ctx), w.expireHanded(ctx))
}

func (w *Answers) expireHanded(ctx context.Context) error {
	keys, err := w.config.Store.Open(ctx)
	for _, key := range keys {
		s, loading := w.config.Store.Load(ctx, key, 1)
		late := slices.ContainsFunc(s.Awaits, func(a session.Await) bool {
			return a.For == session.Client && !a.Until.IsZero() && w.config.Now().After(a.Until)
		})
		if loading != nil || !late {
			err = errors.Join(err, loading)
			continue
		}
		m := message.Mail{Kind: message.KindStop, To: key, Operator: true, Message: message.Message{
			Agent: route.Agent(key), Text: message.Stop, IdempotencyKey: message.ShortKey("handed-" + s.Turn.ID),
		}}
		if failed := w.config.Inbox.Submit(ctx, key, m); !errors.Is(failed, message.ErrKeyReused) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (w *Answers) expireAsked(ctx context.Context) error {
	list, err := w.config.Approvals.List(ctx)
	now := w.config.Now()
	for _, a := range list {
		if err == nil && !a.Until.IsZero() && now.After(a.Until) {
			// The key makes it one answer, however many processes look.
			m := message.Mail{Kind: message.KindAnswer, To: a.Session, Operator: true}
			m.Background, m.IdempotencyKey = true, "expired-"+a.ID
			m.Answers = []session.Answer{{Call: a.Call, ID: a.ID, Reason: expired}}
			err = w.config.Inbox.Submit(ctx, a.Session, m)
			if errors.Is(err, message.ErrKeyReused) { // another version of etui has said it, in other words
				err = nil
			}
		}
	}
	return err
}

// expired is the reason with which etui answers what nobody has answered.
const expired = "nobody answered in time, so the request has expired"

// Take checks the answers of a message to what a session awaits. It returns the message that the
// session's turn began with, with the answers, and its agent. A lasting approval is stored.
func (w *Answers) Take(ctx context.Context, s session.Session, m message.Mail) (*agent.Agent, message.Mail, error) {
	answers := slices.Clone(m.Answers)
	var lasting []session.Await
	for i := range answers {
		said := &answers[i]
		at := slices.IndexFunc(s.Awaits, func(a session.Await) bool {
			return a.Call == said.Call && (said.ID == "" || a.ID == said.ID) && a.For == session.Approval && a.Note == ""
		})
		if turn.PhaseOf(s) != turn.Waiting || at < 0 {
			return nil, m, phrase.Errorf("call %q: %w", said.Call, message.ErrNothingAwaited)
		}
		if slices.ContainsFunc(answers[:i], func(a session.Answer) bool { return a.Call == said.Call }) {
			return nil, m, fmt.Errorf("call %q has two answers", said.Call)
		}
		if err := checkLasts(said.Lasts); err != nil {
			return nil, m, err
		}
		a := s.Awaits[at]
		if err := w.May(ctx, s.Key, m, approval.Approval{Await: a, Session: s.Key}); err != nil {
			return nil, m, err
		}
		if said.By == "" {
			said.By = w.config.People.Sender(m.Caller()).Record()
		}
		if !a.Until.IsZero() && w.config.Now().After(a.Until) {
			*said = session.Answer{Call: said.Call, ID: said.ID, Reason: expired}
		}
		if said.Approved && said.Lasts == session.Always && a.Question == "" {
			lasting = append(lasting, a)
		}
	}
	if err := w.CheckResults(s, m); err != nil {
		return nil, m, err
	}
	a, begun, err := w.config.Agents.Begun(s)
	if err != nil {
		return nil, begun, err
	}
	if len(m.Results) > 0 { // the client says anew how its turn goes on
		begun.Results, begun.Offer, begun.Settings, begun.Instructions = m.Results, m.Offer, m.Settings, m.Instructions
	}
	for _, await := range lasting {
		by := answers[slices.IndexFunc(answers, func(said session.Answer) bool { return said.Call == await.Call })].By
		g := approval.Grant{
			ID: await.ID, Tool: await.Tool, Hash: await.Hash, Agent: a.Name, User: await.User, Channel: begun.Channel, By: by,
			Time: w.config.Now().Round(time.Second),
		}
		if g.User == "" && !route.Operator(s.Key) {
			return nil, begun, fmt.Errorf(
				"%w: the one who asked has no name, so an approval cannot count always; leave it out, or write %s",
				message.ErrInvalid, session.ForSession,
			)
		}
		if err := w.config.Approvals.Grants.Put(ctx, g); err != nil {
			return nil, begun, fmt.Errorf("storing the approval: %w: %w", store.ErrAway, err)
		}
	}
	begun.Kind, begun.Answers, begun.IdempotencyKey = message.KindAnswer, answers, m.IdempotencyKey
	if len(m.Reply) > 0 {
		begun.Reply = m.Reply
	}
	return a, begun, nil
}

// CheckResults refuses results of a client for calls that do not wait for them in a session, and
// some that leave others out.
func (w *Answers) CheckResults(s session.Session, m message.Mail) error {
	if len(m.Results) == 0 {
		return nil
	}
	by, brought := w.config.People.Sender(m.Caller()).Record(), map[string]bool{}
	for _, r := range m.Results {
		i := slices.IndexFunc(s.Awaits, func(a session.Await) bool { return a.Call == r.CallID && a.For == session.Client })
		switch {
		case i < 0 || s.Awaits[i].User != by:
			return fmt.Errorf("%w: no call %q of this conversation waits for a result", message.ErrInvalid, r.CallID)
		case brought[r.CallID]:
			return fmt.Errorf("%w: call %q has two results", message.ErrInvalid, r.CallID)
		}
		brought[r.CallID] = true
	}
	for _, a := range s.Awaits {
		if a.For == session.Client && !brought[a.Call] {
			return fmt.Errorf("%w: the result of call %q is missing", message.ErrInvalid, a.Call)
		}
	}
	return nil
}

// FromText makes a text the answer to the question for which the turn waits, if there is
// one and the sender may answer it. A message of the clock is none.
func (w *Answers) FromText(ctx context.Context, m message.Mail, s session.Session) message.Mail {
	if turn.PhaseOf(s) != turn.Waiting || m.Text == "" || m.Background || len(m.Files) > 0 {
		return m
	}
	for _, a := range s.Awaits {
		if a.For == session.Approval && a.Question != "" &&
			w.May(ctx, s.Key, m, approval.Approval{Await: a, Session: s.Key}) == nil {
			m.Text, m.Answers = "", []session.Answer{
				{Call: a.Call, ID: a.ID, Approved: true, Text: approval.Approval{Await: a}.Choice(m.Text)},
			}
			break
		}
	}
	return m
}
