package state

import (
	"context"
	"encoding/json"
	"errors"
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
// share it, else in the state folder. Decisions of the folder move to the database.
func (s *State) Control(ctx context.Context, table *skill.Table, log *slog.Logger) (*control.Control, error) {
	w, file := s.w, filepath.Join(s.w.State, decisionsFile)
	switch {
	case w.Config.Store == "":
		return control.New(file, table, Limits(w.Config), log), nil
	case s.Shared == nil: // a command that needs no database, which is away
		return control.NewShared(noDatabase{}, table, Limits(w.Config), log), nil
	}
	kept := records{s.Shared, skillKind}
	if s.stored {
		if err := control.Move(ctx, file, kept); err != nil {
			return nil, err
		}
	}
	return control.NewShared(kept, table, Limits(w.Config), log), nil
}

// errAway says that a command does without the database.
var errAway = errors.New("the database is unavailable")

// noDatabase are decisions that cannot be read.
type noDatabase struct{}

// Read implements [control.Shared].
func (noDatabase) Read(context.Context) (map[string]json.RawMessage, error) { return nil, errAway }

// Change implements [control.Shared].
func (noDatabase) Change(context.Context, string, func(json.RawMessage) (json.RawMessage, error)) error {
	return errAway
}

// Changed implements [control.Shared].
func (noDatabase) Changed() <-chan struct{} { return nil }

// pinKind is the kind of the records with what was accepted of MCP servers.
const pinKind = "pin"

// Pins returns what may be used of MCP servers. Several etui share what is accepted.
func (s *State) Pins() *mcp.Pins {
	file := filepath.Join(s.w.State, workdir.PinsFile)
	if s.Shared == nil {
		return mcp.NewPins(file)
	}
	return mcp.NewSharedPins(file, records{s.Shared, pinKind})
}

// loginKind is the kind of the records with the logins at MCP servers.
const loginKind = "login"

// Logins returns the logins at MCP servers. Several etui share them.
func (s *State) Logins() *oauth.Vault {
	var shelf oauth.Shelf = oauth.File(filepath.Join(s.w.State, workdir.LoginsFile))
	if s.Shared != nil {
		shelf = records{s.Shared, loginKind}
	}
	return oauth.NewVault(shelf, filepath.Join(s.w.State, workdir.LoginKeyFile), os.Getenv)
}

// records are the records of a kind in a store, such as the decisions about skills, the API keys, and what
// is kept of MCP servers.
type records struct {
	store store.Shared
	kind  string
}

// Read returns all records by their keys.
func (p records) Read(ctx context.Context) (map[string]json.RawMessage, error) {
	list, err := p.store.Records(ctx, p.kind)
	all := map[string]json.RawMessage{}
	for _, r := range list {
		all[r.Key] = r.Value
	}
	return all, err
}

// Change replaces one record.
func (p records) Change(ctx context.Context, key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	return p.store.Change(ctx, p.kind, key, change)
}

// Changed receives a value when records may have changed.
func (p records) Changed() <-chan struct{} { return p.store.Changed(p.kind) }

// keyKind is the kind of the record with the API keys.
const keyKind = "keys"

// openKeys reads the API keys: in the database if several etui may share it, else in the state
// folder. Keys of the folder move to the database.
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
	kept := records{s.Shared, keyKind}
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

// Limits returns which skills a configuration allows.
func Limits(c *config.Config) control.Limits {
	return control.Limits{Allow: c.Skills.Allow, Deny: c.Skills.Deny}
}
