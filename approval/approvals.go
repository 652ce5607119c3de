// Package approval knows which calls and questions wait for people, who may answer them, and which
// approvals last.
package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// ErrNotYours says that an answer does not count: somebody else may give it.
var ErrNotYours = phrase.Errorf("your answer does not count")

// Approval is a call that waits for an answer, as people see it.
type Approval struct {
	session.Await
	Session session.Key `json:"session"`
	// From is the conversation of the person who is asked, if Session is a sub-agent's.
	From session.Key `json:"from,omitempty"`
	// Channel and Chat are where the message came from. Name is what the platform calls the sender there, if
	// the configuration has no name for them: anybody can choose theirs.
	Channel string `json:"channel,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Name    string `json:"name,omitempty"`
}

// Place returns the conversation of the person who asked.
func (a Approval) Place() session.Key { return cmp.Or(a.From, a.Session) }

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
				list = append(list, within(asked, a, from))
			}
		}
	}
	return list, err
}

// Of returns what a session awaits, as people see it.
func Of(s session.Session, a session.Await) Approval { return within(s, a, "") }

// within is Of, without the call itself.
func within(s session.Session, a session.Await, from session.Key) Approval {
	record := s.Turn.Request
	if a.Apart != nil {
		record, a.Apart = a.Apart.Request, nil
	}
	var at struct {
		Channel, Chat, Language string
		Direct                  bool
		Attrs                   map[string]string
	}
	if json.Unmarshal(record, &at) != nil || at.Direct { // only the sender reads the chat
		at.Chat = ""
	}
	a.Language = cmp.Or(a.Language, at.Language)
	name := ""
	if strings.Contains(a.User, ":") {
		name = printable.Line(strings.Join(strings.FieldsFunc(at.Attrs[chat.SenderName], func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) &&
				!strings.ContainsRune("'.-", r) // no markup
		}), " "), maxName)
	}
	return Approval{a, s.Key, from, at.Channel, at.Chat, name}
}

// maxName is how many characters of the sender's own name people read.
const maxName = 60

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
	return Approval{}, s.Gone(ctx, id)
}

// Person is somebody who answers.
type Person struct {
	Facts chat.Facts
	// From is the conversation in which the answer is given.
	From session.Key
	// Operator says that the answer is an operator's, which is always in effect.
	Operator bool
}

// Asked reports whether somebody is the one who asked for what waits. Somebody without a name is
// known by the conversation only that the message came from.
func (s *Approvals) Asked(by Person, a Approval) bool {
	here := by.From == a.Place() || route.Operator(by.From) && route.Operator(a.Session)
	return by.Facts.Sender == a.User && (a.User != "" || here)
}

// Attempt returns an answer of a person as the rules for approvals read it; without an entry where
// no rule decides.
func (s *Approvals) Attempt(by Person, a Approval) rules.Attempt {
	f, now := by.Facts, s.config.Catalog()
	f.Agent, f.Session, f.Time = route.Agent(a.Session), string(a.Session), s.config.Now()
	attrs := map[string]string{"asker": a.User}
	if s.Asked(by, a) {
		attrs["asker"] = f.User // a peer's user.id lacks the channel
	}
	for name, value := range f.Attrs {
		if name != "asker" {
			attrs[name] = value
		}
	}
	f.Attrs = attrs
	made := rules.Attempt{Facts: f, Catalog: now, Now: now}
	if entry, ok := now.Get(a.Tool); ok && a.Question == "" { // what the tool asks, only the asker knows
		made.Entry = entry
	}
	return made
}

// May returns why a person may not answer what waits: a rule names
// its tool and does not allow it, or no rule does, and somebody else asked.
func (s *Approvals) May(ctx context.Context, by Person, a Approval) error {
	if by.Operator || s.config.Approvers == nil {
		return nil
	}
	made, asker := s.Attempt(by, a), s.Asked(by, a)
	if made.Entry == nil {
		if asker {
			return nil
		}
		if a.User == "" {
			return phrase.Errorf("%w: the person at the other end was asked", ErrNotYours)
		}
		return phrase.Errorf("%w: %s was asked", ErrNotYours, a.User)
	}
	switch s.config.Approvers(ctx, made).Effect {
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

// MayWithdraw returns why a person may not take back what waits: somebody else asked for it.
func (s *Approvals) MayWithdraw(by Person, a Approval) error {
	if by.Operator || s.Asked(by, a) {
		return nil
	}
	return phrase.Errorf("%w: only the one who asked for %s withdraws it", ErrNotYours, a.Tool)
}
