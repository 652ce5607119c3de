package mcp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/oauth"
)

// Logins say how etui logs in to servers that want it, see package oauth.
type Logins struct {
	// Vault keeps the logins.
	Vault *oauth.Vault
	// Redirect and Begin are those of [oauth.Config], for the login of all.
	Redirect string
	Begin    func(ctx context.Context, a *oauth.Attempt) error
	// Desk is where people log in by themselves, in place of both.
	Desk *oauth.Desk
}

// newLogin returns what logs in to a server; nil for a program, and for a service whose file
// has a login of its own.
func (p *Provider) newLogin(c skill.Config) (*oauth.Client, error) {
	l := p.config.Logins
	if l == nil || c.Endpoint == "" {
		return nil, nil
	}
	for name := range c.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil, nil
		}
	}
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	out := p.config.HTTP.Transport
	if out == nil {
		out = http.DefaultTransport
	}
	if guard, ok := out.(*egress.Guard); ok {
		out = guard.CausedTransport(endpoint)
	}
	config := oauth.Config{
		Name: c.Name, Endpoint: c.Endpoint, Vault: l.Vault, HTTP: out, Redirect: l.Redirect, Begin: l.Begin,
		Settings: oauth.Settings{
			Client: c.Auth.Login == skill.ClientLogin, ClientID: string(c.Auth.ClientID),
			ClientSecret: c.Auth.ClientSecret, Issuer: c.Auth.Issuer, ClientDocument: c.Auth.ClientDocument,
			Scopes: c.Auth.Scopes,
		},
	}
	if d := l.Desk; d != nil {
		config.Redirect, config.Begin, config.People = d.Redirect(), d.Begin, true
		config.Settings.ClientDocument = cmp.Or(c.Auth.ClientDocument, d.Document())
	}
	return oauth.New(config)
}

// isDocument reports whether a URL can name a client by its document.
func isDocument(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(u.Path) > 1 && u.User == nil && u.Fragment == ""
}

// errNoLogin is the error of a login at a server that has none.
var errNoLogin = errors.New("there is nothing to log in to: the server is a program, or its file has an " +
	"Authorization header")

// Login has a person log in to the server for all. It returns when the login is kept.
func (s *Server) Login(ctx context.Context) error {
	if s.login == nil {
		return errNoLogin
	}
	return s.login.Login(ctx, "")
}

// Logout removes the logins at the server, and returns how many there were.
func (s *Server) Logout(ctx context.Context) (int, error) {
	if s.login == nil {
		return 0, errNoLogin
	}
	return s.login.Vault.Clear(ctx, s.file.Name)
}

// mark returns which login there is at a server; empty if none.
func mark(ctx context.Context, c *oauth.Client) string {
	if c == nil {
		return ""
	}
	now, _ := c.Mark(ctx, "") // an error is told when the token is needed
	return now
}

// awaitLogin waits until there is another login than before at a server that wants one, or ctx
// ends.
func awaitLogin(ctx context.Context, c *oauth.Client, before string) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if now := mark(ctx, c); now != "" && now != before {
				return
			}
		}
	}
}
