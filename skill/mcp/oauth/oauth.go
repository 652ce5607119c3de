// Package oauth logs in to MCP servers, as the authorization of the protocol asks in its versions
// from 2025-03-26 to 2026-07-28.
//
// A [Client] is for one server. It finds the authorization server by the server's refusal and the
// metadata that this names, and uses a client that was registered by hand, the document that
// describes it, or one that it registers. People log in in a browser, with PKCE, a state that is
// good once, and the server as the resource; the name of the authorization server in an answer is
// checked. Tokens are refreshed before they expire and after a refusal. If a login has too few
// scopes, the next one asks for those too.
//
// Logins are kept in a [Vault]: one for all, or one for each person.
//
// Nothing that a server or a document says is trusted: requests follow the rules of the client
// that Config.HTTP is, documents and waits are bounded, and a token goes to the server that it was
// given for only. An authorization server without PKCE is refused.
package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/etui-run/etui/secret"
)

// Settings say how a login is made. The zero value works where the authorization server
// registers clients.
type Settings struct {
	// Client has etui log in as itself, by its own id and secret.
	Client bool
	// ClientID and ClientSecret are those of a client that was registered by hand.
	ClientID     string
	ClientSecret secret.Value
	// Issuer is the URL of the authorization server that ClientSecret is for, which needs it. Tokens come
	// from its host, or from one that its own metadata name over TLS. Empty without a secret means
	// whatever the server names.
	Issuer string
	// ClientDocument is the URL of a document that describes the client.
	ClientDocument string
	// Scopes replace those that the server asks for.
	Scopes []string
}

// Config says which server a client logs in to. All but Settings, Begin and Redirect is
// required.
type Config struct {
	Name     string
	Endpoint string
	Settings Settings
	Vault    *Vault
	// HTTP sends requests to authorization servers. It decides which addresses it reaches.
	HTTP http.RoundTripper
	// Redirect is where browsers go after a login. It is required where Begin is set.
	Redirect string
	// Begin has a person make a login. It returns nil when the login is made; an error ends the
	// request that needs it. Nil means that nobody can be asked: requests fail with [*NeededError].
	Begin func(ctx context.Context, a *Attempt) error
	// People says that Begin is for the logins of people only: the shared one needs a command.
	People bool
}

// Client logs in to one server. It is safe for concurrent use.
type Client struct {
	Config
	endpoint *url.URL
	http     *http.Client
	locks    [16]sync.Mutex // by person: one of them at a time gets a token

	known   sync.Mutex
	clients map[string]registered // by issuer
}

// New returns a client.
func New(c Config) (*Client, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	return &Client{
		Config: c, endpoint: endpoint, clients: map[string]registered{},
		http: &http.Client{Transport: c.HTTP, CheckRedirect: follow, Timeout: exchangeTime},
	}, nil
}

// follow follows few redirections of documents, and none of requests with secrets.
func follow(next *http.Request, before []*http.Request) error {
	first := before[0]
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case len(before) > 3:
		return errors.New("more than 3 redirections")
	case first.URL.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("the redirection to %s is not encrypted", next.URL.Host)
	}
	return nil
}

// outward returns a context whose requests for tokens use the client's rules.
func (c *Client) outward(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, c.http)
}

// NeededError is the error of a request that needs a login of a person.
type NeededError struct {
	Server string
	// Scopes are what the server asked for beyond the login that there is.
	Scopes []string
}

func (n *NeededError) Error() string {
	if len(n.Scopes) > 0 {
		more := strings.Join(n.Scopes, " ")
		return fmt.Sprintf("the server wants a login with more rights (%s): etui mcp login %s", more, n.Server)
	}
	return "the server wants a login: etui mcp login " + n.Server
}

// Transport returns what sends the requests of a person to the server, with the person's token. The
// shared login has no name. base must send requests to the server only.
func (c *Client) Transport(person string, base http.RoundTripper) http.RoundTripper {
	return &transport{c, person, base}
}

type transport struct {
	client *Client
	person string
	base   http.RoundTripper
}

