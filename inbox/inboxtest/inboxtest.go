// Package inboxtest makes the parts of an engine that accept messages, for the tests of the packages
// around the inbox. No turn runs: each item ends as soon as its session is free, and is recorded.
package inboxtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// MaxMessage is how long a message may be.
const MaxMessage = 1000

// Secret is hidden in texts.
const Secret = "hunter2-hunter2"

// Parts are an inbox with what it consists of.
type Parts struct {
	Store    *store.Memory
	Registry *catalog.Registry // has the tool remove
	People   *people.People    // alice is telegram:1
	Agents   *agent.Agents
	Box      *mailbox.Box
	Inbox    *inbox.Inbox
	Secrets  *secret.Set
	// Clock is the time of all parts.
	Clock time.Time

	mu     sync.Mutex
	worked []message.Mail
}

// New returns parts with agents; without any, with one that is named main.
func New(t testing.TB, list ...agent.Config) *Parts {
	t.Helper()
	p := &Parts{
		Store: &store.Memory{}, Registry: catalog.NewRegistry(nil), Secrets: &secret.Set{},
		Clock: time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC),
	}
	remove := tool.New(
		tool.Definition{Name: "remove", Description: "Remove a file", Risk: tool.Destructive},
		func(context.Context, json.RawMessage) (chat.Result, error) { return tool.Text("removed"), nil },
	)
	users, err := identity.New([]identity.User{{Name: "alice", Identities: []string{"telegram:1"},
		Roles: []string{"admin"}}})
	if err == nil {
		err = p.Registry.Register(remove)
	}
	if err == nil {
		err = p.Secrets.Set("the test", Secret)
	}
	if err != nil {
		t.Fatal(err)
	}
	log, now := slog.New(slog.DiscardHandler), func() time.Time { return p.Clock }
	p.People = people.New(people.Config{
		Users: func(*catalog.Catalog) *identity.Users { return users }, Catalog: p.Registry.Catalog,
	})
	p.Box = mailbox.New(mailbox.Config{
		Store: p.Store, Worker: p, Log: log, Now: now, Holder: "here", Width: 4, Retry: func(string) {},
	})
	for i := range list {
		list[i].Model = fake.New()
	}
	if len(list) == 0 {
		list = []agent.Config{{Name: "main", Model: fake.New()}}
	}
	p.Agents, err = agent.New(agent.Host{
		Store: p.Store, People: p.People, Catalog: p.Registry.Catalog,
		Selector: selection.Follow(p.Registry, selection.Config{}),
		Voting: func(_ string, s func() *selection.Selector) func() *selection.Selector {
			return s
		},
		Turn: turn.Config{Secrets: p.Secrets, Log: log}, MaxMessage: MaxMessage, Now: now, Log: log,
	}, list)
	if err != nil {
		t.Fatal(err)
	}
	p.Inbox = inbox.New(inbox.Config{Store: p.Store, Box: p.Box, People: p.People, Holder: "here"})
	return p
}

// Worked waits until nothing is worked on, and returns the items that were, in order.
func (p *Parts) Worked(t testing.TB) []message.Mail {
	t.Helper()
	p.Box.Running.Wait(t.Context())
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.worked
}

// Put stores a state of a session, with messages.
func (p *Parts) Put(t testing.TB, key session.Key, s session.State, messages ...chat.Message) session.Session {
	t.Helper()
	if err := p.Store.Append(t.Context(), key, s, messages...); err != nil {
		t.Fatal(err)
	}
	return p.Load(t, key)
}

// Load returns a session.
func (p *Parts) Load(t testing.TB, key session.Key) session.Session {
	t.Helper()
	s, err := p.Store.Load(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Work implements [mailbox.Worker]: it records an item and ends it.
func (p *Parts) Work(ctx context.Context, i store.Item) error {
	m, err := message.Read(i.Message)
	if err != nil {
		return err
	}
	m.To = i.Session
	p.mu.Lock()
	p.worked = append(p.worked, m)
	p.mu.Unlock()
	return p.Store.Finish(ctx, store.End{ID: i.ID, Result: message.Result(&turn.End{Reply: "done"}, nil)})
}

// Finish implements [mailbox.Worker].
func (*Parts) Finish(context.Context, session.Key, bool) error { return nil }

// Lost implements [mailbox.Worker].
func (*Parts) Lost(context.Context, session.Key) error { return nil }

// Park implements [mailbox.Worker].
func (*Parts) Park(context.Context, store.Item) error { return nil }
