package state

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/sqlite"
)

// Store is an open store.
type Store interface {
	store.Store
	io.Closer
}

// Shared is the store of several processes.
type Shared interface {
	store.Shared
	// Calls returns the audit of all of them.
	Calls() audit.Log
	// Turns returns their record of past turns.
	Turns(l postgres.TurnLimits) *postgres.Turns
}

// databaseFile is the database in the state folder.
func databaseFile(w *workdir.Workspace) string { return filepath.Join(w.State, "etui.db") }

// Database says where conversations are stored: a file, or a database without its password.
func Database(w *workdir.Workspace) string {
	if url := string(w.Config.Store); url != "" {
		return postgres.Name(url)
	}
	return databaseFile(w)
}

// hasStore reports whether conversations may have been stored.
func hasStore(w *workdir.Workspace) bool {
	return w.Config.Store != "" || folder.Exists(databaseFile(w))
}

// openDatabase opens the store, which it makes where there is none. A [Shared] one can be used by
// several processes.
func openDatabase(ctx context.Context, w *workdir.Workspace, log *slog.Logger) (Store, error) {
	url := string(w.Config.Store)
	switch {
	case url == "":
		return sqlite.Open(ctx, databaseFile(w))
	case !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
		return nil, w.Mistakef("store must be the address of a PostgreSQL database, postgres://user:${DB_PASSWORD}@host:5432/name; without it, etui keeps a file in the state folder")
	}
	return postgres.Open(ctx, url, log)
}

// Read opens the store for what do does. Where nothing was stored, it does nothing.
func Read(ctx context.Context, w *workdir.Workspace, do func(Store) error) error {
	if !hasStore(w) {
		return nil
	}
	s, err := openDatabase(ctx, w, nil)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// Secrets returns what is hidden of the configuration: of the store's address also the
// password by itself.
func Secrets(w *workdir.Workspace) []secret.Value {
	found := w.Config.Secrets()
	if password := postgres.Password(string(w.Config.Store)); password != "" {
		found = append(found, secret.Value(password))
	}
	return found
}
