package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/internal/row"
	"github.com/etui-run/etui/store/internal/trail"
)

// Load implements [session.Store]. State and messages belong to the same moment.
func (s *Store) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	out, err := s.loadKept(ctx, key, limit)
	if errors.Is(err, errNotKept) {
		err = s.view(ctx, func(tx trail.Tx) error {
			var err error
			out, err = s.loadStored(ctx, tx, key, limit)
			return err
		})
	}
	if err != nil {
		return session.Session{Key: key}, s.explain(err)
	}
	return out, nil
}

// loadStored reads a session, and keeps its messages for the next load.
func (s *Store) loadStored(ctx context.Context, tx trail.Tx, key session.Key, limit int) (session.Session, error) {
	out := session.Session{Key: key}
	var state []byte
	err := tx.QueryRowContext(ctx, `SELECT state FROM sessions WHERE key = ?`, key).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return out, nil
	}
	if err == nil {
		out.State, err = row.DecodeState(key, state)
	}
	if err == nil {
		out.Messages, err = s.newest(ctx, tx, key, out.Limit(limit))
	}
	return out, err
}

// decodeAll reads messages of a session and closes the rows. If they are bounded, it stops
// after [session.MaxLoad] bytes.
func decodeAll(rows *sql.Rows, key session.Key, bounded bool) ([]chat.Message, error) {
	defer rows.Close()
	var list []chat.Message
	total := 0
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return nil, err
		}
		if total += len(raw); bounded && total > session.MaxLoad && len(list) > 0 {
			break
		}
		m, err := row.Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("a message of session %q: %w", key, err)
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

// all makes a limit one for SQL, where -1 means all.
func all(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	step, err := row.NewStep(key, state, messages)
	if err != nil {
		return err
	}
	var first int64
	err = s.update(ctx, func(tx trail.Tx) (err error) {
		first, err = s.add(ctx, tx, step)
		return err
	})
	if err == nil {
		s.keep(step, first)
	}
	return s.explain(err)
}

// add adds a step to its session. It returns the number of its first message; the others
// follow it.
func (s *Store) add(ctx context.Context, tx trail.Tx, step *row.Step) (first int64, err error) {
	now := time.Now().UnixMilli()
	_, err = tx.ExecContext(ctx, `INSERT INTO sessions (key, state, open, created, updated) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET state = excluded.state, open = excluded.open, updated = excluded.updated`, step.Key, step.State, step.Open, now, now)
	if err != nil || len(step.Rows) == 0 {
		return 0, err
	}
	first, err = s.nextID(ctx, tx)
	id := first
	for i, raw := range step.Rows {
		if err != nil {
			break
		}
		if _, err = tx.ExecContext(ctx, `INSERT INTO messages (id, session, message) VALUES (?, ?, ?)`, id, step.Key,
			raw); err == nil {
			err = addFiles(ctx, tx, id, step.Messages[i].Files)
		}
		id++
		s.highest.Store(id)
	}
	return first, err
}

// addFiles adds the files of a message, each once for all messages.
func addFiles(ctx context.Context, tx trail.Tx, message int64, files []chat.File) error {
	for _, f := range files {
		if f.Data != nil {
			if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO files (sha256, data) VALUES (?, ?)`, f.SHA256,
				f.Data); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO message_files (message, sha256) VALUES (?, ?)`, message,
			f.SHA256); err != nil {
			return err
		}
	}
	return nil
}

// File implements [session.Store].
func (s *Store) File(ctx context.Context, sha256 string) (data []byte, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT data FROM files WHERE sha256 = ?`, sha256).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, session.ErrNoFile
	}
	return data, s.explain(err)
}

// nextID returns the number of the next message: one that no message has, or had since
// the store was opened.
func (s *Store) nextID(ctx context.Context, tx trail.Tx) (int64, error) {
	var last int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM messages`).Scan(&last)
	return max(last+1, s.highest.Load()), err
}

