package inbox_test

import (
	"errors"
	"testing"

	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/inbox/inboxtest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

const key session.Key = "agent:main:main"

// TestAccept: a message with a key is there once for each sender, and one that can be joined once while
// it waits.
func TestAccept(t *testing.T) {
	t.Parallel()
	received := func() bool { return true }
	for name, c := range map[string]struct {
		first, second message.Message
		fresh         bool // the second one
		err           error
	}{
		"no key":              {message.Message{Text: "a"}, message.Message{Text: "a"}, true, nil},
		"the same key":        {message.Message{Text: "a", IdempotencyKey: "1"}, message.Message{Text: "a", IdempotencyKey: "1"}, false, nil},
		"another key":         {message.Message{Text: "a", IdempotencyKey: "1"}, message.Message{Text: "a", IdempotencyKey: "2"}, true, nil},
		"a key used again":    {message.Message{Text: "a", IdempotencyKey: "1"}, message.Message{Text: "b", IdempotencyKey: "1"}, false, message.ErrKeyReused},
		"another's key":       {message.Message{Text: "a", IdempotencyKey: "1", User: "ann"}, message.Message{Text: "b", IdempotencyKey: "1", User: "bob"}, true, nil},
		"one that is joined":  {message.Message{Text: "a", Received: received}, message.Message{Text: "a", Received: received}, false, nil},
		"another text":        {message.Message{Text: "a", Received: received}, message.Message{Text: "b", Received: received}, true, nil},
		"another one's words": {message.Message{Text: "a", Received: received, User: "ann"}, message.Message{Text: "a", Received: received, User: "bob"}, true, nil},
	} {
		p := inboxtest.New(t)
		first, fresh, err := p.Inbox.Accept(t.Context(), key, message.New(c.first))
		if err != nil || !fresh || first.State != store.Waiting {
			t.Fatalf("%s: the first one: %+v, %v, %v", name, first, fresh, err)
		}
		second, fresh, err := p.Inbox.Accept(t.Context(), key, message.New(c.second))
		if fresh != c.fresh || !errors.Is(err, c.err) || err == nil && (second.ID != first.ID) != c.fresh {
			t.Errorf("%s: %d after %d, %v, %v; want %v, %v", name, second.ID, first.ID, fresh, err, c.fresh, c.err)
		}
	}
}

// TestSubmit: what etui says itself is worked on once, in its session, behind what people say.
func TestSubmit(t *testing.T) {
	t.Parallel()
	p := inboxtest.New(t)
	m := message.Mail{Kind: message.KindNotice, Notice: "hello", Message: message.Message{IdempotencyKey: "notice-1"}}
	for range 3 {
		if err := p.Inbox.Deliver(t.Context(), key, m, ""); err != nil {
			t.Fatal(err)
		}
	}
	m.Notice = "another"
	if err := p.Inbox.Deliver(t.Context(), key, m, ""); err != nil {
		t.Errorf("a notice that was given already: %v", err)
	}
	if err := p.Inbox.Submit(t.Context(), key, message.New(message.Message{Text: "go on"})); err != nil {
		t.Fatal(err)
	}
	notices, texts := 0, 0
	for _, m := range p.Worked(t) {
		switch {
		case m.Notice == "hello" && m.To == key && m.Priority() == store.Background:
			notices++
		case m.Text == "go on" && m.Priority() == store.People:
			texts++
		default:
			t.Errorf("it works on %+v", m)
		}
	}
	if notices != 1 || texts != 1 {
		t.Errorf("%d notices and %d texts, want one each", notices, texts)
	}
}

// TestParked: an operator decides about a message that was given up, and about no other.
func TestParked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state       store.State
		retry, drop error
		worked      bool // after Retry
	}{
		"waiting":  {store.Waiting, inbox.ErrNotParked, inbox.ErrNotParked, false},
		"parked":   {store.Parked, nil, nil, true},
		"answered": {store.Answered, inbox.ErrNotParked, nil, false},
		"gone":     {"", inbox.ErrNoItem, inbox.ErrNoItem, false},
	} {
		for _, retry := range []bool{true, false} {
			p := inboxtest.New(t)
			i, _, err := p.Inbox.Accept(t.Context(), key, message.New(message.Message{Text: "hi", User: "ann"}))
			if err != nil {
				t.Fatal(err)
			}
			id := i.ID
			if i.State, i.Reason = c.state, "why"; c.state == "" {
				id++
			} else if err := p.Store.Update(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			if shown, err := p.Inbox.Item(t.Context(), id); c.state != "" &&
				(err != nil || shown.State != c.state || shown.Text != "hi" || shown.Kind != message.KindQuestion || shown.Reason != "why") {
				t.Errorf("%s: it is shown as %+v, %v", name, shown, err)
			}
			decide, want := p.Inbox.Drop, c.drop
			if retry {
				decide, want = p.Inbox.Retry, c.retry
			}
			if err := decide(t.Context(), id); !errors.Is(err, want) {
				t.Errorf("%s, retry %v: %v, want %v", name, retry, err, want)
			}
			if worked := len(p.Worked(t)) == 1; worked != (retry && c.worked) {
				t.Errorf("%s, retry %v: worked on %v", name, retry, worked)
			}
			if _, err := p.Inbox.Item(t.Context(), id); want == nil && !errors.Is(err, inbox.ErrNoItem) {
				t.Errorf("%s, retry %v: it is still there: %v", name, retry, err)
			}
		}
	}
}

// TestFile: a file that no message has is unknown.
func TestFile(t *testing.T) {
	t.Parallel()
	if _, err := inboxtest.New(t).Inbox.File(t.Context(), "abc"); !errors.Is(err, message.ErrUnknown) {
		t.Errorf("%v, want %v", err, message.ErrUnknown)
	}
}
