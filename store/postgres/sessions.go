package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/internal/row"
)

// Load implements [session.Store]. State and messages belong to the same moment.
func (s *Store) Load(ctx context.Context, key session.Key, limit int) (out session.Session, err error) {
	var most *int // nil as a limit means all
	if limit != session.Sent && limit > 0 {
		most = &limit
	}
	err = s.db.read(ctx, func(ctx context.Context) error {
		out = session.Session{Key: key}
		rows, err := s.db.pool.Query(ctx, `SELECT 0::bigint, state FROM sessions WHERE key = $1 UNION ALL
			(SELECT id, message FROM messages WHERE session = $1 ORDER BY id DESC LIMIT CASE WHEN $3 THEN (SELECT sends FROM sessions WHERE key = $1) ELSE $2::integer END)`,
			key, most, limit == session.Sent)
		if err != nil {
			return err
		}
		type stored struct {
			id  int64
			raw []byte
		}
		list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r stored, err error) {
			err = row.Scan(&r.id, &r.raw)
			return r, err
		})
		if err != nil {
			return err
		}
		slices.SortFunc(list, func(a, b stored) int { return int(a.id - b.id) })
		if len(list) == 0 {
			return nil
		}
		if out.State, err = row.DecodeState(key, list[0].raw); err != nil {
			return err
		}
		list = list[1:]
		if limit != 0 { // bounded in bytes
			total, from := 0, len(list)
			for from > 0 && (total+len(list[from-1].raw) <= session.MaxLoad || from == len(list)) {
				from--
				total += len(list[from].raw)
			}
			list = list[from:]
		}
		for _, r := range list {
			m, err := row.Decode(r.raw)
			if err != nil {
				return fmt.Errorf("a message of session %q: %w", key, err)
			}
			// Leading results lost their calls.
			if limit == 0 || m.Role != chat.Tool || len(out.Messages) > 0 {
				out.Messages = append(out.Messages, m)
			}
		}
		return nil
	})
	if err != nil {
		return session.Session{Key: key}, err
	}
	return out, nil
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	step, err := row.NewStep(key, state, messages)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	s.process.fence(b, key)
	add(b, step, state)
	return s.process.lost(key, s.db.update(ctx, b))
}

// add adds a step to its session.
func add(b *pgx.Batch, step *row.Step, state session.State) {
	b.Queue(`INSERT INTO sessions (key, state, skill, parent, sends, open, created, updated) VALUES ($1, $2, $3, $4, $5, $6, now_ms(), now_ms())
		ON CONFLICT (key) DO UPDATE SET state = excluded.state, skill = excluded.skill, parent = excluded.parent, sends = excluded.sends, open = excluded.open, updated = excluded.updated`,
		step.Key, step.State, clean(state.Skill), clean(string(state.Parent)), state.Limit(session.Sent), step.Open)
	for i, m := range step.Messages {
		hashes := []string{}
		for _, f := range m.Files {
			if f.Data != nil {
				b.Queue(`INSERT INTO files (sha256, data) VALUES ($1, $2) ON CONFLICT DO NOTHING`, f.SHA256, f.Data)
			}
			hashes = append(hashes, f.SHA256)
		}
		title := ""
		if m.Role == chat.User {
			title = clean(m.Text[:min(len(m.Text), session.MaxTitle)])
		}
		const message = `INSERT INTO messages (session, role, author, channel, title, message) VALUES ($1, $2, $3, $4, $5, $6)`
		args := []any{step.Key, m.Role, clean(m.User), clean(m.Channel), title, step.Rows[i]}
		if len(hashes) == 0 {
			b.Queue(message, args...)
		} else {
			b.Queue(`WITH m AS (`+message+
				` RETURNING id) INSERT INTO message_files SELECT DISTINCT m.id, unnest($7::text[]) FROM m`,
				append(args, hashes)...)
		}
	}
}

// clean makes a text one that a column can hold.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// Messages implements [session.Store].
func (s *Store) Messages(ctx context.Context, key session.Key, skip, limit int) (list []chat.Message, err error) {
	err = s.db.read(ctx, func(ctx context.Context) error {
		list = nil
		rows, err := s.db.pool.Query(ctx,
			`SELECT message FROM messages WHERE session = $1 ORDER BY id LIMIT $2 OFFSET $3`, key, all(limit), skip)
		if err != nil {
			return err
		}
		defer rows.Close()
		for total := 0; rows.Next(); {
			var raw []byte
			if err := rows.Scan(&raw); err != nil {
				return err
			}
			if total += len(raw); limit > 0 && total > session.MaxLoad && len(list) > 0 {
				break
			}
			m, err := row.Decode(raw)
			if err != nil {
				return fmt.Errorf("a message of session %q: %w", key, err)
			}
			list = append(list, m)
		}
		rows.Close()
		return rows.Err()
	})
	return list, err
}

// all makes a limit one for SQL, where nil means all.
func all(limit int) *int {
	if limit <= 0 {
		return nil
	}
	return &limit
}

