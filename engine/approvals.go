package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
)

// The commands with which people answer, as texts of messages on every channel: the ID of
// what waits, which may be left out where only one thing does, and then for how long an
// approval counts, or why a call is declined.
//
// Choose is what the buttons of a question say, with its ID and the answer: so a button that is
// pressed by somebody else, twice, or when the question is over, says nothing else.
const (
	Approve = "/approve"
	Deny    = "/deny"
	Choose  = "/answer"
)

// ErrNotYours says that an answer does not count: somebody else may give it.
var ErrNotYours = errors.New("your answer does not count")

// Approval is a call that waits for an answer, as people see it.
type Approval struct {
	session.Await
	Session session.Key `json:"session"`
	// From is the conversation of the person who is asked, if Session is a sub-agent's.
	From session.Key `json:"from,omitempty"`
}

// Grants returns the lasting approvals.
func (e *Engine) Grants() *approval.Grants { return e.grants }

// Approvals returns what waits for an answer, in the sessions that changed least recently first.
func (e *Engine) Approvals(ctx context.Context) ([]Approval, error) { return e.waitingUnder(ctx, "") }

// waitingUnder returns what waits for an answer in the sessions in which an ID does, or in all.
func (e *Engine) waitingUnder(ctx context.Context, id string) ([]Approval, error) {
	keys, err := e.config.Store.Asking(ctx, id)
	list := []Approval{}
	for _, key := range keys {
		s, err := e.config.Store.Load(ctx, key, 1)
		if err != nil {
			return nil, err
		}
		var from session.Key
		if s.Parent != "" {
			if _, m, err := e.begun(s); err == nil && m.Origin != nil {
				from = m.Origin.root()
			}
		}
		for _, a := range s.Awaits {
			if a.For == session.Approval {
				list = append(list, Approval{a, key, from})
			}
		}
	}
	return list, err
}

