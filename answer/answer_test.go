package answer_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/etui-run/etui/answer"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inbox/inboxtest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
)

// parts are answers, and a conversation in which a call of alice waits for an approval.
type parts struct {
	*inboxtest.Parts
	approvals *approval.Approvals
	answers   *answer.Answers
	session   session.Session
	ended     []approval.Ending
}

const key session.Key = "agent:main:person:alice"

var alice, bob = message.Message{Channel: "telegram", User: "1"}, message.Message{Channel: "telegram", User: "2"}

func open(t *testing.T, change func(*session.Await)) *parts {
	t.Helper()
	p := &parts{Parts: inboxtest.New(t)}
	now := func() time.Time { return p.Clock }
	p.approvals = approval.New(approval.Config{
		Store: p.Store, Catalog: p.Registry.Catalog, Now: now, Log: slog.New(slog.DiscardHandler),
		Approvers: func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} },
	})
	p.answers = answer.New(answer.Config{
		Approvals: p.approvals, Agents: p.Agents, People: p.People, Inbox: p.Inbox, Store: p.Store, Catalog: p.Registry.Catalog, Now: now,
		Ended: func(_ context.Context, _ approval.Approval, e approval.Ending) error {
			p.ended = append(p.ended, e)
			return nil
		},
		Language: func(context.Context, message.Mail, session.Key) string { return "" },
	})
	await := session.Await{
		Call: "c1", ID: "k3f9", Tool: "remove", Hash: "h", User: "alice", For: session.Approval, Until: p.Clock.Add(time.Hour),
	}
	if change != nil {
		change(&await)
	}
	begun := message.New(alice)
	begun.Agent, begun.Text = "main", "remove it"
	p.session = p.Put(t, key, session.State{
		Turn: session.Turn{ID: "t", Request: begun.Stored()}, Awaits: []session.Await{await},
	},
		chat.Message{Role: chat.User, Text: "remove it"},
		chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "c1", Name: "remove"}}},
	)
	return p
}

// TestGive: the one who asked answers, and an operator; nobody else does.
func TestGive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sender   message.Message
		id       string
		lasts    session.Lasts
		operator bool
		err      error
		sees     int
	}{
		"who asked":     {alice, "k3f9", session.Once, false, nil, 1},
		"for a while":   {alice, "k3f9", session.ForSession, false, nil, 1},
		"somebody else": {bob, "k3f9", session.Once, false, approval.ErrNotYours, 0},
		"an operator":   {bob, "k3f9", session.Once, true, nil, 0},
		"another ID":    {alice, "zzzz", session.Once, false, approval.ErrNone, 1},
		"for ever":      {alice, "k3f9", "for ever", false, message.ErrInvalid, 1},
	} {
		p := open(t, nil)
		if list, err := p.answers.For(t.Context(), c.sender); err != nil || len(list) != c.sees {
			t.Errorf("%s: may answer %+v, %v; want %d", name, list, err, c.sees)
		}
		said := session.Answer{Approved: true, Lasts: c.lasts}
		_, err := p.answers.Give(t.Context(), c.sender, c.id, said, c.operator)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		list := p.Worked(t)
		if (len(list) == 1) != (c.err == nil) {
			t.Errorf("%s: %d answers came", name, len(list))
			continue
		}
		for _, m := range list {
			if m.To != key || m.Kind != message.KindAnswer || m.Operator != c.operator || len(m.Answers) != 1 ||
				m.Answers[0].Call != "c1" || m.Answers[0].ID != "k3f9" || !m.Answers[0].Approved || m.Answers[0].Lasts != c.lasts {
				t.Errorf("%s: the answer is %+v", name, m)
			}
		}
	}
}

