package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/store/internal/row"
)

// migrations holds the schema of the first release, whose file's number is its version, and
// then one file for each version.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema to this program's version, all of the way or not at all. Only
// one process does that at a time.
func (d *database) migrate(ctx context.Context) error {
	files, err := fs.Glob(migrations, "migrations/*.sql") // in order
	if err != nil {
		return err
	}
	return d.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(x'65747569'::bigint)`); err != nil { // "etui"
			return err
		}
		have, err := version(ctx, tx)
		if err != nil {
			return err
		}
		missing, err := row.Missing(files, have)
		if err != nil {
			return fmt.Errorf("%w, or another database", err)
		}
		for _, file := range missing {
			text, err := migrations.ReadFile(file)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return fmt.Errorf("bringing it to version %d: %w", row.Version(file), err)
			}
			if _, err := tx.Exec(ctx, `UPDATE version SET version = $1`, row.Version(file)); err != nil {
				return err
			}
		}
		return nil
	})
}

// version returns the version of the schema, 0 of a new one, which it makes. It refuses one
// with tables that are not etui's.
func version(ctx context.Context, tx pgx.Tx) (have int, err error) {
	var there, known bool
	var tables int
	err = tx.QueryRow(ctx, `SELECT current_schema() IS NOT NULL, to_regclass(current_schema() || '.version') IS NOT NULL AND to_regclass(current_schema() || '.claims') IS NOT NULL,
		(SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema()::text))`).Scan(&there, &known, &tables)
	switch {
	case err != nil:
		return 0, err
	case known:
		err = tx.QueryRow(ctx, `SELECT version FROM version`).Scan(&have)
		return have, err
	case tables > 0:
		return 0, fmt.Errorf("the schema has tables of another program; choose another database or, with search_path, another schema")
	case !there:
		if _, err := tx.Exec(ctx, `CREATE SCHEMA etui`); err != nil {
			return 0, err
		}
	}
	_, err = tx.Exec(ctx, `CREATE TABLE version (version integer NOT NULL); INSERT INTO version VALUES (0)`)
	return 0, err
}
