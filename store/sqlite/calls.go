package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/etui-run/etui/audit"
)

// Calls keeps the calls of skills, and decisions about calls of tools, in a file of
// its own, which is opened, and made where there is none, when the first one is
// added. It is safe for concurrent use.
type Calls struct {
	path   string
	limits CallLimits

	mu   sync.Mutex // guards file
	file *Store
}

var _ audit.Log = (*Calls)(nil)

// CallLimits bound the history of calls. What is beyond them is dropped when calls
// are added, and not listed.
type CallLimits struct {
	// Calls is how many are kept, the newest ones, and how many decisions of either
	// kind; 0 means 10,000.
	Calls int
	// Age is for how long a call is kept; 0 means 90 days.
	Age time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// NewCalls returns the history at path. Nothing is opened yet.
func NewCalls(path string, limits CallLimits) *Calls {
	if limits.Calls == 0 {
		limits.Calls = 10_000
	}
	if limits.Age == 0 {
		limits.Age = 90 * 24 * time.Hour
	}
	if limits.Now == nil {
		limits.Now = time.Now
	}
	return &Calls{path: path, limits: limits}
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

// oldest is the time of the oldest call that may be kept.
func (c *Calls) oldest() int64 { return c.limits.Now().Add(-c.limits.Age).UnixMilli() }

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
		_, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE time < ? OR id <= (SELECT max(id) FROM calls) - ?`, c.oldest(), c.limits.Calls)
		return err
	}))
}

// List implements [audit.Log].
func (c *Calls) List(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	list := []audit.Record{}
	file, err := c.open(ctx, false)
	if err != nil || file == nil {
		return list, err
	}
	rows, err := file.read.QueryContext(ctx, `SELECT call FROM calls WHERE time >= ? AND (? = '' OR skill = ?) AND (? = '' OR user = ?) AND (? = '' OR outcome = ?) ORDER BY id DESC LIMIT ?`,
		c.oldest(), f.Skill, f.Skill, f.User, f.User, f.Outcome, f.Outcome, all(f.Limit))
	if err != nil {
		return nil, file.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw sql.RawBytes
		var call audit.Record
		if err := rows.Scan(&raw); err != nil {
			return nil, file.explain(err)
		}
		if err := json.Unmarshal(raw, &call); err != nil {
			return nil, file.explain(fmt.Errorf("a call: %w", err))
		}
		list = append(list, call)
	}
	return list, file.explain(rows.Err())
}
