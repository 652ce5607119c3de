package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

const (
	maxKey     = 512     // bytes
	maxMessage = 8 << 20 // bytes of a stored message
)

// Load implements [session.Store]. State and messages belong to the same moment.
func (s *Store) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	out := session.Session{Key: key}
	err := s.view(ctx, func(tx *sql.Tx) error {
		var state []byte
		err := tx.QueryRowContext(ctx, `SELECT state FROM sessions WHERE key = ?`, key).Scan(&state)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = json.Unmarshal(state, &out.State)
		}
		if err != nil {
			return fmt.Errorf("the state of session %q: %w", key, err)
		}
		out.Messages, err = messages(ctx, tx, key, out.Limit(limit))
		return err
	})
	if err != nil {
		return session.Session{Key: key}, s.explain(err)
	}
	return out, nil
}

// messages returns the newest messages, oldest first.
func messages(ctx context.Context, tx *sql.Tx, key session.Key, limit int) ([]chat.Message, error) {
	rows, err := tx.QueryContext(ctx, `SELECT message FROM messages WHERE session = ? ORDER BY id DESC LIMIT ?`, key, all(limit))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []chat.Message
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return nil, err
		}
		m, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("a message of session %q: %w", key, err)
		}
		list = append(list, m)
	}
	// Drop leading results whose calls were truncated.
	for limit > 0 && len(list) > 0 && list[len(list)-1].Role == chat.Tool {
		list = list[:len(list)-1]
	}
	slices.Reverse(list)
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
	if len(key) > maxKey {
		return fmt.Errorf("the session's key has %d bytes, at most %d are allowed", len(key), maxKey)
	}
	saved, err := json.Marshal(state)
	if err != nil {
		return err
	}
	rows := make([]string, len(messages))
	for i, m := range messages {
		if rows[i], err = encode(m); err != nil {
			return fmt.Errorf("a message of session %q: %w", key, err)
		}
		if len(rows[i]) > maxMessage {
			return fmt.Errorf("a message of session %q has %d bytes, at most %d can be stored", key, len(rows[i]), maxMessage)
		}
	}
	now := time.Now().UnixMilli()
	return s.explain(s.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sessions (key, state, open, created, updated) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET state = excluded.state, open = excluded.open, updated = excluded.updated`, key, string(saved), state.Open(), now, now)
		for _, row := range rows {
			if err != nil {
				break
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO messages (session, message) VALUES (?, ?)`, key, row)
		}
		return err
	}))
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, limit int) ([]session.Summary, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT key, state, created, updated, (SELECT count(*) FROM messages WHERE session = key)
		FROM sessions ORDER BY updated DESC, key LIMIT ?`, all(limit))
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	list := []session.Summary{}
	for rows.Next() {
		var line session.Summary
		var raw []byte
		var created, updated int64
		if err := rows.Scan(&line.Key, &raw, &created, &updated, &line.Messages); err != nil {
			return nil, s.explain(err)
		}
		var state session.State
		if err := json.Unmarshal(raw, &state); err != nil {
			return nil, s.explain(fmt.Errorf("the state of session %q: %w", line.Key, err))
		}
		line.Skill, line.Created, line.Updated = state.Skill, time.UnixMilli(created), time.UnixMilli(updated)
		list = append(list, line)
	}
	return list, s.explain(rows.Err())
}

// Open implements [session.Store].
func (s *Store) Open(ctx context.Context) ([]session.Key, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT key FROM sessions WHERE open ORDER BY updated, key`)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var keys []session.Key
	for rows.Next() {
		var key session.Key
		if err := rows.Scan(&key); err != nil {
			return nil, s.explain(err)
		}
		keys = append(keys, key)
	}
	return keys, s.explain(rows.Err())
}

// Delete implements [session.Store].
func (s *Store) Delete(ctx context.Context, key session.Key) error {
	result, err := s.write.ExecContext(ctx, `DELETE FROM sessions WHERE key = ?`, key)
	if err != nil {
		return s.explain(err)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return session.ErrNotFound
	}
	return s.explain(err)
}
