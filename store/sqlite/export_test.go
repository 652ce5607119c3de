package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/etui-run/etui/store/internal/trail"
)

// LimitPages makes the disk full after a number of pages.
func LimitPages(s *Store, pages int) error {
	_, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count=%d", pages))
	return err
}

// WaitFor sets for how long a locked file is waited for, in milliseconds.
func WaitFor(s *Store, ms int) error {
	_, err := s.write.Exec(fmt.Sprintf("PRAGMA busy_timeout=%d", ms))
	return err
}

// Exec changes a file behind the store's back, as another program.
func Exec(path, statements string) error {
	return other(path, func(c *sql.Conn) error {
		_, err := c.ExecContext(context.Background(), statements)
		return err
	})
}

// Query returns the one text that a query gives.
func Query(path, query string) (text string, err error) {
	err = other(path, func(c *sql.Conn) error {
		return c.QueryRowContext(context.Background(), query).Scan(&text)
	})
	return text, err
}

// Lock holds a file while f runs, as another program does.
func Lock(path string, f func()) error {
	return other(path, func(c *sql.Conn) error {
		if _, err := c.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		f()
		_, err := c.ExecContext(context.Background(), "ROLLBACK")
		return err
	})
}

func other(path string, f func(*sql.Conn) error) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// Statements runs a number of different queries, each twice, and each within itself, on one
// connection.
func Statements(path string, n int) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	db, err := connect(path, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	return within(ctx, db, "BEGIN", func(tx trail.Tx) error {
		for i := range 2 * n {
			query := fmt.Sprintf("SELECT %d + ? UNION ALL SELECT 1000", i%n)
			rows, err := tx.QueryContext(ctx, query, 1)
			if err != nil {
				return err
			}
			for rows.Next() {
				var outer, inner int
				if err := errors.Join(rows.Scan(&outer), tx.QueryRowContext(ctx, query, 2).Scan(&inner)); err != nil {
					return err
				}
				if outer != 1000 && outer != i%n+1 || inner != i%n+2 {
					return fmt.Errorf("query %d gives %d and %d", i, outer, inner)
				}
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}
