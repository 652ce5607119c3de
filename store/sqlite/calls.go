package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/etui-run/etui/audit"
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
// that, the oldest of the user who has most are dropped.
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

// Add implements [audit.Log].
func (c *Calls) Add(ctx context.Context, calls ...audit.Record) error {
	file, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	return file.explain(file.update(ctx, func(tx *sql.Tx) error {
		for _, call := range calls {
			raw, err := json.Marshal(call)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO calls (time, skill, user, outcome, call) VALUES (?, ?, ?, ?, ?)`,
				call.Time.UnixMilli(), call.Skill, call.User, call.Outcome, string(raw)); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE time < ?`, c.limits.oldest()); err != nil {
			return err
		}
		return c.bound(ctx, tx, "calls", "")
	}))
}

// bound removes what is more than the limit in a table, or in a class of one: the oldest of
// the user who has most there, so that one user does not push out the others.
func (c *Calls) bound(ctx context.Context, tx *sql.Tx, table, class string) error {
	where, args := " WHERE 1", []any{}
	if class != "" {
		where, args = " WHERE class = ?", append(args, class)
	}
	for {
		var n, theirs int
		var user string
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM `+table+where, args...).Scan(&n); err != nil || n <= c.limits.Most {
			return err
		}
		err := tx.QueryRowContext(ctx, `SELECT user, count(*) FROM `+table+where+` GROUP BY user ORDER BY count(*) DESC, min(id) LIMIT 1`, args...).Scan(&user, &theirs)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+where+` AND user = ? ORDER BY id LIMIT ?)`,
			append(slices.Clone(args), user, min(theirs, n-c.limits.Most))...)
		if err != nil {
			return err
		}
	}
}

// List implements [audit.Log].
func (c *Calls) List(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	return list[audit.Record](ctx, c, "a call", `SELECT call FROM calls WHERE time >= ? AND (? = '' OR skill = ?) AND (? = '' OR user = ?) AND (? = '' OR outcome = ?) ORDER BY id DESC LIMIT ?`,
		c.limits.oldest(), f.Skill, f.Skill, f.User, f.User, f.Outcome, f.Outcome, all(f.Limit))
}

// list queries the file, if there is one.
func list[T any](ctx context.Context, c *Calls, what, query string, args ...any) ([]T, error) {
	file, err := c.open(ctx, false)
	if err != nil || file == nil {
		return []T{}, err
	}
	return read[T](ctx, file, what, query, args...)
}