// RoundTrip sends a request, and once more after a refusal, if there is another token then.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, sent, err := t.send(req, req.Body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	said := read(resp)
	if resp.StatusCode == http.StatusForbidden && !said.insufficient {
		return resp, nil // no login helps
	}
	body := req.Body
	if body != nil && body != http.NoBody {
		if req.GetBody == nil {
			return resp, nil
		}
		if body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the refusal says more
		}
	}
	_ = resp.Body.Close() // it is not read
	a, err := t.client.authorize(req.Context(), t.person, said, sent)
	if err == nil && a != nil {
		err = t.client.Begin(req.Context(), a)
	}
	if err != nil {
		if body != nil {
			_ = body.Close()
		}
		return nil, err
	}
	resp, _, err = t.send(req, body)
	return resp, err
}

// send sends a request with the person's token, which it returns.
func (t *transport) send(req *http.Request, body io.ReadCloser) (*http.Response, string, error) {
	token, err := t.client.token(req.Context(), t.person)
	if err != nil {
		if body != nil {
			_ = body.Close()
		}
		return nil, "", err
	}
	req = req.Clone(req.Context())
	req.Body = body
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := t.base.RoundTrip(req)
	return resp, token, err
}

func (c *Client) lock(person string) (unlock func()) {
	h := fnv.New32()
	_, _ = io.WriteString(h, person) // it never fails
	l := &c.locks[h.Sum32()%uint32(len(c.locks))]
	l.Lock()
	return l.Unlock
}

// login returns the login of a person; nil if there is none. One that the key does not open counts
// as none if it can be made again.
func (c *Client) login(ctx context.Context, person string, again bool) (*grant, error) {
	g, err := c.Vault.get(ctx, c.Name, person)
	if again && errors.Is(err, errOtherKey) {
		return nil, nil
	}
	return g, err
}

// early is how long before its end a token is refreshed.
const early = 30 * time.Second

// token returns the token of a person; empty if there is none: a server may need none.
func (c *Client) token(ctx context.Context, person string) (string, error) {
	defer c.lock(person)()
	g, err := c.login(ctx, person, person != "")
	if err != nil || g == nil || g.Access == "" || !c.about(g) {
		return "", err
	}
	if !g.Expiry.IsZero() && time.Until(g.Expiry) < early {
		if err := c.renew(ctx, person, g); err != nil {
			return "", err
		}
	}
	return g.Access, nil
}

// about reports whether a login was made for the server and at a host that the settings allow: its
// file may name others now.
func (c *Client) about(g *grant) bool {
	return c.covers(g.Resource) && (c.trusts(g.TokenURL) == nil || g.Vouched && c.vouches(g.Issuer, g.TokenURL))
}

// renew refreshes a token and keeps it. A login that cannot be renewed loses its token, and keeps
// what it was about.
func (c *Client) renew(ctx context.Context, person string, g *grant) error {
	var err error
	switch {
	case c.Settings.Client:
		err = c.own(ctx, g, g.Scopes)
	case g.Refresh != "":
		err = c.refresh(ctx, g)
	default:
		g.Access = ""
	}
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 &&
		refused.Response.StatusCode != http.StatusTooManyRequests {
		g.Access, g.Refresh, err = "", "", nil
	}
	if err != nil {
		return err
	}
	return c.Vault.replace(ctx, c.Name, person, g)
}

// discoverTime bounds finding an authorization server and registering there.
const discoverTime = time.Minute

// authorize gets another token than the one that was sent, or returns the attempt that a person
// has to make for it.
func (c *Client) authorize(ctx context.Context, person string, said challenge, sent string) (*Attempt, error) {
	defer c.lock(person)()
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	g, err := c.login(ctx, person, person != "")
	if err != nil {
		return nil, err
	}
	if g != nil && g.Access != "" && g.Access != sent && c.about(g) && !said.insufficient {
		return nil, nil // another request or process has got it meanwhile
	}
	p, err := c.discover(ctx, said)
	if err != nil {
		return nil, fmt.Errorf("the server wants a login, and etui does not find where: %w", err)
	}
	if g != nil && !c.at(p, g) {
		g = nil
	}
	switch scopes := c.scopes(p, said, g); {
	case c.Settings.Client:
		return nil, c.asItself(ctx, person, p, scopes)
	case g != nil && !said.insufficient:
		if err := c.renew(ctx, person, g); err != nil || g.Access != "" {
			return nil, err
		}
		fallthrough
	default:
		if c.Begin == nil || c.People && person == "" {
			return nil, c.want(ctx, person, g, said)
		}
		return c.attempt(ctx, p, person, scopes)
	}
}

