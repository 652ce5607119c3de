// Package order has the messages that programs send in somebody's name, at a time of their own: they
// may use what that person might use, and nothing else.
package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// Config says what orders depend on. All of it is needed.
type Config struct {
	Store   store.Store
	Agents  *agent.Agents
	People  *people.People
	Inbox   *inbox.Inbox
	Catalog func() *catalog.Catalog
}

// Orders checks and accepts orders. It is safe for concurrent use.
type Orders struct{ config Config }

// New returns what accepts orders.
func New(cfg Config) *Orders { return &Orders{cfg} }

// Order is a message that a program sends in somebody's name, at a time of its own.
type Order struct {
	message.Message
	// Caller is in whose name it is sent, instead of what Message says of its sender.
	Caller identity.Caller
	// To is the conversation; empty means that of the caller.
	To session.Key
	// Bounds, when not nil, are what somebody might use when they gave the order: it may use only
	// what was allowed then and is allowed when it is sent.
	Bounds *message.Bounds
}

// mail returns the item of the inbox that an order becomes.
func (o Order) mail() message.Mail {
	return message.Mail{Message: o.Message, To: o.To, Bounds: o.Bounds}.From(o.Caller)
}

// Check refuses an order that could not be sent now. It returns the order with the conversation to
// which it belongs.
func (l *Orders) Check(o Order) (Order, error) {
	a, m, err := l.config.Agents.Ready(o.mail())
	if err != nil {
		return o, err
	}
	o.Message, o.Caller, o.To = m.Message, m.Caller(), l.config.Agents.Key(a, m)
	return o, agent.CheckKey(o.To)
}

// Submit accepts an order, and has it answered in the background. With an IdempotencyKey it is
// accepted once, however often it is submitted.
func (l *Orders) Submit(ctx context.Context, o Order) error {
	a, m, err := l.config.Agents.Ready(o.mail())
	if err != nil {
		return err
	}
	return l.config.Inbox.Submit(ctx, l.config.Agents.Key(a, m), m)
}

// New returns an order without a text, in the name of the caller of the turn that calls a tool
// with the context, for the same conversation and within what the caller may use now.
func (l *Orders) New(ctx context.Context) (Order, error) {
	f := tool.Caller(ctx)
	s, err := l.config.Store.Load(ctx, session.Key(f.Session), 1)
	if err != nil {
		return Order{}, fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	if s.Turn.ID == "" {
		return Order{}, errors.New("there is no conversation to come back to")
	}
	_, m, err := l.config.Agents.OpenTurn(s)
	if err != nil {
		return Order{}, err
	}
	now := l.config.People.Facts(m.Caller(), l.config.Catalog())
	same := now.Sender == f.Sender && now.Channel == f.Channel && now.Chat == f.Chat
	if !same || !slices.Equal(now.PlatformRoles, f.PlatformRoles) {
		return Order{}, errors.New("somebody else's message is being answered in this conversation; " +
			"try again when it is")
	}
	b := &message.Bounds{
		Facts: f, Include: m.Include, Exclude: m.Exclude, IncludeSkills: m.IncludeSkills,
		ExcludeSkills: m.ExcludeSkills,
	}
	if m.Bounds != nil {
		b.First = cmp.Or(m.Bounds.First, m.Bounds)
	}
	return Order{Message: message.Message{Agent: f.Agent}, Caller: m.Caller(), To: s.Key, Bounds: b}, nil
}
