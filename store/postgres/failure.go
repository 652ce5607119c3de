package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// The errors of our own functions in the database.
const (
	codeLost  = "ET001"
	codeEnded = "ET002"
)

// code returns the SQLSTATE of an error, empty if the database did not answer with one.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// broken reports whether the connection, and not the statement, is the cause of an error.
func broken(err error) bool {
	c := code(err)
	var network net.Error
	return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "57P") || c == "25P03" ||
		c == "" && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			pgconn.SafeToRetry(err))
}

// clash reports whether a transaction was undone because of another one.
func clash(err error) bool {
	switch code(err) {
	case "40001", "40P01", "23503": // serialization, deadlock, a file that was removed meanwhile
		return true
	}
	return false
}

// explain adds the database and a remedy to an error, which is a [store.ErrAway] if the database
// or the connection is its cause. It returns a context's error, and those that a caller asks for,
// unchanged.
func (d *database) explain(err error) error {
	if c := code(err); c == "22021" || c == "22P05" { // bytes, or an escape in JSON, that its texts cannot hold
		return store.ErrText
	}
	explained := d.advise(err)
	if !errors.Is(err, context.Canceled) &&
		(code(err) != "" || broken(err) || errors.Is(err, context.DeadlineExceeded)) {
		return store.AsAway(explained)
	}
	return explained
}

func (d *database) advise(err error) error {
	for _, own := range []error{context.Canceled, store.ErrEnded, store.ErrLost, session.ErrNotFound,
		session.ErrNoFile} {
		if err == nil || errors.Is(err, own) {
			return err
		}
	}
	var connecting *pgconn.ConnectError
	var e *pgconn.PgError
	switch c := code(err); {
	case strings.HasPrefix(c, "28") && errors.As(err, &e):
		return fmt.Errorf("database %s: %s; check the user and the password in store", d.name, e.Message)
	case c == "3D000" && errors.As(err, &e):
		return fmt.Errorf("database %s: %s; make it with createdb", d.name, e.Message)
	case c == "53100":
		return fmt.Errorf("database %s: %w; its disk is full: make room", d.name, err)
	case c == "53300":
		return fmt.Errorf("database %s: %w; raise its max_connections, or lower pool_max_conns in store", d.name, err)
	case c == "25006":
		return fmt.Errorf("database %s: %w; it is read-only: is it a standby?", d.name, err)
	case c == "42501":
		return fmt.Errorf("database %s: %w; the user must be allowed to make a schema, or to use the one of etui",
			d.name, err)
	case errors.As(err, &connecting):
		return fmt.Errorf("database %s cannot be reached: %w; is it running?", d.name, cause(connecting))
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("database %s: %w: it did not answer in time", d.name, err)
	}
	return fmt.Errorf("database %s: %w", d.name, err)
}

// cause returns why a connection failed, without the address and the user.
func cause(err *pgconn.ConnectError) error {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err.Unwrap()
}
