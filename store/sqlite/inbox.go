package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/internal/row"
	"github.com/etui-run/etui/store/internal/trail"
)

// columns are those of an item, in the order in which [row.Item] reads them.
const columns = `id, session, user, coalesce(key, ''), digest, priority, state, reason, tries, holder, message, result, accepted, coalesce(ended, 0)`

// Accept implements [store.Inbox].
func (s *Store) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	if err := row.CheckKey(i.Session); err != nil {
		return i, false, err
	}
	added := false
	err := s.update(ctx, func(tx trail.Tx) error {
		now := time.Now()
		key := sql.NullString{String: i.Key, Valid: i.Key != ""}
		result, err := tx.ExecContext(ctx, `INSERT INTO inbox (session, user, key, digest, priority, state, reason, tries, holder, message, accepted)
			VALUES (?, ?, ?, ?, ?, 'waiting', '', 0, ?, ?, ?) ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING`,
			i.Session, i.User, key, i.Digest, i.Priority, i.Holder, string(i.Message), now.UnixMilli())
		if err != nil {
			return err
		}
		n, err := affected(result)
		if added = n == 1; err != nil || !added {
			if err == nil {
				i, err = row.Item(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM inbox WHERE key = ?`, i.Key))
			}
			return err
		}
		i.State, i.Accepted = store.Waiting, now
		i.ID, err = result.LastInsertId()
		return err
	})
	return i, added, s.explain(err)
}

// Mailboxes implements [store.Inbox].
func (s *Store) Mailboxes(ctx context.Context, holder string) ([]session.Key, error) {
	return s.keys(ctx, `SELECT session FROM inbox WHERE state = 'waiting' AND holder <> ? GROUP BY session ORDER BY min(id)`, holder)
}

// Items implements [store.Inbox].
func (s *Store) Items(ctx context.Context, f store.ItemFilter) ([]store.Item, error) {
	query, args := `SELECT `+columns+` FROM inbox WHERE true`, []any{}
	for _, c := range []struct {
		column string
		value  any
		wanted bool
	}{{"id = ", f.ID, f.ID != 0}, {"session = ", f.Session, f.Session != ""}, {"holder <> ", f.NotOf, f.NotOf != ""},
		{"id > ", f.After, f.After != 0}} {
		if c.wanted {
			query, args = query+" AND "+c.column+"?", append(args, c.value)
		}
	}
	switch f.State {
	case "":
	case store.Waiting, store.Answered:
		query += ` AND state = '` + string(f.State) + `'` // in these words, because the indexes of both have them
	default:
		query, args = query+` AND state = ?`, append(args, f.State)
	}
	order := ` ORDER BY priority, id` + limited
	if f.After != 0 {
		order = ` ORDER BY id` + limited
	}
	read := func(rows *sql.Rows) (store.Item, error) { return row.Item(rows) }
	list, err := trail.Collect(context.WithoutCancel(ctx), s.read, read, query+order,
		append(args, all(f.Limit))...) // a short query
	return list, s.explain(err)
}

// Depth implements [store.Inbox].
func (s *Store) Depth(ctx context.Context, state store.State) (n int, oldest time.Time, err error) {
	query := `SELECT count(*), coalesce(min(accepted), 0) FROM inbox WHERE state = '` + string(state) +
		`'` // in these words, for the indexes
	var accepted int64
	if err = s.read.QueryRowContext(ctx, query).Scan(&n, &accepted); err == nil && n > 0 {
		oldest = time.UnixMilli(accepted)
	}
	return n, oldest, s.explain(err)
}

// Update implements [store.Inbox].
func (s *Store) Update(ctx context.Context, i store.Item) error {
	var amended any
	if i.Amended != nil {
		amended = string(i.Amended)
	}
	return s.explain(s.update(ctx, func(tx trail.Tx) error {
		return changed(tx.ExecContext(ctx,
			`UPDATE inbox SET state = ?, reason = ?, tries = ?, holder = ?,
			message = coalesce(?, message) WHERE id = ? AND state <> 'done'`,
			i.State, i.Reason, i.Tries, i.Holder, amended, i.ID))
	}))
}

// Finish implements [store.Inbox].
func (s *Store) Finish(ctx context.Context, e store.End) error {
	var step *row.Step
	if e.Session != "" {
		var err error
		if step, err = row.NewStep(e.Session, e.State, e.Messages); err != nil {
			return err
		}
	}
	var first int64
	err := s.update(ctx, func(tx trail.Tx) error {
		result := string(e.Result)
		var err error
		if e.Deliver {
			err = changed(tx.ExecContext(ctx,
				`UPDATE inbox SET state = 'answered', reason = '', tries = 0, result = ?, ended = ? WHERE id = ? AND state NOT IN ('answered', 'done')`, result, time.Now().UnixMilli(), e.ID))
		} else {
			err = end(ctx, tx, e.ID, `state NOT IN ('answered', 'done')`, &result)
		}
		if err == nil && step != nil {
			first, err = s.add(ctx, tx, step)
		}
		return err
	})
	if err == nil && step != nil {
		s.keep(step, first)
	}
	return s.explain(err)
}

// Delivered implements [store.Inbox].
func (s *Store) Delivered(ctx context.Context, id int64) error {
	return s.explain(s.update(ctx, func(tx trail.Tx) error { return end(ctx, tx, id, `state = 'answered'`, nil) }))
}

// end ends an item if a condition holds; without a result, it keeps the one that it has. An
// item with an idempotency key stays for a while, so that its repetition is answered.
func end(ctx context.Context, tx trail.Tx, id int64, condition string, result *string) error {
	err := changed(tx.ExecContext(ctx,
		`DELETE FROM inbox WHERE id = ? AND (key IS NULL OR key LIKE '`+store.Passing+`%') AND `+condition, id))
	if !errors.Is(err, store.ErrEnded) {
		return err
	}
	now := time.Now()
	err = changed(tx.ExecContext(ctx,
		`UPDATE inbox SET state = 'done', message = NULL, result = coalesce(?, result), ended = ? WHERE id = ? AND key IS NOT NULL AND `+condition,
		result, now.UnixMilli(), id))
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM inbox WHERE ended < ? AND state = 'done'`,
			now.Add(-store.Kept).UnixMilli())
	}
	return err
}

// changed returns [store.ErrEnded] for a statement that changed nothing.
func changed(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := affected(result); err != nil || n > 0 {
		return err
	}
	return store.ErrEnded
}
