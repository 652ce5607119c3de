package app

import (
	"context"

	"github.com/etui-run/etui/internal/workspace"
)

// openStore opens the store if it is needed. A shared one has also what people decided about
// skills; where nothing is stored, it may be away.
func (a *App) openStore(ctx context.Context, settings Config) error {
	w, needed := a.Workspace, settings.Stored || settings.Records && a.Workspace.HasStore()
	if !needed && w.Config.Store == "" {
		return nil
	}
	s, err := w.OpenStore(ctx, a.log)
	if err != nil {
		if needed {
			return err
		}
		a.Warnings = append(a.Warnings, err)
		return nil
	}
	a.close = append(a.close, s.Close)
	a.store = s
	a.shared, _ = s.(workspace.Shared)
	return nil
}
