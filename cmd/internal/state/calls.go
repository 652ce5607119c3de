package state

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/store/sqlite"
)

// Calls makes the recorder of calls. Without a store it only reads what is
// recorded.
func (s *State) Calls(ctx context.Context, secrets *secret.Set, log *slog.Logger) (*audit.Recorder, error) {
	file := sqlite.NewCalls(filepath.Join(s.w.State, callsFile), sqlite.Limits{})
	s.close = append(s.close, file.Close)
	var kept audit.Log = file
	if s.Shared != nil {
		if kept = s.Shared.Calls(); folder.Exists(filepath.Join(s.w.State, callsFile)) {
			kept = withFile{kept, file}
			if s.stored { // drops what is too old
				if err := file.AddDecisions(ctx); err != nil {
					return nil, err
				}
			}
		}
	}
	calls := audit.NewRecorder(kept, secrets, log)
	if s.stored {
		running, stop := context.WithCancel(context.Background())
		var writer sync.WaitGroup
		writer.Go(func() {
			defer panics.Log(log, "writing the records of calls")
			calls.Run(running)
		})
		s.close = append(s.close, func() error {
			stop()
			writer.Wait()
			return nil
		})
	}
	return calls, nil
}

// withFile is the audit in the database, and what this state folder has from before the
// database was configured.
type withFile struct {
	audit.Log

	file *sqlite.Calls
}

// List implements [audit.Log].
func (w withFile) List(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return newest(ctx, w.Log.List, w.file.List, f, f.Limit, func(r audit.Record) time.Time { return r.Time })
}

// Decisions implements [audit.Log].
func (w withFile) Decisions(ctx context.Context, f audit.DecisionFilter) ([]audit.Decision, error) {
	return newest(ctx, w.Log.Decisions, w.file.Decisions, f, f.Limit,
		func(d audit.Decision) time.Time { return d.Time })
}

// newest merges two lists of records, newest first.
func newest[T, F any](ctx context.Context, one, two func(context.Context, F) ([]T, error), f F, limit int,
	at func(T) time.Time) ([]T, error) {
	list, err := one(ctx, f)
	if err != nil {
		return nil, err
	}
	more, err := two(ctx, f)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	slices.SortStableFunc(list, func(a, b T) int { return at(b).Compare(at(a)) })
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

// Erase implements [audit.Log].
func (w withFile) Erase(ctx context.Context, user string) (records, decisions int, err error) {
	if records, decisions, err = w.Log.Erase(ctx, user); err != nil {
		return records, decisions, err
	}
	moreRecords, moreDecisions, err := w.file.Erase(ctx, user)
	return records + moreRecords, decisions + moreDecisions, err
}

// Verify implements [audit.Log]. The file has a chain of its own: where that is broken, so is the
// whole.
func (w withFile) Verify(ctx context.Context, kept *audit.Head) (audit.Verdict, error) {
	v, err := w.Log.Verify(ctx, kept)
	if err != nil {
		return v, err
	}
	file, err := w.file.Verify(ctx, nil)
	v.Records += file.Records
	for _, b := range file.Breaks {
		b.What = callsFile + ": " + b.What
		v.Breaks = append(v.Breaks, b)
		v.Unbroken = false
	}
	return v, err
}
