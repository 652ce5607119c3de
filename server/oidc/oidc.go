// Package oidc lets people in whom an OpenID Connect provider names: by the authorization code flow
// with PKCE, a state and a nonce. It keeps nothing of a sign-in that has begun: the browser holds it,
// sealed. Tokens are read once and dropped, but for the ID token, by which a sign-out ends the session at
// the provider, too. None is logged.
package oidc

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/internal/printable"
)

const (
	// Lasts is how long a person may take at the provider.
	Lasts = 10 * time.Minute
	// pause is how long a provider that did not answer is left alone.
	pause = 5 * time.Second
	// patience is how long the provider may take to answer a request, and maxAnswer how long its answer is.
	patience, maxAnswer = 10 * time.Second, 1 << 20
	// maxAsking is how many sign-ins ask the provider at once. Further ones are refused.
	maxAsking = 16
	// maxHint is how long an ID token is at most that is kept for the end of the session: it is a part of an
	// address then.
	maxHint = 6 << 10
	// maxName is how long the name of a person is at most, in characters.
	maxName = 100
)

var (
	// ErrAway says that the provider did not answer as one.
	ErrAway = errors.New("the provider does not answer; try again later, or sign in on the gateway's machine with a link of etui console")
	// ErrReturn says that a browser did not come back from the sign-in that it began.
	ErrReturn = errors.New("this sign-in was not begun in this browser, or longer than ten minutes ago; sign in again")
	// ErrRefused says that the provider did not name the person.
	ErrRefused = errors.New("the provider's answer does not count; sign in again, and see etui's log")
	// ErrStranger says that the configuration gives the person no role.
	ErrStranger = errors.New("you signed in, but nothing in etui's configuration gives you a role; ask an owner, see api.console.roles")
)

// Config says who a person's provider is, and what a person may do.
type Config struct {
	// Issuer is the provider's address, as its document at .well-known/openid-configuration gives it.
	Issuer string
	// ClientID and ClientSecret are those that the provider gave for the console. A provider that knows
	// public clients gives no secret.
	ClientID, ClientSecret string
	// Back is where the provider sends browsers.
	Back string
	// Scopes are asked for beside openid, email and profile.
	Scopes []string
	// RoleClaim names the claim that has a role, or a list of them; empty means that none has.
	RoleClaim string
	// GroupsClaim names the claim with the person's groups; empty means groups.
	GroupsClaim string
	// Roles has for a role the verified email addresses of people, and groups as in group:admins.
	Roles map[console.Role][]string
	// Client reaches the provider; nil means http.DefaultClient.
	Client *http.Client
	// Now is the time; nil means [time.Now].
	Now func() time.Time
}

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	config Config
	client *http.Client
	seal   cipher.AEAD
	asking chan struct{} // has an element for each sign-in that asks the provider

	mu     sync.Mutex
	found  *discovery // nil before the provider has answered
	failed time.Time
}

// discovery is what the provider says of itself.
type discovery struct {
	*coreos.Provider
	oauth oauth2.Config
	names bool   // the provider says in each answer which one it is, see RFC 9207
	end   string // where sessions there end; empty means that it does not say
}

// New returns a provider. It asks nothing before the first sign-in.
func New(c Config) *Provider {
	c.GroupsClaim = cmp.Or(c.GroupsClaim, "groups")
	if c.Now == nil {
		c.Now = time.Now
	}
	client := http.Client{Timeout: patience}
	next := http.DefaultTransport
	if c.Client != nil && c.Client.Transport != nil {
		next = c.Client.Transport
	}
	client.Transport = boundedTransport{next}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	key := make([]byte, 32)
	_, _ = rand.Read(key)                          // never fails
	block, _ := aes.NewCipher(key)                 // 32 bytes are a key
	seal, _ := cipher.NewGCMWithRandomNonce(block) // AES has the block size of GCM
	return &Provider{config: c, client: &client, seal: seal, asking: make(chan struct{}, maxAsking)}
}

// Host names the provider, for people.
func (p *Provider) Host() string {
	u, err := url.Parse(p.config.Issuer)
	if err != nil {
		return ""
	}
	return u.Host
}

// signIn is a sign-in that has begun.
type signIn struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Until    time.Time `json:"until"`
}

