package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/store/internal/row"
	"github.com/etui-run/etui/store/internal/trail"
)

// migrations holds the schema of the first release, whose file's number is its version, and
// then one file for each version. Sessions, past turns and calls of skills have a schema each.
//
//go:embed migrations/*.sql usage/*.sql calls/*.sql
var migrations embed.FS

// application marks our files ("etui"), so that another program's database is
// not taken for one.
const application = 0x65747569

// migrate brings the file to this program's version, all of the way or not at
// all, and sets its journal to WAL. Nothing is written before it is known that
// the file is ours, or empty.
func (s *Store) migrate(ctx context.Context) error {
	files, err := fs.Glob(migrations, s.schema) // in order
	if err != nil {
		return err
	}
	missing, err := missing(ctx, s.write, files)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := s.update(ctx, func(tx trail.Tx) error { return apply(ctx, tx, files) }); err != nil {
			return err
		}
	}
	return s.setJournal(ctx)
}

// setJournal sets the journal to WAL. While another program opens the file, too,
// SQLite says at once that it is locked instead of waiting.
func (s *Store) setJournal(ctx context.Context) error {
	for wait := time.Millisecond; ; wait *= 2 {
		var mode string
		err := s.write.QueryRowContext(ctx, "PRAGMA journal_mode=wal").Scan(&mode)
		if !busy(err) || wait > 2*time.Second {
			return err
		}
		if !sleep.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

// apply runs the migrations that are missing. Another program may have run them
// since the version was first read.
func apply(ctx context.Context, tx trail.Tx, files []string) error {
	missing, err := missing(ctx, tx, files)
	if err != nil {
		return err
	}
	for _, file := range missing {
		text, err := migrations.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("bringing the file to version %d: %w", row.Version(file), err)
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", application,
		row.Version(files[len(files)-1])))
	return err
}

// missing returns the migrations that a file needs. It refuses a file that is not ours, newer
// than this program, or older than the first release.
func missing(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, files []string) ([]string, error) {
	var app, have, tables int
	found := db.QueryRowContext(ctx,
		`SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := found.Scan(&app, &have, &tables); err != nil {
		return nil, err
	}
	if app != application && (app != 0 || have != 0 || tables > 0) {
		return nil, fmt.Errorf("the file is another program's database; move it away or choose another state folder")
	}
	missing, err := row.Missing(files, have)
	if err != nil {
		return nil, fmt.Errorf("%w, or another state folder", err)
	}
	return missing, nil
}
