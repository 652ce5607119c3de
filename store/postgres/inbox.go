package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/internal/row"
)

// columns are those of an item, in the order in which [row.Item] reads them.
const columns = `id, session, author, CASE WHEN keyed OR key LIKE '` + store.Passing +
	`%' THEN key ELSE '' END, digest, priority, state, reason, tries, holder, message, result, accepted, coalesce(ended, 0)`

// Accept implements [store.Inbox]. An item without a key gets one of the store's own. So
// the statement can be repeated when the connection breaks before the answer has come.
func (s *Store) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	if err := row.CheckKey(i.Session); err != nil {
		return i, false, err
	}
	key := i.Key
	if key == "" {
		key = "\x01" + rand.Text()
	}
	added := false
	out := i
	err := s.db.read(ctx, func(ctx context.Context) error {
		rows, err := s.db.pool.Query(ctx, `INSERT INTO inbox (session, author, key, keyed, digest, priority, state, reason, tries, holder, message, accepted)
			VALUES ($1, $2, $3, $4, $5, $6, 'waiting', '', 0, $7, $8, now_ms()) ON CONFLICT (key) DO NOTHING RETURNING `+columns,
			i.Session, clean(i.User), key, i.Key != "" &&
				!strings.HasPrefix(i.Key, store.Passing), i.Digest, i.Priority, i.Holder, string(i.Message))
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, row.Item[pgx.CollectableRow])
		if added = len(list) == 1; err != nil || added {
			if added {
				out = list[0]
			}
			return err
		}
		if rows, err = s.db.pool.Query(ctx, `SELECT `+columns+` FROM inbox WHERE key = $1`, key); err != nil {
			return err
		}
		out, err = pgx.CollectExactlyOneRow(rows, row.Item[pgx.CollectableRow])
		added = err == nil && i.Key == "" // by an attempt whose answer was lost
		return err
	})
	if err != nil {
		s.process.doubt(key)
		return i, false, err
	}
	out.Message = i.Message
	if !added {
		out.Message = nil
	}
	return out, added, nil
}

// dead chooses the items whose holder is not alive.
const dead = `holder NOT IN (SELECT r.holder FROM replicas r WHERE r.expires > clock_timestamp())`

// Mailboxes implements [store.Inbox].
func (s *Store) Mailboxes(ctx context.Context, holder string) ([]session.Key, error) {
	return s.db.keys(ctx, `SELECT session FROM inbox WHERE state = 'waiting' AND holder <> $1 AND `+dead+`
		AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.session = inbox.session AND c.holder <> $1 AND alive(c.holder))
		GROUP BY session ORDER BY min(id)`, holder)
}

// Items implements [store.Inbox].
func (s *Store) Items(ctx context.Context, f store.ItemFilter) ([]store.Item, error) {
	query, args := `SELECT `+columns+` FROM inbox WHERE true`, []any{}
	for _, c := range []struct {
		condition string
		value     any
		wanted    bool
	}{
		{"id = $%d", f.ID, f.ID != 0}, {"session = $%d", f.Session, f.Session != ""},
		{"state = $%d", f.State, f.State != "" && f.State != store.Waiting && f.State != store.Answered},
		{"holder <> $%d AND " + dead, f.NotOf, f.NotOf != ""}, {"id > $%d", f.After, f.After != 0},
	} {
		if c.wanted {
			args = append(args, c.value)
			query += " AND " + fmt.Sprintf(c.condition, len(args))
		}
	}
	if f.State == store.Waiting || f.State == store.Answered {
		query += ` AND state = '` + string(f.State) + `'` // in these words, because the indexes of both have them
	}
	order := " ORDER BY priority, id LIMIT $%d"
	if f.After != 0 {
		order = " ORDER BY id LIMIT $%d"
	}
	return collect(ctx, s.db, row.Item[pgx.CollectableRow], query+fmt.Sprintf(order, len(args)+1),
		append(args, all(f.Limit))...)
}

// Depth implements [store.Inbox].
func (s *Store) Depth(ctx context.Context, state store.State) (n int, oldest time.Time, err error) {
	var accepted int64
	err = s.db.read(ctx, func(ctx context.Context) error {
		return s.db.pool.QueryRow(ctx,
			`SELECT count(*), coalesce(min(accepted), 0) FROM inbox WHERE state = '`+string(state)+`'`).Scan(&n,
			&accepted)
	})
	if n > 0 {
		oldest = time.UnixMilli(accepted)
	}
	return n, oldest, err
}

// Update implements [store.Inbox].
func (s *Store) Update(ctx context.Context, i store.Item) error {
	b := &pgx.Batch{}
	s.process.fence(b, i.Session)
	changed := false
	b.Queue(`UPDATE inbox SET state = $2, reason = $3, tries = $4, holder = $5,
		message = coalesce($6, message) WHERE id = $1 AND state <> 'done' RETURNING true`,
		i.ID, i.State, clean(i.Reason), i.Tries, i.Holder, result(i.Amended)).
		Query(func(rows pgx.Rows) error {
			changed = rows.Next()
			return rows.Err()
		})
	err := s.process.lost(i.Session, s.db.update(ctx, b))
	if err == nil && !changed {
		return store.ErrEnded
	}
	return err
}

// Finish implements [store.Inbox].
func (s *Store) Finish(ctx context.Context, e store.End) error {
	b := &pgx.Batch{}
	if e.Session != "" {
		step, err := row.NewStep(e.Session, e.State, e.Messages)
		if err != nil {
			return err
		}
		s.process.fence(b, e.Session)
		finish(b, e)
		add(b, step, e.State)
	} else {
		finish(b, e)
	}
	return s.process.lost(e.Session, s.db.update(ctx, b))
}

func finish(b *pgx.Batch, e store.End) {
	b.Queue(`SELECT finish($1, $2, $3, $4)`, e.ID, result(e.Result), e.Deliver, store.Kept.Milliseconds())
}

// Delivered implements [store.Inbox].
func (s *Store) Delivered(ctx context.Context, id int64) error {
	b := &pgx.Batch{}
	b.Queue(`SELECT delivered($1, $2)`, id, store.Kept.Milliseconds())
	return s.db.update(ctx, b)
}

func result(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	text := string(raw)
	return &text
}
