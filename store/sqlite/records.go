package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/internal/trail"
)

// Put implements [store.Records].
func (s *Store) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	return s.explain(s.update(ctx, func(tx trail.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO records (kind, key, value) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`, kind, key, string(value))
		return err
	}))
}

// Records implements [store.Records].
func (s *Store) Records(ctx context.Context, kind string, keys ...string) ([]store.Record, error) {
	chosen, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	list, err := trail.Collect(ctx, s.read, func(rows *sql.Rows) (r store.Record, err error) {
		err = rows.Scan(&r.Key, (*[]byte)(&r.Value))
		return r, err
	}, `SELECT key, value FROM records WHERE kind = ?1 AND (?2 = 0 OR key IN (SELECT value FROM json_each(?3))) ORDER BY key`, kind, len(keys), string(chosen))
	return list, s.explain(err)
}

// Remove implements [store.Records].
func (s *Store) Remove(ctx context.Context, kind, key string) (found bool, err error) {
	err = s.update(ctx, func(tx trail.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM records WHERE kind = ? AND key = ?`, kind, key)
		if err != nil {
			return err
		}
		n, err := affected(result)
		found = n > 0
		return err
	})
	return found, s.explain(err)
}

// Change implements [store.Records].
func (s *Store) Change(ctx context.Context, kind, key string,
	change func(json.RawMessage) (json.RawMessage, error)) error {
	return s.explain(s.update(ctx, func(tx trail.Tx) error {
		var value []byte
		err := tx.QueryRowContext(ctx, `SELECT value FROM records WHERE kind = ? AND key = ?`, kind, key).Scan(&value)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		now, err := change(value)
		switch {
		case err != nil:
			return err
		case now == nil:
			_, err = tx.ExecContext(ctx, `DELETE FROM records WHERE kind = ? AND key = ?`, kind, key)
		default:
			_, err = tx.ExecContext(ctx, `INSERT INTO records (kind, key, value) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`, kind, key, string(now))
		}
		return err
	}))
}
