package app

import (
	"context"
	"time"

	"github.com/etui-run/etui/erase"
)

// sweeping is how often a gateway looks for conversations that are kept no longer.
const sweeping = time.Hour

// sweep removes, now and every hour until ctx ends, the conversations that
// sessions.keep keeps no longer.
func (a *App) sweep(ctx context.Context) {
	keep := a.Workspace.Config.Sessions.Keep
	if keep <= 0 {
		return
	}
	tick := time.NewTicker(sweeping)
	defer tick.Stop()
	for {
		n, err := erase.Sweep(ctx, a.Engine.Store(), a.Engine.Now().Add(-keep))
		switch {
		case err != nil && ctx.Err() == nil:
			a.settings.Log.ErrorContext(ctx, "old conversations could not be removed", "error", err)
		case n > 0:
			a.settings.Log.InfoContext(ctx, "old conversations removed", "sessions", n, "kept", keep)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
