package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/etui-run/etui/audit"
)

// AddDecisions implements [audit.Log]. Allowed and refused calls are bounded
// each by itself, so that many of one kind do not push out the other.
func (c *Calls) AddDecisions(ctx context.Context, decisions ...audit.Decision) error {
	file, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	return file.explain(file.update(ctx, func(tx *sql.Tx) error {
		kinds := map[bool]bool{}
		for _, d := range decisions {
			raw, err := json.Marshal(d)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO decisions (time, tool, user, allowed, decision) VALUES (?, ?, ?, ?, ?)`,
				d.Time.UnixMilli(), d.Tool, d.User, d.Allowed, string(raw)); err != nil {
				return err
			}
			kinds[d.Allowed] = true
		}
		for allowed := range kinds {
			if _, err := tx.ExecContext(ctx, `DELETE FROM decisions WHERE allowed = ? AND id <= (SELECT id FROM decisions WHERE allowed = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
				allowed, allowed, c.limits.Most); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM decisions WHERE id < (SELECT min(id) FROM decisions WHERE time >= ?)`, c.limits.oldest())
		return err
	}))
}

// Decisions implements [audit.Log].
func (c *Calls) Decisions(ctx context.Context, f audit.DecisionFilter) ([]audit.Decision, error) {
	return list[audit.Decision](ctx, c, "a decision", `SELECT decision FROM decisions WHERE time >= ? AND (? = '' OR tool = ?) AND (? = '' OR user = ?) AND NOT (? AND allowed) ORDER BY id DESC LIMIT ?`,
		c.limits.oldest(), f.Tool, f.Tool, f.User, f.User, f.Denied, all(f.Limit))
}
