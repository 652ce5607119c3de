package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/store/internal/trail"
)

// Calls keeps the calls of skills, and decisions about calls of tools, in a file of
// its own, which is opened, and made where there is none, when the first one is
// added. It is safe for concurrent use.
type Calls struct {
	path   string
	limits Limits

	mu   sync.Mutex // guards file
	file *Store
}

var _ audit.Log = (*Calls)(nil)

// NewCalls returns the history at path. Nothing is opened yet. The limits bound how
// many calls are kept, by default 10,000, and how many decisions of each class. Beyond
// that, the oldest of the user who has most are dropped; for a while there may be a
// twentieth more.
func NewCalls(path string, limits Limits) *Calls {
	return &Calls{path: path, limits: limits.withDefaults(10_000)}
}

// open returns the file; nil when there is none and it is not to be made.
func (c *Calls) open(ctx context.Context, make bool) (*Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		return c.file, nil
	}
	if _, err := os.Stat(c.path); !make && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var err error
	c.file, err = open(ctx, c.path, "calls/*.sql")
	return c.file, err
}

// Close closes the file. Nothing may be called after it.
func (c *Calls) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// in runs f with what the file keeps, if there is one or it is to be made.
func (c *Calls) in(ctx context.Context, make bool, f func(*Store, *trail.Trail) error) error {
	file, err := c.open(ctx, make)
	if err != nil || file == nil {
		return err
	}
	return file.explain(f(file, &trail.Trail{Update: file.update, View: file.view, Limits: trail.Limits(c.limits)}))
}

// Add implements [audit.Log].
func (c *Calls) Add(ctx context.Context, calls ...audit.Record) error {
	return c.in(ctx, true, func(_ *Store, t *trail.Trail) error { return t.Add(ctx, calls...) })
}

// AddDecisions implements [audit.Log]. Each class is bounded by itself, so that many of one
// do not push out those of another.
func (c *Calls) AddDecisions(ctx context.Context, decisions ...audit.Decision) error {
	return c.in(ctx, true, func(_ *Store, t *trail.Trail) error { return t.AddDecisions(ctx, decisions...) })
}

// List implements [audit.Log].
func (c *Calls) List(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return look(ctx, c, []audit.Record{}, func(t *trail.Trail) ([]audit.Record, error) { return t.List(ctx, f) })
}

// Decisions implements [audit.Log].
func (c *Calls) Decisions(ctx context.Context, f audit.DecisionFilter) ([]audit.Decision, error) {
	return look(ctx, c, []audit.Decision{},
		func(t *trail.Trail) ([]audit.Decision, error) { return t.Decisions(ctx, f) })
}

// Verify implements [audit.Log].
func (c *Calls) Verify(ctx context.Context, kept *audit.Head) (audit.Verdict, error) {
	empty := audit.NewChecker(nil, kept).End(audit.Head{})
	return look(ctx, c, empty, func(t *trail.Trail) (audit.Verdict, error) { return t.Verify(ctx, kept) })
}

// look returns what f finds in the file; without a file, what there is then.
func look[T any](ctx context.Context, c *Calls, found T, f func(*trail.Trail) (T, error)) (T, error) {
	err := c.in(ctx, false, func(_ *Store, t *trail.Trail) (err error) {
		found, err = f(t)
		return err
	})
	return found, err
}

// Erase implements [audit.Log]. Nothing of the user is left in the file or its journal.
func (c *Calls) Erase(ctx context.Context, user string) (records, decisions int, err error) {
	err = c.in(ctx, false, func(file *Store, t *trail.Trail) error {
		var err error
		if records, decisions, err = t.Erase(ctx, user); err == nil && records+decisions > 0 {
			err = file.truncate(ctx)
		}
		return err
	})
	return records, decisions, err
}
