package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/usage"
)

// openUsage opens the record of past turns. The file is made only when turns are to
// be kept and this process stores what it does. A file that cannot be opened stops
// nothing: nothing is kept or learnt then, and requests for past turns fail with the
// reason.
func (a *App) openUsage(ctx context.Context, stored bool) engine.Learning {
	c := a.Workspace.Config.Usage
	u := engine.Learning{Keep: c.Keep, Vote: c.Vote, OwnOnly: c.Share == "user"}
	file := filepath.Join(a.Workspace.State, "usage.db")
	if _, err := os.Stat(file); err != nil && (!c.Keep || !stored) {
		return u
	}
	turns, err := sqlite.OpenUsage(ctx, file, sqlite.Limits{Age: time.Duration(c.Days) * 24 * time.Hour})
	if err != nil {
		a.log.ErrorContext(ctx, "past turns are neither kept nor learnt from", "error", err)
		u.Log = brokenLog{err}
		return u
	}
	a.close = append(a.close, turns.Close)
	u.Log = turns
	return u
}

// brokenLog is a log that could not be opened.
type brokenLog struct{ err error }

func (l brokenLog) Add(context.Context, usage.Turn) error { return l.err }

func (l brokenLog) List(context.Context, usage.Filter) ([]usage.Turn, error) { return nil, l.err }

func (l brokenLog) Erase(context.Context, string, bool) (int, error) { return 0, l.err }
