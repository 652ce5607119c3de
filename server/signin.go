package server

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/oidc"
	"github.com/etui-run/etui/server/wire"
)

// Elsewhere says how people sign in to the console from other machines than the gateway's.
type Elsewhere struct {
	// URL is the origin at which they reach it, as in https://etui.example.com; empty means nowhere.
	URL string
	// Keys lets operators' keys in there.
	Keys bool
	// Provider lets people in there whom it names; nil means that there is none.
	Provider *oidc.Provider
}

// SignIn signs a browser in: on the gateway's machine with the secret of a link, and at the public
// address with an operator's key, or with what the browser brings back from the provider.
type SignIn struct {
	Secret string `json:"secret,omitempty"`
	Key    string `json:"key,omitempty"`
	Code   string `json:"code,omitempty"`
	State  string `json:"state,omitempty"`
	Issuer string `json:"issuer,omitempty"`
}

// SignedIn says who is signed in; without a name, nobody is.
type SignedIn struct {
	console.Person
	// Keys and Provider are the ways to sign in at this address, beside a link on the gateway's machine:
	// with an operator's key, and at a provider.
	Keys     bool   `json:"keys,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Elsewhere means that the address is the public one, where links are no use.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// ToProvider is where a browser goes to sign in.
type ToProvider struct {
	URL string `json:"url"`
}

// SignedOut is where a browser goes after it was signed out, so that its session at the provider ends,
// too; empty means nowhere.
type SignedOut struct {
	URL string `json:"url,omitempty"`
}

// ConsoleLink asks for a link by which a browser signs in to the console.
type ConsoleLink struct {
	// Role is viewer, operator or owner; empty means owner.
	Role string `json:"role,omitempty"`
	// Name says who signs in, in the audit.
	Name string `json:"name,omitempty"`
}

// MadeLink has the path of the link, whose end the browser does not send.
type MadeLink struct {
	Path string `json:"path"`
}

// entrance answers requests about who signs in to the console.
type entrance struct {
	*console.Console
	ways   Elsewhere
	server *Server
}

const notHere = "the console answers only on its own machine, at a loopback address and without a proxy; ssh -L brings it to another one, and api.console lets people sign in from elsewhere"

func (e *entrance) signIn(w http.ResponseWriter, r *http.Request) {
	var in SignIn
	if !wire.Read(w, r, &in) {
		return
	}
	var who console.Person
	var err error
	switch public, here := e.Elsewhere(r), local(r); {
	case in.Secret != "" && here:
		if who, err = e.Redeem(w, r, in.Secret); err != nil {
			wire.RefuseField(w, http.StatusGone, "used_link", "secret", err.Error())
			return
		}
	case in.Key != "" && public && e.ways.Keys:
		if e.flooded(w, r) {
			return
		}
		name, key, ok := e.operatorOf(in.Key)
		if !ok {
			e.server.wrong.wait(r.Context(), peer(r))
			wire.RefuseField(w, http.StatusUnauthorized, "wrong_key", "key", "this is not the API key of an operator")
			return
		}
		who = e.SignIn(w, r, console.Person{Name: name, Role: console.Owner, Key: key})
	case in.Code != "" && public && e.ways.Provider != nil:
		if who, err = e.finish(w, r, in); err != nil {
			return
		}
	default:
		wire.Refuse(w, http.StatusMisdirectedRequest, notHere)
		return
	}
	e.server.config.Log.InfoContext(r.Context(), "signed in to the console", "name", who.Name, "role", who.Role, "host",
		r.Host)
	wire.Reply(w, http.StatusOK, who)
}

// flooded refuses a request from an address that has too many wrong keys waiting.
func (e *entrance) flooded(w http.ResponseWriter, r *http.Request) bool {
	if !e.server.wrong.floods(peer(r)) {
		return false
	}
	w.Header().Set("Retry-After", "1")
	wire.Refuse(w, http.StatusTooManyRequests, "too many failed sign-ins from this address")
	return true
}

// operatorOf returns the operator of an API key: for people, and the hash of the key; empty means the
// one of the configuration.
func (e *entrance) operatorOf(secret string) (name, key string, ok bool) {
	isKey := same("Bearer "+secret, e.server.config.Key) // in the same time for every wrong key
	found, known := e.server.config.Keys.Find(secret)
	if isKey {
		return "an operator", "", true
	}
	user, usable := e.server.users().Owner(found)
	if !known || !usable || !found.Operator {
		return "", "", false
	}
	if name = found.Name; user != nil {
		name = user.Name
	}
	return name, found.Hash, true
}

// operates reports whether a hash is that of an operator's key. The key may have gone since somebody
// signed in with it: with its file, or at another etui.
func (s *Server) operates(hash string) bool {
	return slices.ContainsFunc(s.config.Keys.List(),
		func(key identity.Key) bool { return key.Hash == hash && key.Operator })
}

// The cookie that holds a sign-in at the provider. It is as strict as the session's: the page that the
// provider sends the browser back to posts what it got itself.
const (
	begunName       = "etui_console_begun"
	publicBegunName = "__Host-etui-console-begun"
)

func (e *entrance) begun(value string, age int) *http.Cookie {
	c := &http.Cookie{Name: begunName, Value: value, Path: "/", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteStrictMode}
	if strings.HasPrefix(e.ways.URL, "https://") {
		c.Name, c.Secure = publicBegunName, true
	}
	return c
}

// maxName is how long the name of a person is at most, in bytes.
const maxName = 200

func (e *entrance) link(w http.ResponseWriter, r *http.Request) {
	var in ConsoleLink
	if !wire.Read(w, r, &in) {
		return
	}
	role, err := console.ParseRole(in.Role)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if len(in.Name) > maxName || printable.Line(in.Name, maxName) != in.Name { // it is who the audit names
		wire.Refuse(w, http.StatusBadRequest,
			"the name of a person is one line of at most 200 bytes, without hidden characters")
		return
	}
	by := wire.CallerOf(r)
	p := console.Person{Name: cmp.Or(in.Name, by.Key, "an operator"), Role: role}
	if by.Role != "" { // by.Key is the name of a person
		who, _ := e.Who(r) // the guard has let them in
		p.Key = who.Key
	} else if at := slices.IndexFunc(e.server.config.Keys.List(),
		func(key identity.Key) bool { return key.Name == by.Key }); at >= 0 {
		p.Key = e.server.config.Keys.List()[at].Hash
	}
	e.server.config.Log.InfoContext(r.Context(), "link to the console made", "name", p.Name, "role", p.Role, "by",
		by.Name())
	wire.Reply(w, http.StatusOK, MadeLink{console.Path + "/#" + e.Link(p)})
}

func (e *entrance) signOut(w http.ResponseWriter, r *http.Request) {
	who, _ := e.Who(r) // the address has a token of theirs: the cookie alone does not get it
	e.SignOut(w, r)
	wire.Reply(w, http.StatusOK, SignedOut{who.Leave})
}

// toProvider begins a sign-in at the provider.
func (e *entrance) toProvider(w http.ResponseWriter, r *http.Request) {
	if !wire.ReadBody(w, r, &struct{}{}) || e.flooded(w, r) {
		return
	}
	if e.ways.Provider == nil || !e.Elsewhere(r) {
		wire.Refuse(w, http.StatusMisdirectedRequest, notHere)
		return
	}
	address, sealed, err := e.ways.Provider.Begin(r.Context())
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	http.SetCookie(w, e.begun(sealed, int(oidc.Lasts.Seconds())))
	wire.Reply(w, http.StatusOK, ToProvider{address})
}

// finish signs in whom the provider names. If it cannot, it answers why.
func (e *entrance) finish(w http.ResponseWriter, r *http.Request, in SignIn) (console.Person, error) {
	if e.flooded(w, r) {
		return console.Person{}, oidc.ErrRefused
	}
	sealed := ""
	if kept, err := r.Cookie(e.begun("", 0).Name); err == nil {
		sealed = kept.Value
	}
	who, err := e.ways.Provider.Finish(r.Context(), sealed,
		oidc.Return{Code: in.Code, State: in.State, Issuer: in.Issuer})
	http.SetCookie(w, e.begun("", -1))
	if err != nil {
		e.refuse(w, r, err)
		return who, err
	}
	return e.SignIn(w, r, who), nil
}

// refuse says why nobody is signed in: to the person the kind of error, to the log all of it.
func (e *entrance) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e.server.config.Log.WarnContext(r.Context(), "nobody was signed in to the console", "error", err)
	for _, kind := range []struct {
		error
		status int
		code   string
	}{
		{oidc.ErrAway, http.StatusServiceUnavailable, "provider_away"}, {oidc.ErrReturn, http.StatusGone, "used_link"},
		{oidc.ErrStranger, http.StatusForbidden, "no_role"},
		{oidc.ErrRefused, http.StatusUnauthorized, "provider_refused"},
	} {
		if errors.Is(err, kind.error) {
			if kind.status == http.StatusUnauthorized || kind.status == http.StatusForbidden {
				e.server.wrong.wait(r.Context(), peer(r))
			}
			wire.RefuseField(w, kind.status, kind.code, "", kind.Error())
			return
		}
	}
	wire.Fail(w, err)
}

func (e *entrance) signedIn(w http.ResponseWriter, r *http.Request) {
	who, _ := e.Who(r) // empty says that nobody is
	out := SignedIn{Person: who, Elsewhere: e.Elsewhere(r) && !local(r)}
	if e.Elsewhere(r) {
		if out.Keys = e.ways.Keys; e.ways.Provider != nil {
			out.Provider = cmp.Or(e.ways.Provider.Host(), "OpenID Connect")
		}
	}
	wire.Reply(w, http.StatusOK, out)
}
