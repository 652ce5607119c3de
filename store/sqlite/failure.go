package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/etui-run/etui/store"
)

// explain adds the file and a remedy to an error of SQLite, which is a [store.ErrAway] then. It
// returns a context's error unchanged.
func (s *Store) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	explained := fmt.Errorf("database %s: %w%s", s.path, err, advice(err))
	if code(err) != 0 {
		return store.AsAway(explained)
	}
	return explained
}

func advice(err error) string {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "; the file is damaged or no database: move it away to begin anew, or restore a copy"
	case sqlite3.SQLITE_FULL:
		return "; the disk is full: make room and try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "; the file and its folder must be writable"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "; another program holds the file: end it, or wait until it is done"
	case sqlite3.SQLITE_IOERR:
		return "; reading or writing failed: is the disk full or gone?"
	}
	return ""
}

// code returns the kind of an error of SQLite, 0 of any other. The rest of
// SQLite's codes says more than anybody needs.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

func busy(err error) bool { return code(err) == sqlite3.SQLITE_BUSY }
