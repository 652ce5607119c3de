// Package trial gives the measurements of a selection what they need of a workspace: its stored
// conversations, its past turns, and an engine to replay them on.
package trial

import (
	"context"
	"errors"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/lab/replay"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/usage"
)

// ErrNothingStored means that a workspace has no stored conversation.
var ErrNothingStored = phrase.Errorf("the workspace has stored no conversation yet")

// StoredConversations returns the workspace's conversations with these keys, or its
// newest ones if there are no keys. The value who has what a session does not record: the
// user, the channel and the roles. The error is [ErrNothingStored] if there are none.
func StoredConversations(ctx context.Context, w *workdir.Workspace, keys []string,
	who replay.Conversation) (all []replay.Conversation, err error) {
	err = state.Read(ctx, w, func(s state.Store) (err error) {
		all, err = replay.Stored(ctx, s, keys, who)
		return err
	})
	switch {
	case errors.Is(err, replay.ErrNotStored):
		err = config.UsageError{Err: err}
	case err == nil && len(all) == 0:
		err = ErrNothingStored
	}
	return all, err
}

// Replay replays conversations on a workspace, in each mode and at each provider.
func Replay(ctx context.Context, w *workdir.Workspace, cfg app.Config, modes []replay.Mode, warm bool,
	conversations []replay.Conversation) (report replay.Report, err error) {
	err = app.Use(ctx, w, cfg, func(a *app.App) (err error) {
		report, err = replay.PlayAll(ctx, a.Config, modes, warm, conversations)
		return err
	})
	if errors.Is(err, engine.ErrUnknown) {
		err = config.Usagef("on %s: %w", w.File, err)
	}
	return report, err
}

// PastTurns returns the workspace's tools, visible to everybody, and the past turns.
func PastTurns(ctx context.Context, w *workdir.Workspace, cfg app.Config) (tools *catalog.Catalog, turns []usage.Turn,
	err error) {
	err = app.Use(ctx, w, cfg, func(a *app.App) (err error) {
		if log := a.Config.Learning.Log; log != nil {
			if turns, err = log.List(ctx, usage.Filter{}); err != nil {
				return err
			}
		}
		tools, err = eval.Open(a.Engine.Catalog())
		return err
	})
	return tools, turns, err
}
