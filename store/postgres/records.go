package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/store"
)

// Put implements [store.Records].
func (s *Store) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	return s.db.read(ctx, func(ctx context.Context) error {
		_, err := s.db.pool.Exec(ctx, `INSERT INTO records (kind, key, value) VALUES ($1, $2, $3) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`, kind, key, string(value))
		return err
	})
}

// Records implements [store.Records].
func (s *Store) Records(ctx context.Context, kind string, keys ...string) ([]store.Record, error) {
	return collect(ctx, s.db, func(row pgx.CollectableRow) (r store.Record, err error) {
		var value string
		err = row.Scan(&r.Key, &value)
		r.Value = json.RawMessage(value)
		return r, err
	}, `SELECT key, value FROM records WHERE kind = $1 AND ($2::text[] IS NULL OR key = ANY($2)) ORDER BY key COLLATE "C"`, kind, keys)
}

// Remove implements [store.Records].
func (s *Store) Remove(ctx context.Context, kind, key string) (found bool, err error) {
	err = s.db.read(ctx, func(ctx context.Context) error {
		result, err := s.db.pool.Exec(ctx, `DELETE FROM records WHERE kind = $1 AND key = $2`, kind, key)
		found = found || err == nil && result.RowsAffected() > 0
		return err
	})
	return found, err
}

// Change implements [store.Records].
func (s *Store) Change(ctx context.Context, kind, key string,
	change func(json.RawMessage) (json.RawMessage, error)) error {
	return s.db.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		// A record that is not there yet has no row to lock.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(x'65747569'::integer, hashtext($1))`,
			kind+" "+key); err != nil {
			return err
		}
		var value *string
		err := tx.QueryRow(ctx, `SELECT value FROM records WHERE kind = $1 AND key = $2`, kind, key).Scan(&value)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		var before json.RawMessage
		if value != nil {
			before = json.RawMessage(*value)
		}
		now, err := change(before)
		switch {
		case err != nil:
			return err
		case now == nil:
			_, err = tx.Exec(ctx, `DELETE FROM records WHERE kind = $1 AND key = $2`, kind, key)
		default:
			_, err = tx.Exec(ctx, `INSERT INTO records (kind, key, value) VALUES ($1, $2, $3) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`, kind, key, string(now))
		}
		return err
	})
}

// Changed implements [store.Shared]. A trigger of the table notifies, and keepAlive does it
// at each renewal, should a notification be lost.
func (s *Store) Changed(kind string) <-chan struct{} {
	c := make(chan struct{}, 1)
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	s.process.watched[c] = kind
	return c
}
