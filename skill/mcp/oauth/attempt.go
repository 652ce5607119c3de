package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/etui-run/etui/internal/printable"
)

// Attempt is a login that a person has to make in a browser. It is good for one answer.
type Attempt struct {
	// Link is what the person opens.
	Link string
	// State is in the link and in the answer.
	State string
	// Server and Person say where the login counts, and for whom. The shared login has no person.
	Server, Person string
	// Issuer is the authorization server.
	Issuer string

	client   *Client
	place    *place
	config   *oauth2.Config
	verifier string
	got      *grant // by exchange
}

// Answer is what the browser brings back in the query of the redirection.
type Answer struct {
	Code, State, Issuer string
	// Error and Description say why there is no code.
	Error, Description string
}

// ParseAnswer reads the query of a redirection.
func ParseAnswer(q url.Values) Answer {
	return Answer{q.Get("code"), q.Get("state"), q.Get("iss"), q.Get("error"), q.Get("error_description")}
}

// attempt prepares a login of a person at a place, with the scopes.
func (c *Client) attempt(ctx context.Context, p *place, person string, scopes []string) (*Attempt, error) {
	if p.meta.AuthorizationEndpoint == "" || p.meta.TokenEndpoint == "" {
		return nil, fmt.Errorf("the authorization server %s does not say where people log in", p.meta.Issuer)
	}
	id, err := c.register(ctx, p.meta, c.Redirect)
	if err != nil {
		return nil, err
	}
	a := &Attempt{State: rand.Text(), Server: c.Name, Person: person, Issuer: p.meta.Issuer, client: c, place: p,
		verifier: oauth2.GenerateVerifier()}
	a.config = &oauth2.Config{
		ClientID: id.ClientID, ClientSecret: id.ClientSecret, RedirectURL: c.Redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.meta.AuthorizationEndpoint, TokenURL: p.meta.TokenEndpoint,
			AuthStyle: id.style},
	}
	resource := oauth2.SetAuthURLParam("resource", p.resource)
	a.Link = a.config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.verifier), resource)
	return a, nil
}

// identity is what an authorization server knows etui as.
type identity struct {
	ClientID, ClientSecret string
	style                  oauth2.AuthStyle
}

// register returns the client that the settings name, or one that the authorization server
// registers now.
func (c *Client) register(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string) (identity, error) {
	s := c.Settings
	switch {
	case s.ClientID != "":
		return identity{s.ClientID, string(s.ClientSecret), styleOf(meta, s.ClientSecret != "")}, nil
	case s.ClientDocument != "" && meta.ClientIDMetadataDocumentSupported:
		return identity{s.ClientDocument, "", oauth2.AuthStyleInParams}, nil
	case meta.RegistrationEndpoint == "":
		return identity{}, fmt.Errorf("the authorization server %s registers no clients by itself: register one "+
			"there with the redirect URL %s, and write its id into the file of %s, "+
			"as auth: {client_id: ID}", meta.Issuer, redirect, c.Name)
	}
	c.known.Lock()
	before, ok := c.clients[meta.Issuer]
	c.known.Unlock()
	if ok && time.Since(before.since) < sameClient {
		return before.identity, nil
	}
	method := "none"
	if known := meta.TokenEndpointAuthMethodsSupported; len(known) > 0 && !slices.Contains(known, method) {
		method = "client_secret_basic"
		if slices.Contains(known, "client_secret_post") {
			method = "client_secret_post"
		}
	}
	made, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, registration(redirect, method), c.http)
	if err != nil {
		return identity{}, fmt.Errorf("the authorization server %s does not register etui: %w", meta.Issuer, told(err))
	}
	id := identity{made.ClientID, made.ClientSecret, oauth2.AuthStyleInParams}
	if cmp.Or(made.TokenEndpointAuthMethod, method) == "client_secret_basic" && made.ClientSecret != "" {
		id.style = oauth2.AuthStyleInHeader
	}
	c.known.Lock()
	defer c.known.Unlock()
	if len(c.clients) >= maxClients {
		clear(c.clients)
	}
	c.clients[meta.Issuer] = registered{id, time.Now()}
	return id, nil
}

// registered is a client that an authorization server has registered.
type registered struct {
	identity
	since time.Time
}

// sameClient is how long a registration serves for further logins; the authorization server may
// forget it. maxClients is how many are remembered.
const (
	sameClient = time.Hour
	maxClients = 8
)

