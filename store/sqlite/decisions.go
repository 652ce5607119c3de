package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

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
				allowed, allowed, c.limits.Calls); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM decisions WHERE id < (SELECT min(id) FROM decisions WHERE time >= ?)`, c.oldest())
		return err
	}))
}

// Decisions implements [audit.Log].
func (c *Calls) Decisions(ctx context.Context, f audit.DecisionFilter) ([]audit.Decision, error) {
	list := []audit.Decision{}
	file, err := c.open(ctx, false)
	if err != nil || file == nil {
		return list, err
	}
	rows, err := file.read.QueryContext(ctx, `SELECT decision FROM decisions WHERE time >= ? AND (? = '' OR tool = ?) AND (? = '' OR user = ?) AND NOT (? AND allowed) ORDER BY id DESC LIMIT ?`,
		c.oldest(), f.Tool, f.Tool, f.User, f.User, f.Denied, all(f.Limit))
	if err != nil {
		return nil, file.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw sql.RawBytes
		var d audit.Decision
		if err := rows.Scan(&raw); err != nil {
			return nil, file.explain(err)
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, file.explain(fmt.Errorf("a decision: %w", err))
		}
		list = append(list, d)
	}
	return list, file.explain(rows.Err())
}
