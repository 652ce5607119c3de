package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/usage"
)

// Usage keeps past turns in a file of its own. It is safe for concurrent use.
type Usage struct {
	file   *Store
	limits UsageLimits
}

var _ usage.Log = (*Usage)(nil)

// UsageLimits bound a usage log. What is beyond them is dropped when a turn is
// added, and not listed.
type UsageLimits struct {
	// Turns is how many turns of an agent are kept, the newest ones; 0 means 5,000.
	Turns int
	// Age is for how long a turn is kept; 0 means 90 days.
	Age time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// OpenUsage opens the log at path as [Open] opens the sessions'.
func OpenUsage(ctx context.Context, path string, limits UsageLimits) (*Usage, error) {
	if limits.Turns == 0 {
		limits.Turns = 5000
	}
	if limits.Age == 0 {
		limits.Age = 90 * 24 * time.Hour
	}
	if limits.Now == nil {
		limits.Now = time.Now
	}
	// What is erased is overwritten, too.
	file, err := open(ctx, path, "usage/*.sql", "secure_delete(on)")
	if err != nil {
		return nil, err
	}
	return &Usage{file, limits}, nil
}

// Close closes the file. Nothing may be called after it.
func (u *Usage) Close() error { return u.file.Close() }

// oldest is the time of the oldest turn that may be kept.
func (u *Usage) oldest() int64 { return u.limits.Now().Add(-u.limits.Age).UnixMilli() }

// Add implements [usage.Log].
func (u *Usage) Add(ctx context.Context, t usage.Turn) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return u.file.explain(u.file.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO turns (time, agent, user, turn) VALUES (?, ?, ?, ?)`, t.Time.UnixMilli(), t.Agent, t.User, string(raw))
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM turns WHERE time < ? OR agent = ? AND id <= (SELECT id FROM turns WHERE agent = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
				u.oldest(), t.Agent, t.Agent, u.limits.Turns)
		}
		return err
	}))
}

// List implements [usage.Log].
func (u *Usage) List(ctx context.Context, f usage.Filter) ([]usage.Turn, error) {
	rows, err := u.file.read.QueryContext(ctx, `SELECT turn FROM turns WHERE time >= ? AND (? = '' OR agent = ?) AND (? = '' OR user = ?) ORDER BY id DESC LIMIT ?`,
		u.oldest(), f.Agent, f.Agent, f.User, f.User, all(f.Limit))
	if err != nil {
		return nil, u.file.explain(err)
	}
	defer rows.Close()
	list := []usage.Turn{}
	for rows.Next() {
		var raw sql.RawBytes
		var t usage.Turn
		if err := rows.Scan(&raw); err != nil {
			return nil, u.file.explain(err)
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, u.file.explain(fmt.Errorf("a turn: %w", err))
		}
		list = append(list, t)
	}
	slices.Reverse(list)
	return list, u.file.explain(rows.Err())
}

// Erase implements [usage.Log]. Nothing of the turns is left in the file or its
// journal.
func (u *Usage) Erase(ctx context.Context, user string, everybody bool) (int, error) {
	result, err := u.file.write.ExecContext(ctx, `DELETE FROM turns WHERE ? OR user = ?`, everybody, user)
	if err != nil {
		return 0, u.file.explain(err)
	}
	n, err := result.RowsAffected()
	if err == nil {
		_, err = u.file.write.ExecContext(ctx, "PRAGMA wal_checkpoint(truncate)")
	}
	return int(n), u.file.explain(err)
}