// File implements [session.Store].
func (s *Store) File(ctx context.Context, sha256 string) (data []byte, err error) {
	err = s.db.read(ctx, func(ctx context.Context) error {
		err := s.db.pool.QueryRow(ctx, `SELECT data FROM files WHERE sha256 = $1`, sha256).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			return session.ErrNoFile
		}
		return err
	})
	return data, err
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Summary, error) {
	users := f.Users
	if len(users) == 0 {
		users = nil
	}
	summary := func(r pgx.CollectableRow) (l session.Summary, err error) {
		var created, updated int64
		err = r.Scan(&l.Key, &l.Skill, &l.Parent, &created, &updated, &l.Messages, &l.Title, &l.Users, &l.Channels)
		l.Created, l.Updated = time.UnixMilli(created), time.UnixMilli(updated)
		return l, err
	}
	return collect(ctx, s.db, summary, `SELECT key, skill, parent, created, updated,
		(SELECT count(*) FROM messages WHERE session = key),
		coalesce((SELECT title FROM messages WHERE session = key AND role = 'user' AND title <> '' ORDER BY id LIMIT 1), ''),
		ARRAY(SELECT DISTINCT author FROM messages WHERE session = key AND role = 'user' AND author <> '' ORDER BY author LIMIT $1),
		ARRAY(SELECT DISTINCT channel FROM messages WHERE session = key AND role = 'user' AND channel <> '' ORDER BY channel LIMIT $1)
		FROM sessions WHERE ($2 = '' OR key = $2) AND strpos(key, $3) > 0
		AND ($4::text[] IS NULL OR EXISTS (SELECT 1 FROM messages WHERE session = key AND role = 'user' AND author = ANY ($4)))
		AND ($5 OR updated < $6 OR updated = $6 AND key > $7)
		ORDER BY updated DESC, key LIMIT $8`,
		session.MaxUsers, f.Key, f.Part, users, f.After == session.Cursor{}, f.After.Updated.UnixMilli(), f.After.Key,
		all(f.Limit))
}

// Open implements [session.Store]. Other processes may work on the sessions.
func (s *Store) Open(ctx context.Context) ([]session.Key, error) {
	return s.db.keys(ctx, `SELECT key FROM sessions WHERE open ORDER BY updated, key`)
}

// Asking implements [session.Store].
func (s *Store) Asking(ctx context.Context, id string) ([]session.Key, error) {
	// In the words of the index asking_sessions.
	return s.db.keys(ctx, `SELECT key FROM sessions WHERE open AND strpos(state, '"for":"approval"') > 0 AND strpos(state, $1) > 0 ORDER BY updated, key`, row.ID(id))
}

// keys returns the keys of sessions that a query gives.
func (d *database) keys(ctx context.Context, query string, args ...any) ([]session.Key, error) {
	return collect(ctx, d, pgx.RowTo[session.Key], query, args...)
}

// collect returns the rows of a query, each as one reads it.
func collect[T any](ctx context.Context, d *database, one pgx.RowToFunc[T], query string, args ...any) (list []T,
	err error) {
	err = d.read(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, query, args...)
		if err == nil {
			list, err = pgx.CollectRows(rows, one)
		}
		return err
	})
	return list, err
}

// Delete implements [session.Store].
func (s *Store) Delete(ctx context.Context, key session.Key) error {
	return s.process.lost(key, s.db.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.process.fenced(ctx, tx, key); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM inbox WHERE session = $1 AND state <> 'waiting'`, key); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, `DELETE FROM sessions WHERE key = $1`, key)
		if err == nil && done.RowsAffected() == 0 {
			err = session.ErrNotFound
		}
		return err
	}))
}

// Erase implements [session.Store].
func (s *Store) Erase(ctx context.Context, key session.Key, state session.State, user string) (n int, err error) {
	step, err := row.NewStep(key, state, nil)
	if err != nil {
		return 0, err
	}
	err = s.process.lost(key, s.db.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.process.fenced(ctx, tx, key); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM inbox WHERE session = $1 AND author = $2 AND state <> 'waiting'`, key,
			user); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, `DELETE FROM messages WHERE id IN (SELECT id FROM (
			SELECT id, (SELECT q.author FROM messages q WHERE q.session = m.session AND q.id <= m.id AND q.role = 'user' ORDER BY q.id DESC LIMIT 1) AS whose
			FROM messages m WHERE session = $1) said WHERE whose = $2)`, key, user)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		n = int(done.RowsAffected())
		_, err = tx.Exec(ctx, `UPDATE sessions SET state = $2, skill = $3, sends = $4, open = $5 WHERE key = $1`, key,
			step.State, clean(state.Skill), state.Limit(session.Sent), step.Open)
		return err
	}))
	return n, err
}

// Sweep implements [session.Store]. It leaves alone the sessions that a process works on.
func (s *Store) Sweep(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.db.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `DELETE FROM sessions WHERE key IN (SELECT key FROM sessions WHERE updated < $1 AND NOT open
			AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.session = key AND alive(c.holder)) ORDER BY updated LIMIT $2 FOR UPDATE SKIP LOCKED)`, before.UnixMilli(), limit)
		n = int(done.RowsAffected())
		return err
	})
	return n, err
}
