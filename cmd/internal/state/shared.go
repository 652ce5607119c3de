package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/control"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/store"
)

// skillKind is the kind of the records with the decisions about skills.
const skillKind = "skill"

// Control applies what people decided about skills: in the database if several etui may
// share it, else in the state folder. What the folder has from the time before is moved.
func (s *State) Control(ctx context.Context, table *skill.Table, log *slog.Logger) (*control.Control, error) {
	w, file := s.w, filepath.Join(s.w.State, decisionsFile)
	switch {
	case w.Config.Store == "":
		return control.New(file, table, Limits(w.Config), log), nil
	case s.Shared == nil: // a command that needs no database, which is away
		return control.NewShared(away{}, table, Limits(w.Config), log), nil
	}
	kept := decisions{s.Shared}
	if s.stored {
		if err := control.Move(ctx, file, kept); err != nil {
			return nil, err
		}
	}
	return control.NewShared(kept, table, Limits(w.Config), log), nil
}

// decisions are the decisions about skills in a store.
type decisions struct{ store store.Shared }

// Read implements [control.Shared].
func (d decisions) Read(ctx context.Context) (map[string]skill.Decision, error) {
	records, err := d.store.Records(ctx, skillKind)
	said := map[string]skill.Decision{}
	for _, r := range records {
		var one skill.Decision
		if err := json.Unmarshal(r.Value, &one); err != nil {
			return nil, fmt.Errorf("the decision about skill %q: %w", r.Key, err)
		}
		said[r.Key] = one
	}
	return said, err
}

// Change implements [control.Shared].
func (d decisions) Change(ctx context.Context, name string, change func(skill.Decision) skill.Decision) error {
	return d.store.Change(ctx, skillKind, name, func(value json.RawMessage) (json.RawMessage, error) {
		var said skill.Decision
		if value != nil {
			if err := json.Unmarshal(value, &said); err != nil {
				return nil, fmt.Errorf("the decision about skill %q: %w", name, err)
			}
		}
		if said = change(said); said.IsZero() {
			return nil, nil
		}
		return json.Marshal(said)
	})
}

// Changed implements [control.Shared].
func (d decisions) Changed() <-chan struct{} { return d.store.Changed(skillKind) }

// errAway says that a command does without the database.
var errAway = errors.New("the database is unavailable")

// away are decisions that cannot be read.
type away struct{}

// Read implements [control.Shared].
func (away) Read(context.Context) (map[string]skill.Decision, error) { return nil, errAway }

// Change implements [control.Shared].
func (away) Change(context.Context, string, func(skill.Decision) skill.Decision) error {
	return errAway
}

// Changed implements [control.Shared].
func (away) Changed() <-chan struct{} { return nil }

// pinKind is the kind of the records with what was accepted of MCP servers.
const pinKind = "pin"

// Pins returns what may be used of MCP servers. Several etui share what is accepted.
func (s *State) Pins() *mcp.Pins {
	file := filepath.Join(s.w.State, workdir.PinsFile)
	if s.Shared == nil {
		return mcp.NewPins(file)
	}
	return mcp.NewSharedPins(file, servers{s.Shared, pinKind})
}

// loginKind is the kind of the records with the logins at MCP servers.
const loginKind = "login"

// Logins returns the logins at MCP servers. Several etui share them.
func (s *State) Logins() *oauth.Vault {
	var shelf oauth.Shelf = oauth.File(filepath.Join(s.w.State, workdir.LoginsFile))
	if s.Shared != nil {
		shelf = servers{s.Shared, loginKind}
	}
	return oauth.NewVault(shelf, filepath.Join(s.w.State, workdir.LoginKeyFile), os.Getenv)
}

// servers are what a store keeps of MCP servers, of a kind.
type servers struct {
	store store.Shared
	kind  string
}

// Read implements [mcp.Shared].
func (p servers) Read(ctx context.Context) (map[string]json.RawMessage, error) {
	records, err := p.store.Records(ctx, p.kind)
	all := map[string]json.RawMessage{}
	for _, r := range records {
		all[r.Key] = r.Value
	}
	return all, err
}

// Change implements [mcp.Shared].
func (p servers) Change(ctx context.Context, server string, change func(json.RawMessage) (json.RawMessage, error)) error {
	return p.store.Change(ctx, p.kind, server, change)
}

// Changed implements [mcp.Shared].
func (p servers) Changed() <-chan struct{} { return p.store.Changed(p.kind) }

// keyKind and keyList are the kind and the key of the record with the API keys.
const keyKind, keyList = "keys", "list"

// openKeys reads the API keys: in the database if several etui may share it, else in the state
// folder. What the folder has from the time before is moved.
func (s *State) openKeys(ctx context.Context) (err error) {
	w := s.w
	switch {
	case w.Config.Store == "":
		s.Keys, err = identity.OpenKeys(w.KeysFile())
		return err
	case s.Shared == nil: // a command that needs no database, which is away
		s.Keys = &identity.Keys{}
		return nil
	}
	kept := keys{s.Shared}
	if s.stored {
		left, err := identity.MoveKeys(ctx, w.KeysFile(), kept)
		if err != nil {
			return err
		}
		for _, name := range left {
			s.log.WarnContext(ctx, "an API key of this etui is not valid any more, because another one has its name in the database: make it again under another name", "key", name)
		}
	}
	s.Keys, err = identity.OpenSharedKeys(kept)
	return err
}

// keys are the API keys in a store.
type keys struct{ store store.Shared }

// Read implements [identity.SharedKeys].
func (k keys) Read(ctx context.Context) (json.RawMessage, error) {
	records, err := k.store.Records(ctx, keyKind, keyList)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return records[0].Value, nil
}

// Change implements [identity.SharedKeys].
func (k keys) Change(ctx context.Context, change func(json.RawMessage) (json.RawMessage, error)) error {
	return k.store.Change(ctx, keyKind, keyList, change)
}

// Changed implements [identity.SharedKeys].
func (k keys) Changed() <-chan struct{} { return k.store.Changed(keyKind) }

// Limits returns which skills a configuration allows.
func Limits(c *config.Config) control.Limits {
	return control.Limits{Allow: c.Skills.Allow, Deny: c.Skills.Deny}
}