// awaited returns what waits under an ID, in any session.
func (e *Engine) awaited(ctx context.Context, id string) (Approval, error) {
	list, err := e.waitingUnder(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	for _, a := range list {
		if a.ID == id && id != "" {
			return a, nil
		}
	}
	return Approval{}, fmt.Errorf("%q: %w: it was answered, it expired, or it never was", id, approval.ErrNone)
}

// ApprovalsFor returns what the sender of a message, whose text is not needed, may answer.
func (e *Engine) ApprovalsFor(ctx context.Context, sender Message) ([]Approval, error) {
	m, err := e.told(newMail(sender))
	if err != nil {
		return nil, err
	}
	key, err := e.from(m)
	if err != nil {
		return nil, err
	}
	list, err := e.Approvals(ctx)
	return slices.DeleteFunc(list, func(a Approval) bool { return e.mayAnswer(ctx, key, m, a) != nil }), err
}

// Answer answers what waits under an ID, in the name of the sender of a message, whose
// text is not needed. The turn goes on in the background. An operator's answer always
// counts. It returns what was answered, [approval.ErrNone] or [ErrNotYours].
func (e *Engine) Answer(ctx context.Context, sender Message, id string, said session.Answer, operator bool) (Approval, error) {
	a, err := e.awaited(ctx, id)
	if err != nil {
		return a, err
	}
	said.Call, said.ID = a.Call, a.ID
	sender.Text, sender.Files, sender.Answers, sender.IdempotencyKey, sender.Wait, sender.History, sender.Reply = "", nil, []session.Answer{said}, "", false, nil, nil
	_, m, err := e.ready(newMail(sender))
	if err != nil {
		return a, err
	}
	m.Operator, m.Background = operator, false
	if !said.Lasts.Known() {
		return a, wrongLasts(said.Lasts)
	}
	key, err := e.from(m)
	if err == nil {
		err = e.mayAnswer(ctx, key, m, a)
	}
	if err == nil {
		m.To = a.Session
		err = e.submit(ctx, a.Session, m)
	}
	return a, err
}

// from returns the conversation from which the sender of a message answers.
func (e *Engine) from(m mail) (session.Key, error) {
	a, err := e.agent(m.Agent)
	if err != nil {
		return "", err
	}
	return e.key(a, m), nil
}

func wrongLasts(l session.Lasts) error {
	return fmt.Errorf("%w: %q is not how long an approval counts: leave it out for once, or write %s or %s", ErrInvalid, l, session.ForSession, session.Always)
}

// submit puts a message of the engine's own into the mailbox of a session, and has it
// answered in the background.
func (e *Engine) submit(ctx context.Context, key session.Key, m mail) error {
	item, fresh, err := e.accept(ctx, key, m)
	if err == nil && fresh {
		e.box.TakeUp(item)
	}
	return err
}

// mayAnswer returns why the sender of a message may not answer what waits: a rule names
// its tool and does not allow it, or no rule does, and somebody else asked. Somebody
// without a name is known by the conversation only that the message came from.
func (e *Engine) mayAnswer(ctx context.Context, from session.Key, m mail, a Approval) error {
	if m.Operator || e.config.Approvers == nil {
		return nil
	}
	f := e.facts(m, e.Catalog())
	f.Agent, f.Session, f.Time = route.Agent(a.Session), string(a.Session), e.config.Now()
	asker := e.sender(m).Record() == a.User && (a.User != "" || from == cmp.Or(a.From, a.Session) || route.Operator(from) && route.Operator(a.Session))
	attrs := map[string]string{"asker": a.User}
	if asker {
		attrs["asker"] = f.User // a peer's user.id lacks the channel
	}
	for name, value := range f.Attrs {
		if name != "asker" {
			attrs[name] = value
		}
	}
	f.Attrs = attrs
	entry, ok := e.Catalog().Get(a.Tool)
	if !ok || a.Question != "" { // what the tool asks, only the asker knows
		if asker {
			return nil
		}
		return fmt.Errorf("%w: %s was asked", ErrNotYours, cmp.Or(a.User, "the person at the other end"))
	}
	switch e.config.Approvers(ctx, rules.Attempt{Facts: f, Entry: entry, Catalog: e.Catalog(), Now: e.Catalog()}).Effect {
	case rules.Allow:
		return nil
	case rules.Deny:
		return fmt.Errorf("%w: the rules for approvals do not let you decide about %s", ErrNotYours, a.Tool)
	}
	if asker {
		return nil
	}
	if a.User == "" {
		return fmt.Errorf("%w: only the conversation that asked for %s, or an operator, decides about it", ErrNotYours, a.Tool)
	}
	return fmt.Errorf("%w: only %s, who asked for it, or an operator decides about %s", ErrNotYours, a.User, a.Tool)
}

// asking is the text that asks people for what a turn waits for.
func asking(list []session.Await) string {
	var b strings.Builder
	for i, a := range list {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if a.Question != "" {
			b.WriteString(a.Question)
			for n, choice := range a.Choices {
				fmt.Fprintf(&b, "\n%d. %s", n+1, choice)
			}
			continue
		}
		fmt.Fprintf(&b, "This call needs an approval (%s): %s, risk %s", a.ID, a.Tool, a.Risk)
		if a.Arguments != "" && a.Arguments != "{}" {
			fmt.Fprintf(&b, "\n%s", a.Arguments)
		}
		fmt.Fprintf(&b, "\nAnswer %s %s, %s %s REASON, or add %s or %s to approve more than this call.", Approve, a.ID, Deny, a.ID, session.ForSession, session.Always)
		if !a.Until.IsZero() {
			fmt.Fprintf(&b, " It expires %s.", a.Until.UTC().Format("2006-01-02 15:04 UTC"))
		}
	}
	return b.String()
}

// expire answers for the people what nobody has answered in time: the calls are refused,
// and their turns go on.
func (e *Engine) expire(ctx context.Context) error {
	list, err := e.Approvals(ctx)
	now := e.config.Now()
	for _, a := range list {
		if err == nil && !a.Until.IsZero() && now.After(a.Until) {
			// The key makes it one answer, however many processes look.
			err = e.submit(ctx, a.Session, mail{Kind: KindAnswer, To: a.Session, Operator: true, Message: Message{
				Background: true, IdempotencyKey: "expired-" + a.ID, Answers: []session.Answer{{Call: a.Call, ID: a.ID, Reason: expired}},
			}})
			if errors.Is(err, ErrKeyReused) { // another version of etui has said it, in other words
				err = nil
			}
		}
	}
	return err
}
