package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/store/internal/trail"
)

const (
	// maxCalls is how many calls are kept of all processes, and how many decisions of each
	// class; kept is how long.
	maxCalls = 10_000
	kept     = 90 * 24 * time.Hour
	// again is how long an addition waits after the connection broke.
	again = 200 * time.Millisecond
)

// Calls returns the audit of all processes that use the database. It is part of the store,
// and is used until that is closed. Beyond 10,000 calls, and as many decisions of each
// class, the oldest of the user who has most are dropped; for a while there may be a
// twentieth more.
//
// Processes add to the one chain in turns, a batch at a time. While the database is away,
// an addition is tried again until its context ends.
func (s *Store) Calls() audit.Log {
	return &trail.Trail{
		Update: func(ctx context.Context, f func(trail.Tx) error) error {
			for {
				err := transaction(ctx, s.sql, nil, f)
				if !broken(err) && !clash(err) && !errors.Is(err, driver.ErrBadConn) || ctx.Err() != nil {
					return s.db.explain(err)
				}
				if !sleep.For(ctx, again) { // f finds what a commit has added whose answer was lost
					return s.db.explain(err)
				}
			}
		},
		View: func(ctx context.Context, f func(trail.Tx) error) error {
			return s.db.read(ctx, func(ctx context.Context) error {
				return transaction(ctx, s.sql, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, f)
			})
		},
		Limits: trail.Limits{Most: maxCalls, Age: kept, Now: time.Now},
	}
}

func transaction(ctx context.Context, db *sql.DB, options *sql.TxOptions, f func(trail.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
