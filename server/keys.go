package server

import (
	"fmt"
	"net/http"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/wire"
)

// KeyStatus is an API key without the key itself.
type KeyStatus struct {
	identity.Key
	// Hash hides that of the key.
	Hash string `json:"hash,omitempty"`
	// Problem says why the key is refused; empty means that it works.
	Problem string `json:"problem,omitempty"`
}

// NewKey asks for an API key.
type NewKey struct {
	Name      string `json:"name"`
	User      string `json:"user,omitempty"`
	Operator  bool   `json:"operator,omitempty"`
	ForOthers bool   `json:"for_others,omitempty"`
	// NoClientTools keeps it from bringing tools of its client.
	NoClientTools bool `json:"no_client_tools,omitempty"`
}

// MadeKey is a new API key.
type MadeKey struct {
	KeyStatus
	// Secret is what clients present. It is shown this once.
	Secret string `json:"key"`
	// Note says who needs no key; empty when everybody does.
	Note string `json:"note,omitempty"`
}

func (s *Server) status(key identity.Key) KeyStatus {
	k := KeyStatus{Key: key}
	user, ok := s.users().Owner(key)
	switch {
	case ok && user != nil:
		k.User = user.Name
	case !ok && key.User == "":
		k.Problem = fmt.Sprintf("it belongs to nobody: list key:%s among the identities of a user", key.Name)
	case !ok && s.users().ByName(key.User) == nil:
		k.Problem = fmt.Sprintf("its user %s is not among the users", key.User)
	case !ok:
		k.Problem = fmt.Sprintf("it belongs to %s, and another user has the identity key:%s", key.User, key.Name)
	}
	return k
}

func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	list := []KeyStatus{}
	for _, key := range s.config.Keys.List() {
		list = append(list, s.status(key))
	}
	wire.Reply(w, http.StatusOK, list)
}

func (s *Server) addKey(w http.ResponseWriter, r *http.Request) {
	var n NewKey
	if !wire.Read(w, r, &n) {
		return
	}
	if n.User != "" && s.users().ByName(n.User) == nil {
		wire.Fail(w, phrase.Errorf("user %q: %w%s; people are listed under users in etui.yaml", n.User,
			engine.ErrUnknown, s.users().Hint(n.User)))
		return
	}
	key := identity.Key{Name: n.Name, User: n.User, Operator: n.Operator, ForOthers: n.ForOthers,
		NoClientTools: n.NoClientTools}
	secret, err := s.config.Keys.Add(key, s.engine.Now())
	if err != nil {
		wire.Fail(w, err)
		return
	}
	key, _ = s.config.Keys.Find(secret)
	s.config.Log.InfoContext(r.Context(), "API key added", "by", wire.CallerOf(r).Name(), "key", key.Name, "user",
		key.User, "operator", key.Operator, "for_others", key.ForOthers)
	made := MadeKey{KeyStatus: s.status(key), Secret: secret}
	if s.config.Key == "" {
		made.Note = "api.key is not set: programs on this machine need no key, and are operators"
	}
	wire.Reply(w, http.StatusOK, made)
}

// RevokedKey names a key that was revoked.
type RevokedKey struct {
	Revoked string `json:"revoked"`
}

func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	name := r.PathValue("name")
	if err := s.config.Keys.Revoke(name); err != nil {
		wire.Fail(w, err)
		return
	}
	s.config.Log.InfoContext(r.Context(), "API key revoked", "key", name, "by", wire.CallerOf(r).Name())
	wire.Reply(w, http.StatusOK, RevokedKey{name})
}