// Messages implements [session.Store].
func (s *Store) Messages(ctx context.Context, key session.Key, skip, limit int) ([]chat.Message, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT message FROM messages WHERE session = ? ORDER BY id LIMIT ? OFFSET ?`,
		key, all(limit), skip)
	if err != nil {
		return nil, s.explain(err)
	}
	list, err := decodeAll(rows, key, limit > 0)
	return list, s.explain(err)
}

// line reads a row of the list. The title is the first text of a user.
const line = `SELECT key, state ->> '$.skill', state ->> '$.parent', created, updated,
	(SELECT count(*) FROM messages WHERE session = key),
	(SELECT message ->> '$.text' FROM messages WHERE session = key AND +role = 'user' AND message ->> '$.text' IS NOT NULL ORDER BY id LIMIT 1),
	(SELECT json_group_array(user) FROM (SELECT DISTINCT user FROM messages WHERE session = key AND role = 'user' AND user IS NOT NULL ORDER BY user LIMIT ?1)),
	(SELECT json_group_array(channel) FROM (SELECT DISTINCT channel FROM messages WHERE session = key AND role = 'user' AND channel IS NOT NULL ORDER BY channel LIMIT ?1))
	FROM sessions`

// List implements [session.Store].
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Summary, error) {
	users, err := json.Marshal(f.Users)
	if err != nil {
		return nil, err
	}
	list, err := trail.Collect(ctx, s.read, summary, line+` WHERE (?2 = '' OR key = ?2) AND instr(key, ?3) > 0
		AND (?4 = 'null' OR EXISTS (SELECT 1 FROM messages WHERE session = key AND role = 'user' AND user IN (SELECT value FROM json_each(?4))))
		AND (?5 OR updated < ?6 OR updated = ?6 AND key > ?7)
		ORDER BY updated DESC, key LIMIT ?8`,
		session.MaxUsers, f.Key, f.Part, string(users), f.After == session.Cursor{}, f.After.Updated.UnixMilli(),
		f.After.Key, all(f.Limit))
	return list, s.explain(err)
}

// summary reads a row of [line].
func summary(rows *sql.Rows) (l session.Summary, err error) {
	var skill, parent, title sql.NullString
	var authors, channels []byte
	var created, updated int64
	if err := rows.Scan(&l.Key, &skill, &parent, &created, &updated, &l.Messages, &title, &authors,
		&channels); err != nil {
		return l, err
	}
	l.Skill, l.Parent, l.Created, l.Updated = skill.String, session.Key(parent.String), time.UnixMilli(created),
		time.UnixMilli(updated)
	l.Title = strings.ToValidUTF8(title.String[:min(len(title.String), session.MaxTitle)], "")
	err = errors.Join(json.Unmarshal(authors, &l.Users), json.Unmarshal(channels, &l.Channels))
	return l, err
}

// Open implements [session.Store].
func (s *Store) Open(ctx context.Context) ([]session.Key, error) {
	return s.keys(ctx, `SELECT key FROM sessions WHERE open ORDER BY updated, key`)
}

// Asking implements [session.Store].
func (s *Store) Asking(ctx context.Context, id string) ([]session.Key, error) {
	// In the words of the index asking_sessions.
	return s.keys(ctx, `SELECT key FROM sessions WHERE open AND instr(state, '"for":"approval"') > 0 AND instr(state, ?) > 0 ORDER BY updated, key`, row.ID(id))
}

// keys returns the keys of sessions that a query gives.
func (s *Store) keys(ctx context.Context, query string, args ...any) ([]session.Key, error) {
	keys, err := trail.Collect(ctx, s.read, func(rows *sql.Rows) (key session.Key, err error) {
		err = rows.Scan(&key)
		return key, err
	}, query, args...)
	return keys, s.explain(err)
}

// Delete implements [session.Store]. Nothing of the session is left in the file or its
// journal.
func (s *Store) Delete(ctx context.Context, key session.Key) error {
	err := s.update(ctx, func(tx trail.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE key = ?`, key)
		if err != nil {
			return err
		}
		if n, err := affected(result); err != nil || n == 0 {
			return cmp.Or(err, session.ErrNotFound)
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM inbox WHERE session = ? AND state <> 'waiting'`, key)
		return err
	})
	if errors.Is(err, session.ErrNotFound) {
		return session.ErrNotFound
	}
	if err == nil {
		err = s.truncate(ctx)
	}
	return s.explain(err)
}

// Erase implements [session.Store], as thoroughly as Delete.
func (s *Store) Erase(ctx context.Context, key session.Key, state session.State, user string) (int, error) {
	saved, err := json.Marshal(state)
	if err != nil {
		return 0, err
	}
	n, items := 0, 0
	err = s.update(ctx, func(tx trail.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM inbox WHERE session = ? AND user = ? AND state <> 'waiting'`,
			key, user)
		if err != nil {
			return err
		}
		if items, err = affected(result); err != nil {
			return err
		}
		result, err = tx.ExecContext(ctx, `DELETE FROM messages WHERE id IN (SELECT id FROM (
			SELECT id, (SELECT q.user FROM messages q WHERE q.session = m.session AND q.id <= m.id AND +q.role = 'user' ORDER BY q.id DESC LIMIT 1) AS author
			FROM messages m WHERE session = ?) WHERE author = ?)`, key, user)
		if err != nil {
			return err
		}
		if n, err = affected(result); err != nil || n == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE sessions SET state = ?, open = ? WHERE key = ?`, string(saved),
			state.Open(), key)
		return err
	})
	if err == nil && n+items > 0 {
		err = s.truncate(ctx)
	}
	return n, s.explain(err)
}

// Sweep implements [session.Store], as thoroughly as Delete.
func (s *Store) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.remove(ctx, `DELETE FROM sessions WHERE key IN (SELECT key FROM sessions WHERE updated < ? AND NOT open ORDER BY updated LIMIT ?)`, before.UnixMilli(), limit)
	return n, s.explain(err)
}

// remove runs a statement that deletes rows, and empties the journal of what it
// deleted. It returns how many rows there were.
func (s *Store) remove(ctx context.Context, query string, args ...any) (int, error) {
	result, err := s.write.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n, err := affected(result)
	if err == nil && n > 0 {
		err = s.truncate(ctx)
	}
	return n, err
}

func affected(r sql.Result) (int, error) {
	n, err := r.RowsAffected()
	return int(n), err
}

// scrubbing bounds how long Scrub waits for readers.
const scrubbing = 10 * time.Second

// Scrub implements [store.Scrubber]: it writes the file anew. SQLite overwrites what it
// deletes, but not the copies that it leaves behind when rows move to other pages.
func (s *Store) Scrub(ctx context.Context) error {
	if _, err := s.write.ExecContext(ctx, "VACUUM"); err != nil {
		return s.explain(err)
	}
	ctx, cancel := context.WithTimeout(ctx, scrubbing)
	defer cancel()
	for {
		var busy, pages, moved int
		if err := s.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(truncate)").Scan(&busy, &pages,
			&moved); err != nil {
			return s.explain(err)
		}
		if busy == 0 {
			return nil
		}
		if !sleep.For(ctx, 10*time.Millisecond) { // somebody reads the file as it was
			return fmt.Errorf("%s: its journal still holds what was removed, because somebody reads the file; remove it again", s.path)
		}
	}
}

// truncate empties the journal. While somebody reads, it does nothing: the next one, or
// closing the file, does it then.
func (s *Store) truncate(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(truncate)")
	return err
}
