package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge is what a server's refusal says about a login.
type challenge struct {
	metadata     string // URL of the metadata of the resource; empty if it names none
	scopes       []string
	insufficient bool // the login has too few scopes
}

// read reads a refusal. A header that cannot be read says nothing.
func read(resp *http.Response) (c challenge) {
	if resp == nil {
		return c
	}
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range all {
		if c.metadata == "" {
			c.metadata = one.Params["resource_metadata"]
		}
		if one.Scheme == "bearer" {
			c.scopes = union(c.scopes, strings.Fields(one.Params["scope"]))
			c.insufficient = c.insufficient || one.Params["error"] == "insufficient_scope"
		}
	}
	return c
}

// place is where a login at a server is made.
type place struct {
	resource string // the server, as the authorization server knows it
	scopes   []string
	meta     *oauthex.AuthServerMeta
}

// discover finds the authorization server of an MCP server: by the metadata of the resource, and
// where an older server has none, at the server's own origin.
func (c *Client) discover(ctx context.Context, said challenge) (*place, error) {
	resource, err := c.resource(ctx, said.metadata)
	if err != nil {
		return nil, err
	}
	if resource == nil || len(resource.AuthorizationServers) == 0 {
		return c.older(ctx)
	}
	issuer := resource.AuthorizationServers[0]
	meta, err := c.authorization(ctx, issuer)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		return nil, fmt.Errorf("the authorization server %s has no metadata", issuer)
	}
	return &place{resource.Resource, resource.ScopesSupported, meta}, nil
}

// older returns the place of a server without metadata of its own: its origin is the
// authorization server, with the endpoints that the version of 2025-03-26 fixes if it has no
// metadata either.
func (c *Client) older(ctx context.Context) (*place, error) {
	origin := c.endpoint.Scheme + "://" + c.endpoint.Host
	meta, err := c.authorization(ctx, origin)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		meta = &oauthex.AuthServerMeta{
			Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token",
			RegistrationEndpoint: origin + "/register",
		}
	}
	return &place{canonical(c.endpoint), nil, meta}, nil
}

// canonical returns the name of a server in requests: its URL without a query, which may hold a
// secret.
func canonical(u *url.URL) string {
	plain := *u
	plain.RawQuery, plain.Fragment, plain.RawFragment, plain.ForceQuery = "", "", "", false
	return plain.String()
}

// resource fetches the metadata of the server, at the URL that it names or at the well-known
// ones; nil if it has none.
func (c *Client) resource(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	origin := c.endpoint.Scheme + "://" + c.endpoint.Host
	places := []string{origin + wellKnown}
	if path := strings.Trim(c.endpoint.EscapedPath(), "/"); path != "" {
		places = slices.Insert(places, 0, origin+wellKnown+"/"+path)
	}
	if named != "" {
		places = slices.Insert(places, 0, named)
	}
	var failed error
	for _, at := range slices.Compact(places) {
		found := &oauthex.ProtectedResourceMetadata{}
		ok, err := c.fetch(ctx, at, found)
		if ok && err == nil {
			if found.Resource == "" && strings.HasPrefix(at, origin+"/") {
				found.Resource = canonical(c.endpoint) // the server does not say it of itself
			}
			if !c.covers(found.Resource) {
				// Another server's token must not reach this one.
				return nil, fmt.Errorf("the metadata at %s are about %q, not about %s", at, found.Resource,
					canonical(c.endpoint))
			}
			return found, nil
		}
		if err != nil && (failed == nil || at == named) {
			failed = err
		}
	}
	return nil, failed
}

// covers reports whether a resource is the server, or a folder on its origin that it is in.
func (c *Client) covers(resource string) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, c.endpoint.Scheme) || !strings.EqualFold(r.Host, c.endpoint.Host) {
		return false
	}
	return strings.HasPrefix(strings.TrimRight(c.endpoint.Path, "/")+"/", strings.TrimRight(r.Path, "/")+"/")
}

// authorization fetches the metadata of an authorization server, in the forms of OAuth and of
// OpenID Connect; nil if it has none. A server without PKCE is refused, and one that is not at the
// host that the settings name.
func (c *Client) authorization(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, fmt.Errorf("the authorization server's name %q is no URL", issuer)
	}
	if err := c.trusts(issuer); err != nil {
		return nil, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.Trim(u.EscapedPath(), "/")
	places := []string{origin + "/.well-known/oauth-authorization-server", origin + "/.well-known/openid-configuration"}
	if path != "" {
		places = []string{places[0] + "/" + path, places[1] + "/" + path,
			origin + "/" + path + "/.well-known/openid-configuration"}
	}
	var failed error
	for _, at := range places {
		own := true // the document came from the issuer's host
		client := *c.http
		client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
			own = own && strings.EqualFold(next.URL.Host, u.Host)
			return follow(next, before)
		}
		meta, err := oauthex.GetAuthServerMeta(ctx, at, issuer, &client)
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", at, err))
		case meta == nil:
		case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
			return nil, fmt.Errorf("the authorization server %s does not support PKCE with S256, without which a "+
				"code could be stolen", issuer)
		default:
			if err := c.trusts(meta.TokenEndpoint); err != nil && (!own || !c.vouches(issuer, meta.TokenEndpoint)) {
				return nil, err
			}
			return meta, nil
		}
	}
	return nil, failed
}

// trusts refuses an address on another host than that of the issuer in the settings: the server
// says where logins are made, and must not get the client's secret by that.
func (c *Client) trusts(address string) error {
	s := c.Settings
	if s.ClientSecret == "" && s.Issuer == "" {
		return nil
	}
	named, err := url.Parse(address)
	issuer, err2 := url.Parse(s.Issuer)
	if err != nil || err2 != nil || named.Host == "" || named.Scheme != issuer.Scheme ||
		!strings.EqualFold(named.Host, issuer.Host) {
		return fmt.Errorf("logins at %s are for %q, which auth.issuer in its file names; etui sends nothing to %q",
			c.Name, s.Issuer, address)
	}
	return nil
}

// vouches reports whether the document of an issuer may name a token endpoint on another host, as some
// do that have a host for each purpose: if the issuer is exactly that of the settings, and both are
// reached over TLS. The server can choose neither, nor another issuer on the same host.
func (c *Client) vouches(issuer, address string) bool {
	return strings.HasPrefix(issuer, "https://") && strings.HasPrefix(address, "https://") &&
		strings.TrimSuffix(issuer, "/") == strings.TrimSuffix(c.Settings.Issuer, "/")
}

// maxMetadata is how many bytes of a metadata document are read.
const maxMetadata = 1 << 20

// fetch reads a document of JSON, and reports whether there is one.
func (c *Client) fetch(ctx context.Context, at string, into any) (bool, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return false, fmt.Errorf("the server names metadata at %q, which is no URL", at)
	}
	if u.Scheme != "https" && !strings.EqualFold(u.Host, c.endpoint.Host) && !isLoopback(u.Hostname()) {
		return false, fmt.Errorf("the server names metadata at %s, which is not encrypted", at)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s: %s", at, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return false, fmt.Errorf("%s: %w", at, err)
	}
	if json.Unmarshal(text, into) != nil {
		return false, nil // a page for people, as many sites have for every path
	}
	return true, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