// Begin returns where the browser goes to sign in, and what it keeps meanwhile, which says nothing to
// it. The error is ErrAway.
func (p *Provider) Begin(ctx context.Context) (address, sealed string, err error) {
	f, err := p.find(ctx)
	if err != nil {
		return "", "", err
	}
	b := signIn{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), p.config.Now().Add(Lasts)}
	text, err := json.Marshal(b)
	if err != nil {
		return "", "", err
	}
	address = f.oauth.AuthCodeURL(b.State, coreos.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier))
	return address, base64.RawURLEncoding.EncodeToString(p.seal.Seal(nil, nil, text, nil)), nil
}

// Return is what a browser brings back.
type Return struct {
	Code, State string
	// Issuer says which provider answers; some leave it out.
	Issuer string
}

// Finish returns the person of a sign-in that Begin began, with the role that the configuration gives.
// The error wraps ErrAway, ErrReturn, ErrRefused or ErrStranger, and says why for the log.
func (p *Provider) Finish(ctx context.Context, sealed string, r Return) (console.Person, error) {
	b, ok := p.open(sealed)
	if !ok || subtle.ConstantTimeCompare([]byte(b.State), []byte(r.State)) != 1 || r.Code == "" {
		return console.Person{}, ErrReturn
	}
	f, err := p.find(ctx)
	if err != nil {
		return console.Person{}, err
	}
	if r.Issuer != p.config.Issuer && (r.Issuer != "" || f.names) {
		return console.Person{}, fmt.Errorf("%w: another provider answered", ErrRefused)
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	default:
		return console.Person{}, fmt.Errorf("%w: too many sign in at once", ErrAway)
	}
	claims, raw, err := p.claims(coreos.ClientContext(ctx, p.client), f, b, r.Code)
	if err != nil {
		return console.Person{}, err
	}
	who, err := p.person(claims)
	if err == nil {
		who.Leave = p.leave(f, raw)
	}
	return who, err
}

