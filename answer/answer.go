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
	"github.com/etui-run/etui/chat"
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
	// Ended keeps what becomes of something that waits, before its turn goes on.
	Ended func(ctx context.Context, a approval.Approval, e approval.Ending) error
	// Language returns the language of the sender of a message in a conversation.
	Language func(ctx context.Context, m message.Mail, key session.Key) string
}

// Answers takes answers. It is safe for concurrent use.
type Answers struct{ config Config }

// New returns what takes answers.
func New(cfg Config) *Answers { return &Answers{cfg} }

// For returns what the sender of a message, whose text is not needed, may answer.
func (w *Answers) For(ctx context.Context, sender message.Message) ([]approval.Approval, error) {
	theirs, _, err := w.Open(ctx, sender)
	return theirs, err
}

// Open returns what the sender of a message, whose text is not needed, may answer, and what they asked
// for that only others may answer.
func (w *Answers) Open(ctx context.Context, sender message.Message) (theirs, asked []approval.Approval, err error) {
	m, err := w.config.Agents.Identify(message.New(sender))
	if err != nil {
		return nil, nil, err
	}
	key, err := w.From(m)
	if err != nil {
		return nil, nil, err
	}
	by := w.person(m, key)
	list, err := w.config.Approvals.List(ctx)
	theirs = []approval.Approval{}
	for _, a := range list {
		if w.config.Approvals.May(ctx, by, a) == nil {
			theirs = append(theirs, a)
		} else if w.config.Approvals.Asked(by, a) {
			asked = append(asked, a)
		}
	}
	return theirs, asked, err
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
	key, err := w.From(m)
	if err == nil {
		err = w.may(ctx, key, m, a, &m.Answers[0])
	}
	if err == nil {
		m.To = a.Session
		err = w.config.Inbox.Submit(ctx, a.Session, m)
	}
	if err == nil {
		err = w.counted(ctx, a, m)
	}
	return a, err
}

// counted waits a moment for what becomes of a call that somebody has answered. It returns that if somebody
// else was faster. An answer that waits for its conversation is taken for one that counts.
func (w *Answers) counted(ctx context.Context, a approval.Approval, m message.Mail) error {
	said := w.signed(m, m.Answers[0])
	for range looks {
		e, over := w.config.Approvals.Ended(ctx, a.ID)
		if !over {
			if sleep(ctx) != nil {
				return nil //nolint:nilerr // its sender has gone
			}
			continue
		}
		if mine := w.ending(m, said); e.How != mine.How || e.By != mine.By {
			return w.config.Approvals.Gone(ctx, a.ID)
		}
		return nil
	}
	return nil
}

// looks is how often [Answers.counted] looks, and between how long it waits in between.
const (
	looks   = 40
	between = 25 * time.Millisecond
)

