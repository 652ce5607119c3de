// Package sqlite keeps sessions and the inbox in one SQLite file, past turns in another, and the
// calls of skills and decisions about calls in a third.
//
// The file is in WAL mode with synchronous=FULL: what Append has acknowledged
// survives the death of the process and a power cut. (With NORMAL a power cut
// could cost the last appends, which would have been acknowledged to users.)
// Deleted data is overwritten. One connection writes, at most four read. Writers that come at
// once share a commit. Opening a file that is already of this version takes well under a
// millisecond.
//
// A file that is not etui's own is refused and not changed. Every error of the
// file says which file, what is wrong and what to do.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Store keeps sessions in a file. It is safe for concurrent use.
type Store struct {
	path    string
	schema  string  // the migrations' files
	write   *sql.DB // one connection: SQLite has one writer
	writers writers
	read    *sql.DB
	kept    *recent.Cache[session.Key, cachedMessages] // what was loaded lately
	highest atomic.Int64                               // a number above those of all messages that were added; only Append writes it, within its transaction
}

var _ store.Store = (*Store)(nil)

// Open opens the database at path, and makes it, with its folder, when there is
// none: readable by its owner only.
func Open(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, "migrations/*.sql")
}

// open opens the database at path with a schema of [migrations].
func open(ctx context.Context, path, schema string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w; set another one with state in etui.yaml or ETUI_STATE",
			err)
	}
	// SQLite would make the file readable for others.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w; the file and its folder must be writable", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	s := &Store{path: path, schema: schema, kept: newKept(), writers: writers{busy: make(chan struct{}, 1)}}
	if s.write, err = connect(path, 1, "secure_delete(on)"); err != nil {
		return nil, s.explain(err)
	}
	if s.read, err = connect(path, 4, "query_only(on)", "cache_size(-256)"); err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	return s, nil
}

// connect prepares a number of connections. The journal's mode is not set here:
// that would change the file before it is known whose it is, and the file keeps
// it.
func connect(path string, connections int, pragmas ...string) (*sql.DB, error) {
	// A page cache of 2 MiB, and 256 KiB for each connection that reads, and no memory map keep
	// a gateway small: what is read again comes from the system. A log
	// that grew is cut back to 4 MiB.
	q := url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_pragma": append([]string{
		"busy_timeout(5000)", "synchronous(full)", "foreign_keys(on)", "cache_size(-2000)", "mmap_size(0)",
		"journal_size_limit(4194304)",
	}, pragmas...)}
	c, err := sqlite.NewConnector((&url.URL{Scheme: "file", Opaque: url.PathEscape(path),
		RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{c})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Close closes the file. Nothing may be called after it.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return s.explain(errors.Join(errs...))
}
