package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/etui-run/etui/store/internal/trail"
)

// view runs f on the file as it is at one moment.
func (s *Store) view(ctx context.Context, f func(trail.Tx) error) error {
	return within(ctx, s.read, "BEGIN", f)
}

// within runs f in a transaction. Its statements are short, so each runs to its end: what
// [sql.Tx] does to notice between them that ctx has ended costs more than they do.
func within(ctx context.Context, db *sql.DB, begin string, f func(trail.Tx) error) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it goes back to the pool
	if _, err = c.ExecContext(ctx, begin); err == nil {
		err = f(transaction{c})
	}
	if err == nil {
		_, err = c.ExecContext(context.Background(), "COMMIT")
	}
	if err != nil {
		undo(c)
	}
	return err
}

// undo ends a transaction that failed, unless SQLite has done so. A connection of which
// nobody knows whether it is in a transaction is not used again.
func undo(c *sql.Conn) {
	if _, err := c.ExecContext(context.Background(), "ROLLBACK"); err != nil &&
		!strings.Contains(err.Error(), "no transaction is active") {
		_ = c.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// transaction runs the statements of a transaction. It looks at the context before each of
// them.
type transaction struct{ c *sql.Conn }

func (t transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.c.ExecContext(context.WithoutCancel(ctx), query, args...)
}

func (t transaction) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.c.QueryContext(context.WithoutCancel(ctx), query, args...)
}

func (t transaction) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx)
	}
	return t.c.QueryRowContext(ctx, query, args...)
}
