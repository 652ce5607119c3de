package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Copy writes the database at path as it is at one moment to a new file, whose mode is
// 0600. Other processes may read and write the database meanwhile. The copy is compact: what
// was deleted is not in it.
func Copy(ctx context.Context, path, to string) (err error) {
	s := &Store{path: path}
	db, err := connect(path, 1)
	if err != nil {
		return s.explain(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// SQLite would make the file readable for others; it takes an empty one.
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return s.explain(err)
	}
	return nil
}

// Check reports damage of the database at path, and whether this program can use it. It
// does not change the file.
func Check(ctx context.Context, path string) (err error) {
	s := &Store{path: path}
	db, err := connect(path, 1, "query_only(on)")
	if err != nil {
		return s.explain(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var app int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return s.explain(err)
	}
	if app != application {
		return s.explain(errors.New("the file is another program's database"))
	}
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check(1)")
	if err != nil {
		return s.explain(err)
	}
	defer rows.Close()
	return s.explain(firstProblem(rows))
}

// firstProblem reads the answer of integrity_check: one row "ok", or the first problem.
func firstProblem(rows *sql.Rows) error {
	for rows.Next() {
		var says string
		if err := rows.Scan(&says); err != nil {
			return err
		}
		if says != "ok" {
			return fmt.Errorf("the file is damaged: %s", says)
		}
	}
	return rows.Err()
}