// leave returns the address at which a person's session at the provider ends. The ID token says which one
// that is. The provider shows that the person is signed out: to send them back, it would have to know the
// console's address for that, and some refuse to sign anybody out otherwise.
func (p *Provider) leave(f *discovery, token string) string {
	u, err := url.Parse(f.end)
	if err != nil || f.end == "" {
		return ""
	}
	q := u.Query()
	q.Set("client_id", p.config.ClientID)
	if len(token) <= maxHint {
		q.Set("id_token_hint", token)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func (p *Provider) open(sealed string) (b signIn, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return b, false
	}
	text, err := p.seal.Open(nil, nil, raw, nil)
	return b, err == nil && json.Unmarshal(text, &b) == nil && b.Until.After(p.config.Now())
}

// claims redeems a code and returns what the provider says of the person: in the ID token, and where
// that leaves the email or the groups out, at its userinfo endpoint. Raw is the ID token.
func (p *Provider) claims(ctx context.Context, f *discovery, b signIn, code string) (claims map[string]any, raw string,
	err error) {
	tokens, err := f.oauth.Exchange(ctx, code, oauth2.VerifierOption(b.Verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError:
		return nil, "", fmt.Errorf("%w: the code: %s", ErrRefused,
			printable.Line(refused.ErrorCode, maxName)) // its body may have more than a log should keep
	case err != nil:
		return nil, "", fmt.Errorf("%w: the token endpoint does not answer", ErrAway)
	}
	raw, _ = tokens.Extra("id_token").(string)
	id, err := f.VerifierContext(ctx, &coreos.Config{ClientID: p.config.ClientID, Now: p.config.Now}).Verify(ctx, raw)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1 {
		return nil, "", fmt.Errorf("%w: the nonce is another sign-in's", ErrRefused)
	}
	claims = map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if party, said := claims["azp"]; (said || len(id.Audience) > 1) && party != p.config.ClientID {
		return nil, "", fmt.Errorf("%w: the token is for another client", ErrRefused)
	}
	_, hasMail := claims["email"]
	_, hasGroups := claims[p.config.GroupsClaim]
	_, hasRole := claims[p.config.RoleClaim]
	if f.UserInfoEndpoint() == "" || hasMail && hasGroups && (hasRole || p.config.RoleClaim == "") {
		return claims, raw, nil
	}
	info, err := f.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, "", fmt.Errorf("%w: the userinfo endpoint does not answer", ErrAway)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil || info.Subject != id.Subject {
		return nil, "", fmt.Errorf("%w: the userinfo is another person's", ErrRefused)
	}
	switch { // an answer says that of its own address only
	case !hasMail:
		delete(claims, "email_verified")
	case claims["email"] != more["email"]:
		delete(more, "email_verified")
	}
	for name, value := range more {
		if _, signed := claims[name]; !signed {
			claims[name] = value
		}
	}
	return claims, raw, nil
}

// person returns who somebody is, with the highest role that the claims give.
func (p *Provider) person(claims map[string]any) (console.Person, error) {
	subject, _ := claims["sub"].(string)
	who := console.Person{Name: "oidc:" + printable.Line(subject, maxName)}
	is := map[string]bool{}
	// Some providers say this in a text. An address that anybody may state is nobody's.
	if email, _ := claims["email"].(string); strings.Contains(email, "@") &&
		!strings.HasPrefix(lower(email), GroupPrefix) &&
		(claims["email_verified"] == true || claims["email_verified"] == "true") {
		who.Name = printable.Line(email, maxName)
		is[lower(email)] = true
	}
	for _, group := range texts(claims[p.config.GroupsClaim]) {
		is[GroupPrefix+group] = true
	}
	given := texts(claims[p.config.RoleClaim])
	for _, role := range []console.Role{console.Owner, console.Operator, console.Viewer} {
		listed := slices.ContainsFunc(p.config.Roles[role], func(who string) bool {
			if !strings.HasPrefix(who, GroupPrefix) {
				who = lower(who)
			}
			return is[who]
		})
		if listed || p.config.RoleClaim != "" && slices.Contains(given, string(role)) {
			who.Role = role
			return who, nil
		}
	}
	return console.Person{}, fmt.Errorf("%w: %s", ErrStranger, who.Name)
}

// GroupPrefix begins what names a group, among the roles of the configuration.
const GroupPrefix = "group:"

// lower returns a text with small letters in the place of ASCII's capitals: others have letters that look
// like them.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// texts returns a claim that is a text or a list of them.
func texts(claim any) (list []string) {
	switch claim := claim.(type) {
	case string:
		return []string{claim}
	case []any:
		for _, item := range claim {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// find returns what the provider says of itself, and asks for it once.
func (p *Provider) find(ctx context.Context) (*discovery, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if p.config.Now().Sub(p.failed) < pause {
		return nil, ErrAway
	}
	f, err := p.ask(ctx)
	if err != nil {
		p.failed = p.config.Now()
		return nil, fmt.Errorf("%w: %s", ErrAway, printable.Line(err.Error(), 3*maxName)) // it may have a whole page
	}
	p.found = f
	return f, nil
}

func (p *Provider) ask(ctx context.Context) (*discovery, error) {
	// The keys are asked for later, too, so the context is that of the provider, not of one request.
	known, err := coreos.NewProvider(coreos.ClientContext(context.WithoutCancel(ctx), p.client), p.config.Issuer)
	if err != nil {
		return nil, err
	}
	var says struct {
		Names   bool     `json:"authorization_response_iss_parameter_supported"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Keys    string   `json:"jwks_uri"`
		End     string   `json:"end_session_endpoint"`
	}
	if err := known.Claims(&says); err != nil {
		return nil, err
	}
	endpoint := known.Endpoint()
	open := strings.HasPrefix(p.config.Issuer, "http://")
	if u, err := url.Parse(says.End); err != nil || u.Host == "" ||
		u.Scheme != "https" && (!open || u.Scheme != "http") {
		says.End = "" // people sign in all the same
	}
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, says.Keys, known.UserInfoEndpoint()} {
		// Browsers go to the first, and secrets to the others, or what a person is comes from there.
		u, err := url.Parse(address)
		if address == "" && address == known.UserInfoEndpoint() {
			continue // the only one that a provider may leave out
		}
		if err != nil || u.Host == "" || u.Scheme != "https" && !open {
			return nil, errors.New("the provider's document names an endpoint without https")
		}
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") || p.config.ClientSecret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	scopes := append([]string{coreos.ScopeOpenID, "email", "profile"}, p.config.Scopes...)
	return &discovery{known, oauth2.Config{ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret,
		Endpoint: endpoint, RedirectURL: p.config.Back, Scopes: scopes}, says.Names, says.End}, nil
}

// boundedTransport cuts the answers of a provider off.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}
