// Package state keeps what a workspace has beside its files: conversations, API keys, decisions about
// skills, what was accepted of MCP servers, records of calls and past turns. They are in the state
// folder, or in a database that several etui share. Once a database is configured, the content of
// the folder moves there.
package state

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/identity"
)

// The files in the state folder; [identity.Keys] and the conversations have their own.
const (
	decisionsFile = "skills.json"
	callsFile     = "calls.db"
	usageFile     = "usage.db"
)

// Config says how a state is used.
type Config struct {
	// Stored says that what happens is kept, and Records that only what is stored matters. Without both
	// nothing is read that needs the store.
	Stored, Records bool
	Log             *slog.Logger
}

// State is what a workspace keeps. [State.Close] ends it.
type State struct {
	// Store has the conversations; nil when nothing is read or written.
	Store Store
	// Shared is the store, if several processes use it; else nil.
	Shared Shared
	// Keys are the API keys.
	Keys *identity.Keys
	// Warning says why the store is away, where the process goes on without it.
	Warning error

	w      *workdir.Workspace
	stored bool
	log    *slog.Logger
	close  []func() error
}

// Open opens the store, if it is needed, and reads the API keys. A shared store has also what people
// decided about skills; where nothing is stored, it may be away.
func Open(ctx context.Context, w *workdir.Workspace, c Config) (*State, error) {
	s := &State{w: w, stored: c.Stored, log: c.Log}
	if err := s.openStore(ctx, c); err != nil {
		return nil, err
	}
	if err := s.openKeys(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes what was opened, last first.
func (s *State) Close() error {
	var errs []error
	for _, end := range slices.Backward(s.close) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

func (s *State) openStore(ctx context.Context, c Config) error {
	needed := c.Stored || c.Records && hasStore(s.w)
	if !needed && s.w.Config.Store == "" {
		return nil
	}
	kept, err := openDatabase(ctx, s.w, s.log)
	if err != nil {
		if needed {
			return err
		}
		s.Warning = err
		return nil
	}
	s.close = append(s.close, kept.Close)
	s.Store = kept
	s.Shared, _ = kept.(Shared)
	return nil
}