// TestTake: answers go to what waits, once each and in time.
func TestTake(t *testing.T) {
	t.Parallel()
	yes := session.Answer{Call: "c1", Approved: true}
	for name, c := range map[string]struct {
		sender  message.Message
		answers []session.Answer
		change  func(*session.Await)
		err     error
		want    bool // approved
		grants  int
	}{
		"yes":              {sender: alice, answers: []session.Answer{yes}, want: true},
		"no":               {sender: alice, answers: []session.Answer{{Call: "c1"}}},
		"another call":     {sender: alice, answers: []session.Answer{{Call: "c2", Approved: true}}, err: message.ErrNothingAwaited},
		"an older request": {sender: alice, answers: []session.Answer{{Call: "c1", ID: "older", Approved: true}}, err: message.ErrNothingAwaited},
		"twice":            {sender: alice, answers: []session.Answer{yes, {Call: "c1"}}, err: errAny},
		"somebody else":    {sender: bob, answers: []session.Answer{yes}, err: approval.ErrNotYours},
		"always":           {sender: alice, answers: []session.Answer{{Call: "c1", Approved: true, Lasts: session.Always}}, want: true, grants: 1},
		"never":            {sender: alice, answers: []session.Answer{{Call: "c1", Lasts: session.Always}}},
		"too late":         {sender: alice, answers: []session.Answer{yes}, change: func(a *session.Await) { a.Until = a.Until.Add(-2 * time.Hour) }},
	} {
		p := open(t, c.change)
		m := message.New(c.sender)
		m.Answers = c.answers
		a, begun, err := p.answers.Take(t.Context(), p.session, m)
		if c.err != nil {
			if err == nil || !errors.Is(c.err, errAny) && !errors.Is(err, c.err) {
				t.Errorf("%s: %v, want %v", name, err, c.err)
			}
			continue
		}
		if err != nil || a.Name != "main" || begun.Kind != message.KindAnswer || begun.To != key || len(begun.Answers) != 1 {
			t.Errorf("%s: %+v, %v", name, begun, err)
			continue
		}
		if said := begun.Answers[0]; said.Approved != c.want || c.change == nil && said.By != "alice" || c.change != nil && said.Reason == "" {
			t.Errorf("%s: the answer is %+v, want %v", name, said, c.want)
		}
		grants, err := p.approvals.Grants.List(t.Context())
		if err != nil || len(grants) != c.grants {
			t.Errorf("%s: lasting approvals %+v, %v, want %d", name, grants, err, c.grants)
		}
	}
}

var errAny = errors.New("any error")

// TestFromText: a text answers a question for its sender, and nothing else.
func TestFromText(t *testing.T) {
	t.Parallel()
	question := func(a *session.Await) { a.Question, a.Choices = "which one?", []string{"red", "green"} }
	background := alice
	background.Background = true
	for name, c := range map[string]struct {
		sender message.Message
		change func(*session.Await)
		want   string // the text of the answer; empty if the text stays one
	}{
		"a choice":       {alice, question, "green"},
		"no question":    {alice, nil, ""},
		"somebody else":  {bob, question, ""},
		"from the clock": {background, question, ""},
	} {
		p := open(t, c.change)
		m := message.New(c.sender)
		m.Text = "2"
		got := p.answers.FromText(t.Context(), m, p.session)
		answered := len(got.Answers) == 1 && got.Text == "" && got.Answers[0].Text == c.want && got.Answers[0].Approved
		if answered != (c.want != "") || c.want == "" && (got.Text != "2" || len(got.Answers) > 0) {
			t.Errorf("%s: %q, %+v, want %q", name, got.Text, got.Answers, c.want)
		}
	}
}

// TestExpire: what nobody answers in time is answered once, with no.
func TestExpire(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	for range 2 {
		if err := p.answers.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if list := p.Worked(t); len(list) != 0 {
		t.Errorf("in time: %+v", list)
	}
	p.Clock = p.Clock.Add(2 * time.Hour)
	for range 3 {
		if err := p.answers.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list := p.Worked(t)
	if len(list) != 1 || !list[0].Operator || list[0].To != key || len(list[0].Answers) != 1 || list[0].Answers[0].Approved || list[0].Answers[0].ID != "k3f9" {
		t.Errorf("too late: %+v", list)
	}
}
