package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/usage"
)

// Turns opens the record of past turns: in the database if several etui may share it,
// else in the state folder. A record that cannot be opened stops nothing: nothing is kept or
// learnt then, and requests for past turns fail with the reason.
func (s *State) Turns(ctx context.Context) usage.Log {
	c, open := s.w.Config, s.usageFile
	if c.Store != "" {
		open = s.sharedUsage
	}
	log, err := open(ctx, time.Duration(c.Usage.Days)*24*time.Hour)
	if err != nil {
		s.log.ErrorContext(ctx, "past turns are neither kept nor learnt from", "error", err)
		return brokenLog{err}
	}
	return log
}

// usageFile opens the file of past turns. It is made only when turns are to be kept and
// this process stores what it does; else the log is nil where there is no file.
func (s *State) usageFile(ctx context.Context, age time.Duration) (usage.Log, error) {
	file := filepath.Join(s.w.State, usageFile)
	if !folder.Exists(file) && (!s.w.Config.Usage.Keep || !s.stored) {
		return nil, nil
	}
	turns, err := sqlite.OpenUsage(ctx, file, sqlite.Limits{Age: age})
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, turns.Close)
	return turns, nil
}

// sharedUsage opens the record that several etui share. The turns of the
// state folder move to it.
func (s *State) sharedUsage(ctx context.Context, age time.Duration) (usage.Log, error) {
	if s.Shared == nil { // a command that needs no database, which is away
		return nil, errAway
	}
	turns := s.Shared.Turns(postgres.TurnLimits{Age: age})
	if file := filepath.Join(s.w.State, usageFile); s.stored && folder.Exists(file) {
		n, err := moveTurns(ctx, file, age, turns)
		if err != nil {
			return nil, fmt.Errorf("moving the past turns of %s into the database: %w", file, err)
		}
		s.log.InfoContext(ctx, "past turns are in the database now", "turns", n)
	}
	return turns, nil
}

// moveTurns adds the turns of a file to those that several etui share, and removes it.
func moveTurns(ctx context.Context, file string, age time.Duration, to *postgres.Turns) (n int, err error) {
	from, err := sqlite.OpenUsage(ctx, file, sqlite.Limits{Age: age})
	if err != nil {
		return 0, err
	}
	list, err := from.List(ctx, usage.Filter{})
	if err = errors.Join(err, from.Close()); err == nil && len(list) > 0 {
		err = to.Move(ctx, list)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err == nil {
			if err = os.Remove(file + suffix); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		}
	}
	return len(list), err
}

// brokenLog is a log that could not be opened.
type brokenLog struct{ err error }

func (l brokenLog) Add(context.Context, usage.Turn) error { return l.err }

func (l brokenLog) List(context.Context, usage.Filter) ([]usage.Turn, error) { return nil, l.err }

func (l brokenLog) Erase(context.Context, string, bool) (int, error) { return 0, l.err }