// at reports whether a login was made at a place.
func (c *Client) at(p *place, g *grant) bool {
	return strings.TrimSuffix(g.Issuer, "/") == strings.TrimSuffix(p.meta.Issuer, "/") && c.about(g)
}

// want notes what a server asked for, so that the next login asks for it too.
func (c *Client) want(ctx context.Context, person string, g *grant, said challenge) error {
	n := &NeededError{Server: c.Name}
	if !said.insufficient || g == nil {
		return n
	}
	n.Scopes = slices.DeleteFunc(slices.Clone(said.scopes), func(s string) bool { return slices.Contains(g.Scopes, s) })
	if wanted := union(g.Wanted, said.scopes); !slices.Equal(wanted, g.Wanted) && len(wanted) <= maxScopes {
		g.Wanted = wanted
		return errors.Join(c.Vault.replace(ctx, c.Name, person, g), n)
	}
	return n
}

// maxScopes is how many scopes a server may want.
const maxScopes = 200

// scopes returns what a login asks for: what the settings say, else what the server asked for
// now and earlier, else what its metadata list.
func (c *Client) scopes(p *place, said challenge, g *grant) []string {
	scopes := c.Settings.Scopes
	if len(scopes) == 0 {
		if scopes = said.scopes; len(scopes) == 0 {
			scopes = p.scopes
		}
		if g != nil {
			scopes = union(union(g.Scopes, g.Wanted), scopes)
		}
	}
	if offline := "offline_access"; !c.Settings.Client && slices.Contains(p.meta.ScopesSupported, offline) {
		scopes = union(scopes, []string{offline}) // without it some give no refresh token
	}
	return scopes[:min(len(scopes), maxScopes)]
}

// asItself logs etui in by its own id and secret.
func (c *Client) asItself(ctx context.Context, person string, p *place, scopes []string) error {
	s := c.Settings
	g := &grant{
		Issuer: p.meta.Issuer, TokenURL: p.meta.TokenEndpoint, Resource: p.resource,
		ClientID: s.ClientID, ClientSecret: string(s.ClientSecret), AuthStyle: int(styleOf(p.meta, true)),
		Vouched: c.trusts(p.meta.TokenEndpoint) != nil,
	}
	if err := c.own(ctx, g, scopes); err != nil {
		return err
	}
	return c.Vault.put(ctx, c.Name, person, g)
}

// Login has a person log in, also where the server has not asked for it yet.
func (c *Client) Login(ctx context.Context, person string) error {
	said, err := c.ask(ctx)
	if err != nil {
		return err
	}
	preparing, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	p, err := c.discover(preparing, said)
	if err != nil {
		return err
	}
	g, err := c.login(preparing, person, true)
	if err != nil {
		return err
	}
	if g != nil && !c.at(p, g) {
		g = nil
	}
	scopes := c.scopes(p, said, g)
	if c.Settings.Client {
		return c.asItself(preparing, person, p, scopes)
	}
	a, err := c.attempt(preparing, p, person, scopes)
	if err != nil {
		return err
	}
	return c.Begin(ctx, a)
}

// ask sends a request without a token, to learn how the server refuses it.
func (c *Client) ask(ctx context.Context) (said challenge, err error) {
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"etui","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Endpoint, strings.NewReader(begin))
	if err != nil {
		return said, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return said, err
	}
	defer resp.Body.Close()
	return read(resp), nil
}

// Mark returns a text that differs between two tokens of a person; empty if there is none.
func (c *Client) Mark(ctx context.Context, person string) (string, error) {
	g, err := c.Vault.get(ctx, c.Name, person)
	if err != nil || g == nil || g.Access == "" || !c.about(g) {
		return "", err
	}
	sum := sha256.Sum256([]byte(g.Access))
	return hex.EncodeToString(sum[:]), nil
}

// Logout removes the login of a person, and reports whether there was one.
func (c *Client) Logout(ctx context.Context, person string) (bool, error) {
	n, err := c.Vault.remove(ctx, c.Name, person)
	return n > 0, err
}
