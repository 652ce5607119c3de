package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
)

// Approvals returns what waits for an answer, and the lasting approvals.
func (e *Engine) Approvals() *approval.Approvals { return e.approvals }

// ApprovalsFor returns what the sender of a message, whose text is not needed, may answer.
func (e *Engine) ApprovalsFor(ctx context.Context, sender Message) ([]approval.Approval, error) {
	m, err := e.agents.Identify(message.New(sender))
	if err != nil {
		return nil, err
	}
	key, err := e.from(m)
	if err != nil {
		return nil, err
	}
	list, err := e.approvals.List(ctx)
	return slices.DeleteFunc(list, func(a approval.Approval) bool { return e.mayAnswer(ctx, key, m, a) != nil }), err
}

// Answer answers what waits under an ID, in the name of the sender of a message, whose
// text is not needed. The turn goes on in the background. An operator's answer always
// counts. It returns what was answered, [approval.ErrNone] or [approval.ErrNotYours].
func (e *Engine) Answer(ctx context.Context, sender Message, id string, said session.Answer, operator bool) (approval.Approval, error) {
	a, err := e.approvals.Get(ctx, id)
	if err != nil {
		return a, err
	}
	said.Call, said.ID = a.Call, a.ID
	sender.Text, sender.Files, sender.Answers, sender.IdempotencyKey, sender.Wait, sender.History, sender.Reply = "", nil, []session.Answer{said}, "", false, nil, nil
	_, m, err := e.agents.Ready(message.New(sender))
	if err != nil {
		return a, err
	}
	m.Operator, m.Background = operator, false
	if err := checkLasts(said.Lasts); err != nil {
		return a, err
	}
	key, err := e.from(m)
	if err == nil {
		err = e.mayAnswer(ctx, key, m, a)
	}
	if err == nil {
		m.To = a.Session
		err = e.inbox.Submit(ctx, a.Session, m)
	}
	return a, err
}

// from returns the conversation from which the sender of a message answers.
func (e *Engine) from(m message.Mail) (session.Key, error) {
	a, err := e.agents.Get(m.Agent)
	if err != nil {
		return "", err
	}
	return e.agents.Key(a, m), nil
}

// checkLasts refuses what does not say how long an approval lasts.
func checkLasts(l session.Lasts) error {
	if err := approval.CheckLasts(l); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// mayAnswer returns why the sender of a message in a conversation may not answer what waits.
func (e *Engine) mayAnswer(ctx context.Context, from session.Key, m message.Mail, a approval.Approval) error {
	return e.approvals.May(ctx, approval.Person{Facts: e.people.Facts(m.Caller(), e.Catalog()), From: from, Operator: m.Operator}, a)
}

// expire answers for the people what nobody has answered in time: the calls are refused,
// and their turns go on.
func (e *Engine) expire(ctx context.Context) error {
	list, err := e.approvals.List(ctx)
	now := e.config.Now()
	for _, a := range list {
		if err == nil && !a.Until.IsZero() && now.After(a.Until) {
			// The key makes it one answer, however many processes look.
			err = e.inbox.Submit(ctx, a.Session, message.Mail{Kind: message.KindAnswer, To: a.Session, Operator: true, Message: Message{
				Background: true, IdempotencyKey: "expired-" + a.ID, Answers: []session.Answer{{Call: a.Call, ID: a.ID, Reason: expired}},
			}})
			if errors.Is(err, message.ErrKeyReused) { // another version of etui has said it, in other words
				err = nil
			}
		}
	}
	return err
}