// registration describes etui to an authorization server.
func registration(redirect, method string) *oauthex.ClientRegistrationMetadata {
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && isLoopback(u.Hostname()) {
		kind = "native"
	}
	return &oauthex.ClientRegistrationMetadata{
		ClientName: "etui", RedirectURIs: []string{redirect}, ApplicationType: kind, TokenEndpointAuthMethod: method,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
}

// styleOf returns how a client that was registered by hand shows its secret.
func styleOf(meta *oauthex.AuthServerMeta, secret bool) oauth2.AuthStyle {
	known := meta.TokenEndpointAuthMethodsSupported
	switch {
	case !secret, slices.Contains(known, "client_secret_post") && !slices.Contains(known, "client_secret_basic"):
		return oauth2.AuthStyleInParams
	case slices.Contains(known, "client_secret_basic"):
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleAutoDetect
}

// Finish exchanges the code of an answer and keeps the login.
func (a *Attempt) Finish(ctx context.Context, answer Answer) error {
	if err := a.exchange(ctx, answer); err != nil {
		return err
	}
	return a.keep(ctx)
}

// keep keeps the login that exchange got.
func (a *Attempt) keep(ctx context.Context) error {
	return a.client.Vault.put(ctx, a.Server, a.Person, a.got)
}

// exchange exchanges the code of an answer.
func (a *Attempt) exchange(ctx context.Context, answer Answer) error {
	switch {
	case answer.State != a.State:
		return errors.New("the answer belongs to another login: begin again")
	case answer.Error != "":
		why := printable.Line(answer.Error+" "+answer.Description, maxSaid)
		return fmt.Errorf("%s refused the login: %s", a.Issuer, why)
	case answer.Code == "":
		return errors.New("the answer has no code: begin again")
	}
	if err := a.checkIssuer(answer.Issuer); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.client.outward(ctx), exchangeTime)
	defer cancel()
	token, err := a.config.Exchange(ctx, answer.Code, oauth2.VerifierOption(a.verifier),
		oauth2.SetAuthURLParam("resource", a.place.resource))
	if err != nil {
		return fmt.Errorf("%s gave no token: %w", a.Issuer, told(err))
	}
	g := &grant{
		Issuer: a.Issuer, TokenURL: a.config.Endpoint.TokenURL, Resource: a.place.resource,
		ClientID: a.config.ClientID, ClientSecret: a.config.ClientSecret, AuthStyle: int(a.config.Endpoint.AuthStyle),
		Vouched: a.client.trusts(a.config.Endpoint.TokenURL) != nil,
	}
	a.got = g
	return g.take(token, a.config.Scopes)
}

// checkIssuer checks the name of the authorization server in an answer (RFC 9207): a code of
// another one must not be shown to this one.
func (a *Attempt) checkIssuer(named string) error {
	switch {
	case named == a.place.meta.Issuer:
		return nil
	case named != "":
		return fmt.Errorf("the answer comes from %q, and the login began at %q", named, a.Issuer)
	case a.place.meta.AuthorizationResponseIssParameterSupported:
		return fmt.Errorf("the answer does not name its authorization server, though %s always does", a.Issuer)
	}
	return nil
}

// take takes over a token. Scopes were asked for.
func (g *grant) take(t *oauth2.Token, scopes []string) error {
	if kind := t.Type(); !strings.EqualFold(kind, "bearer") {
		return fmt.Errorf("%s gave a token of type %s, which etui cannot use", g.Issuer, kind)
	}
	g.Access, g.Expiry, g.Refresh = t.AccessToken, t.Expiry, cmp.Or(t.RefreshToken, g.Refresh)
	if given, ok := t.Extra("scope").(string); ok {
		scopes = strings.Fields(given)
	}
	g.Scopes = scopes
	return nil
}

// exchangeTime bounds a request for a token.
const exchangeTime = 30 * time.Second

// refresh gets a new token with the refresh token.
func (c *Client) refresh(ctx context.Context, g *grant) error {
	return c.get(ctx, g, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh},
		"resource": {g.Resource}}, nil)
}

// own gets a token for etui itself, without a person.
func (c *Client) own(ctx context.Context, g *grant, scopes []string) error {
	return c.get(ctx, g, url.Values{"resource": {g.Resource}}, scopes)
}

// refusal is an error that an authorization server's words are in.
type refusal struct {
	error
	text string
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.error }

// told bounds the words of an authorization server, which may be a whole page.
func told(err error) error {
	text := err.Error()
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.Response != nil {
		text = strings.TrimSpace(refused.Response.Status + " " + refused.ErrorCode + " " + refused.ErrorDescription)
	}
	return refusal{err, printable.Line(text, maxSaid)}
}

// get asks for a token and takes it over.
func (c *Client) get(ctx context.Context, g *grant, parameters url.Values, scopes []string) error {
	config := clientcredentials.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, TokenURL: g.TokenURL,
		AuthStyle: oauth2.AuthStyle(g.AuthStyle), Scopes: scopes, EndpointParams: parameters,
	}
	ctx, cancel := context.WithTimeout(c.outward(ctx), exchangeTime)
	defer cancel()
	token, err := config.Token(ctx)
	if err != nil {
		return fmt.Errorf("%s gave no token: %w", g.Issuer, told(err))
	}
	if scopes == nil {
		scopes = g.Scopes
	}
	return g.take(token, scopes)
}
