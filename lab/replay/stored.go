package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/session"
)

// maxReplayed is how many stored conversations are replayed: the newest.
const maxReplayed = 500

// Sessions are stored conversations.
type Sessions interface {
	List(ctx context.Context, f session.Filter) ([]session.Summary, error)
	Load(ctx context.Context, key session.Key, steps int) (session.Session, error)
}

// ErrNotStored says that there is no stored conversation with a key.
var ErrNotStored = errors.New("there is no stored conversation")

// Stored returns the conversations with these keys, or the newest ones if there are no keys. Sessions do
// not record user, channel and roles; these are who's. The error
// is [ErrNotStored] if a key has none.
func Stored(ctx context.Context, from Sessions, keys []string, who Conversation) (all []Conversation, err error) {
	named := len(keys) > 0
	if !named {
		list, err := from.List(ctx, session.Filter{Limit: maxReplayed})
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			keys = append(keys, string(s.Key))
		}
	}
	for _, key := range keys {
		s, err := from.Load(ctx, session.Key(key), 0)
		if err != nil {
			return nil, err
		}
		c := FromSession(s)
		c.User, c.Channel, c.Roles = who.User, who.Channel, who.Roles
		if len(c.Turns) > 0 {
			all = append(all, c)
		} else if named {
			return nil, fmt.Errorf("%w %q", ErrNotStored, key)
		}
	}
	return all, nil
}

// PlayAll replays conversations in each mode and at each provider.
func PlayAll(ctx context.Context, c engine.Config, modes []Mode, warm bool,
	conversations []Conversation) (report Report, err error) {
	for _, mode := range modes {
		for _, p := range Providers() {
			run, err := Play(ctx, Config{Engine: c, Mode: mode, Provider: p, Warm: warm}, conversations)
			if err != nil {
				return report, err
			}
			report.Runs = append(report.Runs, run)
		}
	}
	return report, nil
}
