// Package erase removes what etui keeps of a person. Each part of etui that keeps something
// removes its own; the package names the person, asks all parts, and has the other processes
// with the same store do the same.
package erase

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/store"
)

// Part keeps something of people.
type Part interface {
	// Erase removes what is kept under the names of a person. It counts, by kind, how much that
	// was; a kind of which there was nothing is in the answer, too.
	Erase(ctx context.Context, names []string) (map[string]int, error)
}

// Engine has the conversations, see [engine.Engine].
type Engine interface {
	Agents() *agent.Agents
	Catalog() *catalog.Catalog
	Now() time.Time
	Sessions() *engine.Sessions
	Store() store.Store
}

// Config says what an eraser consists of.
type Config struct {
	// Engine has the conversations. Required.
	Engine Engine
	// Parts keep something in the store, where this process removes it for all.
	Parts []Part
	// Local are the parts of which each process has its own.
	Local []Part
	// Log receives what operators should know; nil discards.
	Log *slog.Logger
}

// Eraser removes what is kept of people. It is safe for concurrent use.
type Eraser struct {
	config Config
	parts  []Part
	store  store.Store
	shared store.Shared    // the store, if several processes use it; else nil
	asks   <-chan struct{} // receives when requests may have changed; nil without a shared store
}

// New returns an eraser.
func New(cfg Config) *Eraser {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Eraser{config: cfg, store: cfg.Engine.Store()}
	s.parts = append([]Part{sessions{cfg.Engine, s.store}}, append(cfg.Local, cfg.Parts...)...)
	if shared, ok := s.store.(store.Shared); ok {
		s.shared, s.asks = shared, shared.Changed(requestKind)
	}
	return s
}

// Report says what was removed of a person: how much of each kind.
type Report struct {
	User  string
	Count map[string]int
}

// MarshalJSON implements [json.Marshaler]: one object with the user and the kinds.
func (r Report) MarshalJSON() ([]byte, error) {
	all := map[string]any{"user": r.User}
	for kind, n := range r.Count {
		all[kind] = n
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Report) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*r = Report{Count: map[string]int{}}
	for kind, value := range all {
		var err error
		if kind == "user" {
			err = json.Unmarshal(value, &r.User)
		} else {
			var n int
			err = json.Unmarshal(value, &n)
			r.Count[kind] = n
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Erase removes what is kept of a person, on all channels. See [identity.Users.Names] for how a
// person is named. Running turns of a session end first. With a [store.Shared], the other processes
// that are alive remove what each keeps by itself; an error says if one did not answer.
func (s *Eraser) Erase(ctx context.Context, user string) (Report, error) {
	done := Report{User: user, Count: map[string]int{}}
	if user == "" {
		return done, errors.New("the name of a person is missing")
	}
	names := s.config.Engine.Agents().Users().Names(user)
	err := eraseFrom(ctx, s.parts, names, done.Count)
	if err == nil {
		err = s.elsewhere(ctx, names, done.Count)
	}
	if scrubber, ok := s.store.(store.Scrubber); ok && err == nil {
		err = scrubber.Scrub(ctx)
	}
	return done, err
}

// eraseFrom has parts remove what they keep, and adds to the counts.
func eraseFrom(ctx context.Context, parts []Part, names []string, count map[string]int) error {
	for _, p := range parts {
		n, err := p.Erase(ctx, names)
		add(count, n)
		if err != nil {
			return err
		}
	}
	return nil
}

func add(count, more map[string]int) {
	for kind, n := range more {
		count[kind] += n
	}
}
