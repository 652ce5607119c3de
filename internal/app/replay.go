package app

import (
	"context"
	"errors"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/replay"
	"github.com/etui-run/etui/internal/workspace"
	"github.com/etui-run/etui/session"
)

// maxReplayed is how many stored conversations are replayed: the newest.
const maxReplayed = 500

// ErrNothingStored means that a workspace has no stored conversation.
var ErrNothingStored = errors.New("the workspace has stored no conversation yet")

// StoredConversations returns the workspace's conversations with these keys, or its
// newest ones if there are no keys. Who has what a session does not record: the user,
// the channel and the roles. The error is [ErrNothingStored] if there are none.
func StoredConversations(ctx context.Context, w *workspace.Workspace, keys []string, who replay.Conversation) (all []replay.Conversation, err error) {
	if !w.HasStore() {
		return nil, ErrNothingStored
	}
	store, err := w.OpenStore(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	named := len(keys) > 0
	if !named {
		list, err := store.List(ctx, session.Filter{Limit: maxReplayed})
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			keys = append(keys, string(s.Key))
		}
	}
	for _, key := range keys {
		s, err := store.Load(ctx, session.Key(key), 0)
		if err != nil {
			return nil, err
		}
		c := replay.FromSession(s)
		c.User, c.Channel, c.Roles = who.User, who.Channel, who.Roles
		if len(c.Turns) > 0 {
			all = append(all, c)
		} else if named {
			return nil, config.Usagef("there is no stored conversation %q", key)
		}
	}
	if len(all) == 0 {
		return nil, ErrNothingStored
	}
	return all, nil
}

// Replay replays conversations on a workspace, in each mode and at each provider.
func Replay(ctx context.Context, w *workspace.Workspace, cfg Config, modes []replay.Mode, warm bool, conversations []replay.Conversation) (report replay.Report, err error) {
	a, err := New(ctx, w, cfg)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	for _, mode := range modes {
		for _, p := range replay.Providers() {
			run, err := replay.Play(ctx, replay.Config{Engine: a.Config, Mode: mode, Provider: p, Warm: warm}, conversations)
			if errors.Is(err, engine.ErrUnknown) {
				err = config.Usagef("on %s: %w", w.File, err)
			}
			if err != nil {
				return report, err
			}
			report.Runs = append(report.Runs, run)
		}
	}
	return report, nil
}
