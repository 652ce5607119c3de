// Package sqlite keeps sessions in one SQLite file.
//
// The file is in WAL mode with synchronous=FULL: what Append has acknowledged
// survives the death of the process and a power cut. One connection writes, a
// few read. Opening a file that is already of this version takes a few
// milliseconds.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// application marks our files ("etui"), so that another program's database
	// is not taken for one.
	application = 0x65747569
	maxKey      = 512
	maxMessage  = 8 << 20
)

// Store keeps sessions in a file. It is safe for concurrent use.
type Store struct {
	path  string
	write *sql.DB // one connection: SQLite has one writer
	read  *sql.DB
}

var _ session.Store = (*Store)(nil)

// Open opens the database at path, and makes it, with its folder, when there is
// none. Errors say what is wrong with which file, and what to do.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w; set another one with state in etui.yaml or ETUI_STATE", err)
	}
	// SQLite would make the file readable for others.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w; the state folder must be writable", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	s := &Store{path: path}
	if s.write, err = connect(path, 1, "immediate"); err != nil {
		return nil, s.explain(err)
	}
	if s.read, err = connect(path, 4, "deferred"); err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	return s, nil
}

func connect(path string, connections int, lock string) (*sql.DB, error) {
	// A page cache of 2 MiB and no memory map keep an idle gateway small.
	q := url.Values{"_txlock": {lock}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "foreign_keys(on)", "cache_size(-2000)",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(1)
	return db, nil
}

// migrate brings the file to this program's version.
func (s *Store) migrate(ctx context.Context) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(files)
	var app, version, tables int
	row := s.write.QueryRowContext(ctx, `SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&app, &version, &tables); err != nil {
		return err
	}
	switch {
	case app != application && (app != 0 || tables > 0):
		return fmt.Errorf("the file is another program's database; move it away or choose another state folder")
	case version > len(files):
		return fmt.Errorf("the file was written by a newer etui (version %d, this one knows %d); use that one, or another state folder", version, len(files))
	}
	for ; version < len(files); version++ {
		text, err := migrations.ReadFile(files[version])
		if err != nil {
			return err
		}
		err = s.update(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA application_id=%d; PRAGMA user_version=%d", text, application, version+1))
			return err
		})
		if err != nil {
			return fmt.Errorf("bringing the file to version %d: %w", version+1, err)
		}
	}
	return nil
}

// update runs f in a transaction that is undone when f fails.
func (s *Store) update(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Close closes the file. Nothing may be called after it.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// explain adds the file and what to do to an error of SQLite.
func (s *Store) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	advice := ""
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			advice = "; the file is damaged or no database: move it away to begin anew, or restore a copy"
		case sqlite3.SQLITE_FULL:
			advice = "; the disk is full: make room and try again"
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			advice = "; the file and its folder must be writable"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			advice = "; another program holds the file"
		case sqlite3.SQLITE_IOERR:
			advice = "; reading or writing failed: is the disk full or gone?"
		}
	}
	return fmt.Errorf("database %s: %w%s", s.path, err, advice)
}

// Load implements [session.Store].
func (s *Store) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	out := session.Session{Key: key}
	var state string
	err := s.read.QueryRowContext(ctx, `SELECT state FROM sessions WHERE key = ?`, key).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return out, nil
	}
	if err != nil {
		return out, s.explain(err)
	}
	if err := json.Unmarshal([]byte(state), &out.State); err != nil {
		return out, s.explain(fmt.Errorf("the state of session %s: %w", key, err))
	}
	if limit <= 0 {
		limit = -1
	}
	rows, err := s.read.QueryContext(ctx, `SELECT message FROM messages WHERE session = ? ORDER BY id DESC LIMIT ?`, key, limit)
	if err != nil {
		return out, s.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return out, s.explain(err)
		}
		var m chat.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return out, s.explain(fmt.Errorf("a message of session %s: %w", key, err))
		}
		out.Messages = append(out.Messages, m)
	}
	slices.Reverse(out.Messages)
	return out, s.explain(rows.Err())
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
	rows := make([][]byte, len(messages))
	for i, m := range messages {
		if rows[i], err = json.Marshal(m); err != nil {
			return fmt.Errorf("a message of session %s: %w", key, err)
		}
		if len(rows[i]) > maxMessage {
			return fmt.Errorf("a message of session %s has %d bytes, at most %d can be stored", key, len(rows[i]), maxMessage)
		}
	}
	now := time.Now().UnixMilli()
	return s.explain(s.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sessions (key, state, created, updated) VALUES (?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET state = excluded.state, updated = excluded.updated`, key, string(saved), now, now)
		for _, row := range rows {
			if err != nil {
				break
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO messages (session, message) VALUES (?, ?)`, key, string(row))
		}
		return err
	}))
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, limit int) ([]session.Summary, error) {
	if limit <= 0 {
		limit = -1
	}
	rows, err := s.read.QueryContext(ctx, `SELECT key, state, created, updated, (SELECT count(*) FROM messages WHERE session = key)
		FROM sessions ORDER BY updated DESC, key LIMIT ?`, limit)
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
			return nil, s.explain(fmt.Errorf("the state of session %s: %w", line.Key, err))
		}
		line.Skill, line.Created, line.Updated = state.Skill, time.UnixMilli(created), time.UnixMilli(updated)
		list = append(list, line)
	}
	return list, s.explain(rows.Err())
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
