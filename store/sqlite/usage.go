package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/store/internal/trail"
	"github.com/etui-run/etui/usage"
)

// Usage keeps past turns in a file of its own. It is safe for concurrent use.
type Usage struct {
	file   *Store
	limits Limits
}

var _ usage.Log = (*Usage)(nil)

// OpenUsage opens the log at path as [Open] opens the sessions'. The limits bound how
// many turns of each agent are kept, by default 5,000. Beyond that, the oldest turn of
// whoever has most is dropped, so that one user cannot drive out what others asked.
func OpenUsage(ctx context.Context, path string, limits Limits) (*Usage, error) {
	file, err := open(ctx, path, "usage/*.sql")
	if err != nil {
		return nil, err
	}
	return &Usage{file, limits.withDefaults(5000)}, nil
}

// Close closes the file. Nothing may be called after it.
func (u *Usage) Close() error { return u.file.Close() }

// Add implements [usage.Log].
func (u *Usage) Add(ctx context.Context, t usage.Turn) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return u.file.explain(u.file.update(ctx, func(tx trail.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO turns (time, agent, user, turn) VALUES (?, ?, ?, ?)`,
			t.Time.UnixMilli(), t.Agent, t.User, string(raw))
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM turns WHERE time < ?`, u.limits.oldest())
		}
		var all int
		if err == nil {
			err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM turns WHERE agent = ?`, t.Agent).Scan(&all)
		}
		if err != nil || all <= u.limits.Most {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM turns WHERE id IN (SELECT id FROM
			(SELECT id, ROW_NUMBER() OVER (PARTITION BY user ORDER BY id DESC) AS nth FROM turns WHERE agent = ?)
			ORDER BY nth, id DESC LIMIT -1 OFFSET ?)`, t.Agent, u.limits.Most)
		return err
	}))
}

// List implements [usage.Log].
func (u *Usage) List(ctx context.Context, f usage.Filter) ([]usage.Turn, error) {
	list, err := trail.Collect(ctx, u.file.read, trail.JSON[usage.Turn]("a turn"),
		`SELECT turn FROM turns WHERE time >= ? AND (? = '' OR agent = ?) AND (? = '' OR user = ?) ORDER BY id DESC LIMIT ?`,
		u.limits.oldest(), f.Agent, f.Agent, f.User, f.User, all(f.Limit))
	slices.Reverse(list)
	return list, u.file.explain(err)
}

// Erase implements [usage.Log]. Nothing of the turns is left in the file or its
// journal.
func (u *Usage) Erase(ctx context.Context, user string, everybody bool) (int, error) {
	n, err := u.file.remove(ctx, `DELETE FROM turns WHERE ? OR user = ?`, everybody, user)
	return n, u.file.explain(err)
}