func sleep(ctx context.Context) error {
	select {
	case <-time.After(between):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signed returns an answer with the name of its sender.
func (w *Answers) signed(m message.Mail, said session.Answer) session.Answer {
	switch {
	case said.By != "":
	case atTerminal(m):
		said.By = "an operator"
	default:
		said.By = w.config.People.Sender(m.Caller()).Record()
	}
	return said
}

// From returns the conversation from which the sender of a message answers.
func (w *Answers) From(m message.Mail) (session.Key, error) {
	m.To = ""
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
	return w.config.Approvals.May(ctx, w.person(m, from), a)
}

// person returns who answers with a message. Somebody at the terminal who writes in nobody's name is an
// operator: no other client may say that it is there.
func (w *Answers) person(m message.Mail, from session.Key) approval.Person {
	return approval.Person{
		Facts: w.config.People.Facts(m.Caller(), w.config.Catalog()), From: from, Operator: m.Operator || atTerminal(m),
	}
}

func atTerminal(m message.Mail) bool {
	return m.Channel == "cli" && m.User == "" && !m.Background && m.Bounds == nil && m.Origin == nil
}

// may returns why an answer does not count. One who asked and may not decide withdraws the call by
// declining it.
func (w *Answers) may(
	ctx context.Context, from session.Key, m message.Mail, a approval.Approval, said *session.Answer,
) error {
	by := w.person(m, from)
	if said.Withdrawn {
		said.Approved = false
		return w.config.Approvals.MayWithdraw(by, a)
	}
	err := w.config.Approvals.May(ctx, by, a)
	if err != nil && !said.Approved && w.config.Approvals.Asked(by, a) {
		said.Withdrawn, err = true, nil
	}
	return err
}

// Decide returns what a message says that answers what waits: in its own conversation, or in the one
// that To names. Says is what its sender reads then.
func (w *Answers) Decide(
	ctx context.Context, s session.Session, m message.Mail, text approval.Command,
) (answer message.Mail, says string, err error) {
	found, said, err := w.config.Approvals.Resolve(ctx, s, text)
	if err == nil {
		err = w.may(ctx, s.Key, m, found, &said)
	}
	language := w.config.Language(ctx, m, s.Key)
	if err != nil {
		return m, approval.Why(err, language), err
	}
	m.Text, m.Answers = "", []session.Answer{said}
	if m.To = found.Session; m.To != s.Key {
		m.Wait, m.IdempotencyKey, m.History = false, "", nil
		m.Reply = nil // the turn replies where it was asked
	}
	return m, approval.Acknowledgement(said, found.Question != "", language), nil
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
			return a.Call == said.Call && (said.ID == "" || a.ID == said.ID) && a.For == session.Approval &&
				a.Note == "" &&
				(a.Apart == nil || len(answers) == 1) // it has a turn of its own
		})
		if turn.PhaseOf(s) != turn.Waiting || at < 0 {
			return nil, m, phrase.Errorf("call %q: %w", said.Call, message.ErrNothingAwaited)
		}
		if slices.ContainsFunc(answers[:i], func(a session.Answer) bool { return a.Call == said.Call }) {
			return nil, m, phrase.Errorf("call %q has two answers", said.Call)
		}
		if err := checkLasts(said.Lasts); err != nil {
			return nil, m, err
		}
		a := s.Awaits[at]
		if err := w.may(ctx, s.Key, m, approval.Approval{Await: a, Session: s.Key}, said); err != nil {
			return nil, m, err
		}
		*said = w.signed(m, *said)
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
	apart := apartOf(s, answers)
	if apart != nil {
		s.Turn.Request = apart.Request
	}
	a, begun, err := w.config.Agents.OpenTurn(s)
	if err != nil {
		return nil, begun, err
	}
	if apart != nil {
		begun.Outcome = &turn.Outcome{Call: apart.Call, Waited: true, System: true, Result: chat.Result{Text: waited}}
	}
	if len(m.Results) > 0 { // the client says anew how its turn goes on
		begun.Results, begun.Offer, begun.Settings, begun.Instructions = m.Results, m.Offer, m.Settings, m.Instructions
	}
	for _, await := range lasting {
		by := answers[slices.IndexFunc(answers, func(said session.Answer) bool { return said.Call == await.Call })].By
		g := approval.Grant{
			ID: await.ID, Tool: await.Tool, Hash: await.Hash, Agent: a.Name, User: await.User, Channel: begun.Channel,
			By:   by,
			Time: w.config.Now().Round(time.Second),
		}
		if g.User == "" && !route.Operator(s.Key) {
			return nil, begun, phrase.Errorf(
				"%w: the one who asked has no name, so an approval cannot count always; leave it out, or write %s",
				message.ErrInvalid, session.ForSession,
			)
		}
		if err := w.config.Approvals.Grants.Put(ctx, g); err != nil {
			return nil, begun, fmt.Errorf("storing the approval: %w: %w", store.ErrAway, err)
		}
	}
	for _, said := range answers {
		i := slices.IndexFunc(s.Awaits,
			func(a session.Await) bool { return a.Call == said.Call && a.For == session.Approval })
		if err := w.config.Ended(ctx, approval.Of(s, s.Awaits[i]), w.ending(m, said)); err != nil {
			return nil, begun, err
		}
	}
	begun.Kind, begun.Answers, begun.IdempotencyKey = message.KindAnswer, answers, m.IdempotencyKey
	if len(m.Reply) > 0 {
		begun.Reply = m.Reply
	}
	return a, begun, nil
}

// waited is what the model reads before a call that waited while the conversation went on.
const waited = "[system: people have decided about a call of yours that waited for an approval. Its result comes next; tell the user.]"

// apartOf returns the call that one answer is for, if it waits apart from the turns of a session.
func apartOf(s session.Session, answers []session.Answer) *session.ApartCall {
	if len(answers) != 1 {
		return nil
	}
	i := slices.IndexFunc(s.Awaits,
		func(a session.Await) bool { return a.Call == answers[0].Call && a.For == session.Approval })
	return s.Awaits[i].Apart
}

// ending is what an answer in a message makes of a request.
func (w *Answers) ending(m message.Mail, said session.Answer) approval.Ending {
	from, _ := w.From(m) // it is the agent of the conversation, which is there
	e := approval.Ending{How: approval.Declined, By: said.By, Reason: said.Reason, From: from}
	switch {
	case said.Withdrawn:
		e.How = approval.Withdrawn
	case said.Approved:
		e.How = approval.Approved
	case said.Reason == expired:
		e.How, e.By = approval.Expired, ""
	}
	return e
}

// CheckResults refuses results of a client for calls that do not wait for them in a session, and
// some that leave others out.
func (w *Answers) CheckResults(s session.Session, m message.Mail) error {
	if len(m.Results) == 0 {
		return nil
	}
	by, brought := w.config.People.Sender(m.Caller()).Record(), map[string]bool{}
	for _, r := range m.Results {
		i := slices.IndexFunc(s.Awaits,
			func(a session.Await) bool { return a.Call == r.CallID && a.For == session.Client })
		switch {
		case i < 0 || s.Awaits[i].User != by:
			return phrase.Errorf("%w: no call %q of this conversation waits for a result", message.ErrInvalid, r.CallID)
		case brought[r.CallID]:
			return phrase.Errorf("%w: call %q has two results", message.ErrInvalid, r.CallID)
		}
		brought[r.CallID] = true
	}
	for _, a := range s.Awaits {
		if a.For == session.Client && !brought[a.Call] {
			return phrase.Errorf("%w: the result of call %q is missing", message.ErrInvalid, a.Call)
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
		if a.For == session.Approval && a.Question != "" && a.Apart == nil &&
			w.May(ctx, s.Key, m, approval.Approval{Await: a, Session: s.Key}) == nil {
			m.Text, m.Answers = "", []session.Answer{
				{Call: a.Call, ID: a.ID, Approved: true, Text: approval.Approval{Await: a}.Choice(m.Text)},
			}
			break
		}
	}
	return m
}
