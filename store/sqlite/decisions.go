package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/audit"
)

// AddDecisions implements [audit.Log]. Each class is bounded by itself, so that many of one
// do not push out those of another.
func (c *Calls) AddDecisions(ctx context.Context, decisions ...audit.Decision) error {
	file, err := c.open(ctx, true)
	if err != nil {
		return err
	}
	return file.explain(file.update(ctx, func(tx *sql.Tx) error {
		classes := map[string]bool{}
		for _, d := range decisions {
			raw, err := json.Marshal(d)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO decisions (time, tool, user, allowed, class, decision) VALUES (?, ?, ?, ?, ?, ?)`,
				d.Time.UnixMilli(), d.Tool, d.User, d.Allowed, d.Class(), string(raw)); err != nil {
				return err
			}
			classes[d.Class()] = true
		}
		for class := range classes {
			if err := c.bound(ctx, tx, "decisions", class); err != nil {
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

// Erase implements [audit.Log]. Nothing of the user is left in the file or its journal.
// Earlier versions stored what a channel calls a user, so that telegram:42 is also the
// user 42 of that channel.
func (c *Calls) Erase(ctx context.Context, user string) (records, decisions int, err error) {
	file, err := c.open(ctx, false)
	if err != nil || file == nil {
		return 0, 0, err
	}
	err = file.update(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE ? IN (user, call ->> '$.channel' || ':' || user)`, user)
		if err != nil {
			return err
		}
		if records, err = affected(result); err != nil {
			return err
		}
		decisions, err = anonymize(ctx, tx, user)
		return err
	})
	if err == nil && records+decisions > 0 {
		err = file.truncate(ctx)
	}
	return records, decisions, file.explain(err)
}

// anonymize makes the decisions of a user anonymous. There are at most 40,000 in the
// file.
func anonymize(ctx context.Context, tx *sql.Tx, user string) (int, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, decision FROM decisions WHERE ? IN (user, decision ->> '$.channel' || ':' || user)`, user)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	kept := map[int64]string{}
	for rows.Next() {
		var id int64
		var raw []byte
		var d audit.Decision
		if err := rows.Scan(&id, &raw); err != nil {
			return 0, err
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return 0, fmt.Errorf("a decision: %w", err)
		}
		if raw, err = json.Marshal(d.Anonymous()); err != nil {
			return 0, err
		}
		kept[id] = string(raw)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for id, raw := range kept {
		if _, err := tx.ExecContext(ctx, `UPDATE decisions SET user = '', decision = ? WHERE id = ?`, raw, id); err != nil {
			return 0, err
		}
	}
	return len(kept), nil
}
