// Package approval knows which calls and questions wait for people, who may answer them, and which
// approvals last.
package approval

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// ErrNotYours says that an answer does not count: somebody else may give it.
var ErrNotYours = phrase.Errorf("your answer does not count")

// Approval is a call that waits for an answer, as people see it.
type Approval struct {
	session.Await
	Session session.Key `json:"session"`
	// From is the conversation of the person who is asked, if Session is a sub-agent's.
	From session.Key `json:"from,omitempty"`
}

// Config says what approvals depend on.
type Config struct {
	Store store.Store
	// Approvers is [engine.Config.Approvers].
	Approvers func(ctx context.Context, a rules.Attempt) rules.Decision
	// Catalog returns what exists now, and Now the time.
	Catalog func() *catalog.Catalog
	Now     func() time.Time
	// Root returns the conversation of the person for whom the sub-agent of a session works; empty
	// if it is not known.
	Root func(s session.Session) session.Key
	Log  *slog.Logger
}

// Approvals are what waits for people in a store. They are safe for concurrent use.
type Approvals struct {
	// Grants are the lasting approvals.
	Grants *Grants

	config Config
}

// New returns the approvals in a store.
func New(cfg Config) *Approvals { return &Approvals{&Grants{cfg.Store, cfg.Log}, cfg} }

// List returns what waits for an answer, in the sessions that changed least recently first.
func (s *Approvals) List(ctx context.Context) ([]Approval, error) { return s.under(ctx, "") }

// under returns what waits for an answer in the sessions in which an ID does, or in all.
func (s *Approvals) under(ctx context.Context, id string) ([]Approval, error) {
	keys, err := s.config.Store.Asking(ctx, id)
	list := []Approval{}
	for _, key := range keys {
		asked, err := s.config.Store.Load(ctx, key, 1)
		if err != nil {
			return nil, err
		}
		var from session.Key
		if asked.Parent != "" {
			from = s.config.Root(asked)
		}
		for _, a := range asked.Awaits {
			if a.For == session.Approval {
				list = append(list, Approval{a, key, from})
			}
		}
	}
	return list, err
}

// Get returns what waits under an ID, in any session.
func (s *Approvals) Get(ctx context.Context, id string) (Approval, error) {
	list, err := s.under(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	for _, a := range list {
		if a.ID == id && id != "" {
			return a, nil
		}
	}
	return Approval{}, phrase.Errorf("%q: %w: it was answered, it expired, or it never was", id, ErrNone)
}

// Person is somebody who answers.
type Person struct {
	Facts chat.Facts
	// From is the conversation in which the answer is given.
	From session.Key
	// Operator says that the answer is an operator's, which is always in effect.
	Operator bool
}

// May returns why a person may not answer what waits: a rule names
// its tool and does not allow it, or no rule does, and somebody else asked. Somebody
// without a name is known by the conversation only that the message came from.
func (s *Approvals) May(ctx context.Context, by Person, a Approval) error {
	if by.Operator || s.config.Approvers == nil {
		return nil
	}
	f, now := by.Facts, s.config.Catalog()
	f.Agent, f.Session, f.Time = route.Agent(a.Session), string(a.Session), s.config.Now()
	here := by.From == cmp.Or(a.From, a.Session) || route.Operator(by.From) && route.Operator(a.Session)
	asker := f.Sender == a.User && (a.User != "" || here)
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
	entry, ok := now.Get(a.Tool)
	if !ok || a.Question != "" { // what the tool asks, only the asker knows
		if asker {
			return nil
		}
		if a.User == "" {
			return phrase.Errorf("%w: the person at the other end was asked", ErrNotYours)
		}
		return phrase.Errorf("%w: %s was asked", ErrNotYours, a.User)
	}
	switch s.config.Approvers(ctx, rules.Attempt{Facts: f, Entry: entry, Catalog: now, Now: now}).Effect {
	case rules.Allow:
		return nil
	case rules.Deny:
		return phrase.Errorf("%w: the rules for approvals do not let you decide about %s", ErrNotYours, a.Tool)
	}
	if asker {
		return nil
	}
	if a.User == "" {
		return phrase.Errorf("%w: only the conversation that asked for %s, or an operator, decides about it",
			ErrNotYours, a.Tool)
	}
	return phrase.Errorf("%w: only %s, who asked for it, or an operator decides about %s", ErrNotYours, a.User, a.Tool)
}

// Text is the text in a language that asks people for what a turn waits for.
func Text(lang string, list []session.Await) string {
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
		b.WriteString(phrase.In(lang, "This call needs an approval (%s): %s, risk %s",
			a.ID, tool.Label(a.Tool, a.Original), phrase.Word(lang, a.Risk)))
		if a.Arguments != "" && a.Arguments != "{}" {
			fmt.Fprintf(&b, "\n%s", a.Arguments)
		}
		b.WriteString("\n" + phrase.In(lang, "Answer %s %s, %s %s REASON, or add %s or %s to approve more than this call.",
			Approve, a.ID, Deny, a.ID, session.ForSession, session.Always))
		if !a.Until.IsZero() {
			b.WriteString(" " + phrase.In(lang, "It expires %s.", a.Until.UTC().Format("2006-01-02 15:04 UTC")))
		}
	}
	return b.String()
}
