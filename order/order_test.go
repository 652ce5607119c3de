package order_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox/inboxtest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/order"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

func open(t *testing.T) (*inboxtest.Parts, *order.Orders) {
	t.Helper()
	p := inboxtest.New(t)
	return p, order.New(order.Config{
		Store: p.Store, Agents: p.Agents, People: p.People, Inbox: p.Inbox, Catalog: p.Registry.Catalog,
	})
}

var alice = identity.Caller{Channel: "telegram", User: "1"}

// TestCheck: an order that could not be sent is refused, and the others learn their conversation.
func TestCheck(t *testing.T) {
	t.Parallel()
	_, l := open(t)
	for name, c := range map[string]struct {
		order order.Order
		to    session.Key
		err   error
	}{
		"of a person":       {order.Order{Message: message.Message{Text: "hi"}, Caller: alice}, "agent:main:person:alice", nil},
		"to a conversation": {order.Order{Message: message.Message{Text: "hi"}, Caller: alice, To: "agent:main:group:irc:x"}, "agent:main:group:irc:x", nil},
		"no agent":          {order.Order{Message: message.Message{Text: "hi", Agent: "nobody"}, Caller: alice}, "", message.ErrUnknown},
		"no text":           {order.Order{Caller: alice}, "", message.ErrEmpty},
		"too long":          {order.Order{Message: message.Message{Text: strings.Repeat("x", inboxtest.MaxMessage+1)}, Caller: alice}, "", message.ErrTooLong},
		"a long key":        {order.Order{Message: message.Message{Text: "hi"}, To: session.Key(strings.Repeat("x", 600))}, "", message.ErrInvalid},
	} {
		o, err := l.Check(c.order)
		if !errors.Is(err, c.err) || err == nil && (o.To != c.to || !reflect.DeepEqual(o.Caller, c.order.Caller)) {
			t.Errorf("%s: to %q by %+v, %v; want %q, %v", name, o.To, o.Caller, err, c.to, c.err)
		}
	}
}

// TestSubmit: an order is worked on once, in its conversation and within its bounds.
func TestSubmit(t *testing.T) {
	t.Parallel()
	p, l := open(t)
	bounds := &message.Bounds{Exclude: []string{"remove"}}
	o := order.Order{Message: message.Message{Text: "remind me", IdempotencyKey: "1"}, Caller: alice, Bounds: bounds}
	for range 2 {
		if err := l.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	list := p.Worked(t)
	if len(list) != 1 {
		t.Fatalf("%d messages, want 1", len(list))
	}
	m := list[0]
	if m.Text != "remind me" || m.To != "agent:main:person:alice" || m.User != "1" || m.Kind != message.KindQuestion || !reflect.DeepEqual(m.Bounds, bounds) {
		t.Errorf("it is %+v", m)
	}
	o.Text = "another"
	if err := l.Submit(t.Context(), o); !errors.Is(err, message.ErrKeyReused) {
		t.Errorf("another text under the key: %v", err)
	}
}

// TestNew: a tool orders in the name of the caller of its turn, within what holds there, and for nobody
// else.
func TestNew(t *testing.T) {
	t.Parallel()
	p, l := open(t)
	const key session.Key = "agent:main:person:alice"
	begun := message.New(message.Message{Agent: "main", Exclude: []string{"remove"}, Text: "what she said"}).From(alice)
	first := &message.Bounds{Include: []string{"group:files"}}
	begun.Bounds = first
	p.Put(t, key, session.State{Turn: session.Turn{ID: "t", Request: begun.Stored()}})
	facts := p.People.Facts(alice, p.Registry.Catalog())
	facts.Agent, facts.Session = "main", string(key)
	for name, c := range map[string]struct {
		change func(*chat.Facts)
		err    string
	}{
		"her":               {func(*chat.Facts) {}, ""},
		"no turn":           {func(f *chat.Facts) { f.Session = "agent:main:main" }, "no conversation to come back to"},
		"somebody else":     {func(f *chat.Facts) { f.Sender = "telegram:2" }, "somebody else's message"},
		"another chat":      {func(f *chat.Facts) { f.Chat = "7" }, "somebody else's message"},
		"with another role": {func(f *chat.Facts) { f.PlatformRoles = []string{"owner"} }, "somebody else's message"},
	} {
		f := facts
		c.change(&f)
		o, err := l.New(tool.WithHost(t.Context(), tool.Host{Facts: f}))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		if err != nil || o.To != key || o.Agent != "main" || o.Text != "" || !reflect.DeepEqual(o.Caller, alice) {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		if b := o.Bounds; b == nil || b.Facts.Sender != facts.Sender || !reflect.DeepEqual(b.Exclude, []string{"remove"}) || !reflect.DeepEqual(b.First, first) {
			t.Errorf("%s: its bounds are %+v", name, o.Bounds)
		}
	}
}
