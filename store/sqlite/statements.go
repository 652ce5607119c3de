package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"
)

// connector opens connections that keep the statements they have prepared, so that SQLite
// reads and plans each of them once.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{inner.(driverConn), map[string]statement{}}, nil
}

// driverConn and statement are what the driver's own types can do.
type (
	driverConn interface {
		driver.Conn
		driver.ConnBeginTx
		driver.ConnPrepareContext
		driver.ExecerContext
		driver.QueryerContext
		driver.SessionResetter
		driver.Validator
	}
	statement interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
)

// connection is used by one goroutine at a time.
type connection struct {
	driverConn

	idle map[string]statement // prepared, and not in use now
}

// maxStatements is how many statements a connection keeps. Beyond that, it begins anew: the
// store itself has fewer.
const maxStatements = 64

// limited ends a query. SQLite plans a statement anew, at each run, whose limit is a bare
// parameter.
const limited = ` LIMIT ? + 0`

// lock begins a transaction that writes, and waits for those of other processes.
const lock = "BEGIN IMMEDIATE"

// keeps reports whether a statement is worth keeping: it is one, and short. It then runs to
// its end: to watch whether its caller has gone would cost more than most of them do.
func keeps(query string) bool {
	switch word, _, _ := strings.Cut(query, " "); word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return !strings.Contains(query, ";")
	}
	return false
}

// take returns a statement for the caller alone, who gives it back with put.
func (c *connection) take(ctx context.Context, query string) (statement, error) {
	if s, ok := c.idle[query]; ok {
		delete(c.idle, query)
		return s, ctx.Err()
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(statement), nil
}

func (c *connection) put(query string, s statement) error {
	var err error
	if len(c.idle) >= maxStatements {
		err = c.forget()
	}
	if c.idle[query] != nil { // it was used within itself
		return s.Close()
	}
	c.idle[query] = s
	return err
}

// forget closes the statements that are not in use.
func (c *connection) forget() (err error) {
	for _, s := range c.idle {
		if e := s.Close(); err == nil {
			err = e
		}
	}
	clear(c.idle)
	return err
}

func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !keeps(query) {
		return c.driverConn.ExecContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if s == nil {
		return nil, err
	}
	var result driver.Result
	if query != lock { // that may take long
		ctx = context.WithoutCancel(ctx)
	}
	if err == nil {
		result, err = s.ExecContext(ctx, args)
	}
	if e := c.put(query, s); err == nil {
		err = e
	}
	return result, err
}

func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !keeps(query) {
		return c.driverConn.QueryContext(ctx, query, args)
	}
	s, err := c.take(ctx, query)
	if s == nil {
		return nil, err
	}
	var found driver.Rows
	if err == nil {
		found, err = s.QueryContext(context.WithoutCancel(ctx), args)
	}
	if err != nil {
		_ = c.put(query, s)
		return nil, err
	}
	return &rows{found, func() error { return c.put(query, s) }}, nil
}

// Close closes the statements, too.
func (c *connection) Close() error {
	err := c.forget()
	if e := c.driverConn.Close(); err == nil {
		err = e
	}
	return err
}

// rows give their statement back when they are closed, which database/sql does once.
type rows struct {
	driver.Rows

	put func() error
}

func (r *rows) Close() error {
	err := r.Rows.Close()
	if e := r.put(); err == nil {
		err = e
	}
	return err
}
