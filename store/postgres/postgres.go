// Package postgres keeps sessions and the inbox in PostgreSQL, for any number of processes
// that share the work.
//
// A commit is on the disk of the database before it is acknowledged. Each session is worked
// on by one process at a time, which has claimed it, see [store.Shared]. A process that does
// not reach the database for [Lease] counts as dead: others take its sessions up from
// their last step. When it comes back, it cannot write to them, because each write checks
// the number of the claim in its transaction. Every time that matters is the database's.
//
// The tables are in the schema etui, or in the first one of search_path if the address sets
// that. Errors name the database, never its password.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/store"
)

// Store keeps sessions in a database. It is safe for concurrent use.
type Store struct {
	db      *database
	sql     *sql.DB // the same connections
	process *process
	stop    context.CancelFunc // ends keepAlive
}

// database is what runs statements, and says what failed.
type database struct {
	pool *pgxpool.Pool
	name string // for people
	log  *slog.Logger
}

var _ store.Shared = (*Store)(nil)

const (
	// maxConnections is how many connections are open at once, unless the address sets
	// pool_max_conns.
	maxConnections = 16
	// patience is how long one access to the database may take.
	patience = 15 * time.Second
)

// Name returns how people call the database of an address: without user and password.
func Name(url string) string {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return "PostgreSQL"
	}
	return "postgres://" + net.JoinHostPort(c.Host, fmt.Sprint(c.Port)) + "/" + c.Database
}

// Password returns the password of an address; empty when it has none.
func Password(url string) string {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return ""
	}
	return c.Password
}

// Open connects to the database at a URL, postgres://user:password@host:5432/name, and
// makes its tables where there are none. Log receives what operators should know; nil
// discards.
func Open(ctx context.Context, url string, log *slog.Logger) (*Store, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil { // the error has the address
		return nil, errors.New("the address of the database cannot be read; it looks like postgres://user:password@host:5432/name")
	}
	if !strings.Contains(url, "pool_max_conns") {
		c.MaxConns = maxConnections
	}
	for name, value := range map[string]string{
		"application_name": "etui", "search_path": "etui", "timezone": "UTC",
		"lock_timeout": "10000", "statement_timeout": "14000",
		"idle_in_transaction_session_timeout": "3000", // a process that was stopped does not keep its locks
	} {
		if _, set := c.ConnConfig.RuntimeParams[name]; !set {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	c.ConnConfig.ConnectTimeout = cmp.Or(c.ConnConfig.ConnectTimeout, 5*time.Second)
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	db := &database{name: Name(url), log: log}
	s := &Store{db: db, process: newProcess(db)}
	if db.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, db.explain(err)
	}
	if err = db.migrate(ctx); err == nil {
		err = db.explain(s.process.renew(ctx, db.pool))
	}
	if err != nil {
		db.pool.Close()
		return nil, err
	}
	s.sql = stdlib.OpenDBFromPool(db.pool)
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.process.ended.Go(func() {
		defer panics.Log(log, "keeping this process's lease")
		s.process.keepAlive(ctx)
	})
	return s, nil
}

// Close ends this process's part: others take up at once what it leaves. Nothing may be
// called after it.
func (s *Store) Close() error {
	s.stop()
	s.process.ended.Wait()
	ctx, done := context.WithTimeout(context.Background(), time.Second) // if it fails, the lease ends by itself
	defer done()
	if _, err := s.db.pool.Exec(ctx,
		`WITH gone AS (DELETE FROM replicas WHERE holder = $1) SELECT pg_notify('etui', 'left')`,
		s.process.holder); err != nil {
		s.db.log.Warn("the database was not told that this process ends; others take up its messages when its lease ends", "error", s.db.explain(err))
	}
	_ = s.sql.Close() // it has no connection of its own
	s.db.pool.Close()
	return nil
}

// read runs f, again if the connection broke meanwhile: connections of the pool may be
// left from before a restart of the database.
func (d *database) read(ctx context.Context, f func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	var err error
	for range 3 {
		if err = f(ctx); !broken(err) || ctx.Err() != nil {
			break
		}
	}
	return d.explain(err)
}

// update runs statements in one transaction. They reach the database together, so that a
// transaction is never open while this process does something else.
func (d *database) update(ctx context.Context, b *pgx.Batch) error {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	var err error
	for range 3 {
		err = d.pool.SendBatch(ctx, b).Close()
		// Nothing was sent, or all was undone: it may run again.
		if !pgconn.SafeToRetry(err) && !clash(err) || ctx.Err() != nil {
			break
		}
	}
	switch code(err) {
	case codeLost:
		return store.ErrLost
	case codeEnded:
		return store.ErrEnded
	}
	return d.explain(err)
}

// within runs f in a transaction.
func (d *database) within(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return f(ctx, tx) })
	if code(err) == codeLost {
		return store.ErrLost
	}
	return d.explain(err)
}
