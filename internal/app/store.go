package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/sqlite"
)

// stored is an open store.
type stored interface {
	store.Store
	io.Closer
}

// shared is the store of several processes.
type shared interface {
	store.Shared
	// Calls returns the audit of all of them.
	Calls() audit.Log
	// Turns returns their record of past turns.
	Turns(l postgres.TurnLimits) *postgres.Turns
}

// openStore opens the store if it is needed. A shared one has also what people decided about
// skills; where nothing is stored, it may be away.
func (a *App) openStore(ctx context.Context, settings Config) error {
	w, needed := a.Workspace, settings.Stored || settings.Records && a.Workspace.hasStore()
	if !needed && w.Config.Store == "" {
		return nil
	}
	s, err := w.openStore(ctx, a.log)
	if err != nil {
		if needed {
			return err
		}
		a.Warnings = append(a.Warnings, err)
		return nil
	}
	a.close = append(a.close, s.Close)
	a.store = s
	a.shared, _ = s.(shared)
	return nil
}

// file is the database in the state folder.
func (w *Workspace) file() string { return filepath.Join(w.State, "etui.db") }

// Database says where conversations are stored: a file, or a database without its password.
func (w *Workspace) Database() string {
	if url := string(w.Config.Store); url != "" {
		return postgres.Name(url)
	}
	return w.file()
}

// hasStore reports whether conversations may have been stored.
func (w *Workspace) hasStore() bool {
	return w.Config.Store != "" || exists(w.file())
}

func (w *Workspace) openStore(ctx context.Context, log *slog.Logger) (stored, error) {
	url := string(w.Config.Store)
	switch {
	case url == "":
		return sqlite.Open(ctx, w.file())
	case !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
		return nil, w.wrongf("store must be the address of a PostgreSQL database, postgres://user:${DB_PASSWORD}@host:5432/name; without it, etui keeps a file in the state folder")
	}
	return postgres.Open(ctx, url, log)
}

// secrets returns what is hidden of the configuration: of the store's address also the
// password by itself.
func (w *Workspace) secrets() []secret.Value {
	found := w.Config.Secrets()
	if password := postgres.Password(string(w.Config.Store)); password != "" {
		found = append(found, secret.Value(password))
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
