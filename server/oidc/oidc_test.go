package oidc_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/server/oidc"
)

// issuer is a provider that says what it is told, also lies.
type issuer struct {
	*httptest.Server
	claims, info, document map[string]any
	key                    *rsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &issuer{key: key}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out any
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			said := map[string]any{
				"issuer": s.URL, "jwks_uri": s.URL + "/keys", "authorization_endpoint": s.URL + "/auth", "token_endpoint": s.URL + "/token",
				"userinfo_endpoint": s.URL + "/me", "authorization_response_iss_parameter_supported": true,
			}
			maps.Copy(said, s.document)
			out = said
		case "/keys":
			out = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: "1"}}}
		case "/token":
			if r.FormValue("code") != "good" || r.FormValue("code_verifier") == "" {
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
				return
			}
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
			if err != nil {
				t.Error(err)
			}
			raw, err := jwt.Signed(signer).Claims(s.claims).Serialize()
			if err != nil {
				t.Error(err)
			}
			out = map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": raw}
		case "/me":
			out = s.info
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestFinish: a person comes in whom the provider names for this sign-in and the configuration lists,
// and nobody else.
func TestFinish(t *testing.T) {
	s := newIssuer(t)
	config := oidc.Config{
		Issuer: s.URL, ClientID: "etui", ClientSecret: "secret", Back: "https://etui.example/console/back", RoleClaim: "etui",
		Roles: map[console.Role][]string{console.Owner: {"Ann@example.com", "group:board", "group:all@example.com"}, console.Operator: {"ken@example.com"}, console.Viewer: {"group:staff"}},
	}
	p := oidc.New(config)
	for _, c := range []struct {
		name   string
		claims map[string]any // beside those of every token
		info   map[string]any // of the userinfo endpoint
		change func(*oidc.Return, *string)
		who    string
		role   console.Role
		err    error
	}{
		{name: "a verified address", claims: map[string]any{"email": "ann@EXAMPLE.com", "email_verified": true}, who: "ann@EXAMPLE.com", role: console.Owner},
		{name: "the same at the userinfo endpoint", info: map[string]any{"email": "ann@example.com", "email_verified": "true"}, who: "ann@example.com", role: console.Owner},
		{name: "an address that is not verified", claims: map[string]any{"email": "ann@example.com", "email_verified": false}, err: oidc.ErrStranger},
		{name: "an address of which nothing is said", claims: map[string]any{"email": "ann@example.com"}, err: oidc.ErrStranger},
		{name: "another address is verified", claims: map[string]any{"email": "ann@example.com"}, info: map[string]any{"email": "x@example.com", "email_verified": true}, err: oidc.ErrStranger},
		{name: "only another answer's address is verified", claims: map[string]any{"email_verified": true}, info: map[string]any{"email": "ann@example.com"}, err: oidc.ErrStranger},
		{name: "an address that looks like a group in capitals", claims: map[string]any{"email": "GROUP:all@example.com", "email_verified": true}, err: oidc.ErrStranger},
		{name: "letters that look alike", claims: map[string]any{"email": "\u212aen@example.com", "email_verified": true}, err: oidc.ErrStranger},
		{name: "an address that looks like a group", claims: map[string]any{"email": "group:board", "email_verified": true}, err: oidc.ErrStranger},
		{name: "a group", claims: map[string]any{"groups": []string{"staff", "x"}}, who: "oidc:42", role: console.Viewer},
		{name: "the highest role of two", claims: map[string]any{"groups": []string{"staff", "board"}}, who: "oidc:42", role: console.Owner},
		{name: "a group with another prefix", claims: map[string]any{"groups": "group:board"}, err: oidc.ErrStranger},
		{name: "a role in a claim", claims: map[string]any{"etui": []string{"operator"}}, who: "oidc:42", role: console.Operator},
		{name: "a role that there is not", claims: map[string]any{"etui": "root"}, err: oidc.ErrStranger},
		{name: "a name with lines", claims: map[string]any{"sub": "a\nb", "etui": "viewer"}, info: map[string]any{"sub": "a\nb"}, who: "oidc:a b", role: console.Viewer},
		{name: "the nonce of another sign-in", claims: map[string]any{"nonce": "x", "etui": "owner"}, err: oidc.ErrRefused},
		{name: "for another client", claims: map[string]any{"aud": "other", "etui": "owner"}, err: oidc.ErrRefused},
		{name: "for two clients", claims: map[string]any{"aud": []string{"etui", "other"}, "etui": "owner"}, err: oidc.ErrRefused},
		{name: "given to another client", claims: map[string]any{"azp": "other", "etui": "owner"}, err: oidc.ErrRefused},
		{name: "another issuer's", claims: map[string]any{"iss": "https://evil.example", "etui": "owner"}, err: oidc.ErrRefused},
		{name: "old", claims: map[string]any{"exp": time.Now().Add(-time.Hour).Unix(), "etui": "owner"}, err: oidc.ErrRefused},
		{name: "somebody else's userinfo", info: map[string]any{"sub": "43", "etui": "owner"}, err: oidc.ErrRefused},
		{name: "a code of another", change: func(r *oidc.Return, _ *string) { r.Code = "bad" }, err: oidc.ErrRefused},
		{name: "an answer of another provider", change: func(r *oidc.Return, _ *string) { r.Issuer = "https://evil.example" }, err: oidc.ErrRefused},
		{name: "an answer that names none", change: func(r *oidc.Return, _ *string) { r.Issuer = "" }, err: oidc.ErrRefused},
		{name: "another state", change: func(r *oidc.Return, _ *string) { r.State += "x" }, err: oidc.ErrReturn},
		{name: "no state in the browser", change: func(_ *oidc.Return, sealed *string) { *sealed = "" }, err: oidc.ErrReturn},
		{name: "a seal of another process", change: func(r *oidc.Return, sealed *string) {
			address, other, err := oidc.New(config).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			*sealed, r.State = other, stateOf(t, address, "state")
		}, err: oidc.ErrReturn},
	} {
		address, sealed, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.claims = map[string]any{"iss": s.URL, "aud": "etui", "sub": "42", "exp": time.Now().Add(time.Hour).Unix(), "nonce": stateOf(t, address, "nonce")}
		s.info = map[string]any{"sub": "42"}
		maps.Copy(s.claims, c.claims)
		maps.Copy(s.info, c.info)
		back := oidc.Return{Code: "good", State: stateOf(t, address, "state"), Issuer: s.URL}
		if c.change != nil {
			c.change(&back, &sealed)
		}
		who, err := p.Finish(t.Context(), sealed, back)
		if !errors.Is(err, c.err) || who.Name != c.who || who.Role != c.role {
			t.Errorf("%s: %+v, %v; want %s as %s, %v", c.name, who, err, c.who, c.role, c.err)
		}
	}
}

func stateOf(t *testing.T, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

// TestBegin: a sign-in ends after a while, and a provider that is away is not asked with each one.
func TestBegin(t *testing.T) {
	s := newIssuer(t)
	now := time.Now()
	p := oidc.New(oidc.Config{Issuer: s.URL, ClientID: "etui", Now: func() time.Time { return now }})
	address, sealed, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(oidc.Lasts)
	if _, err := p.Finish(t.Context(), sealed, oidc.Return{Code: "good", State: stateOf(t, address, "state"), Issuer: s.URL}); !errors.Is(err, oidc.ErrReturn) {
		t.Errorf("after ten minutes: %v", err)
	}
	away := oidc.New(oidc.Config{Issuer: s.URL + "/away", ClientID: "etui", Now: func() time.Time { return now }})
	for range 2 {
		if _, _, err := away.Begin(t.Context()); !errors.Is(err, oidc.ErrAway) {
			t.Errorf("a provider that is away: %v", err)
		}
	}
}

// TestEndpoints: a provider behind TLS names endpoints behind TLS only.
func TestEndpoints(t *testing.T) {
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"} {
		for address, ok := range map[string]bool{"https://login.example.com/x": true, "http://login.example.com/x": false, "/x": false, "": name == "userinfo_endpoint"} {
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				at := "https://" + r.Host
				said := map[string]string{"issuer": at, "jwks_uri": at, "authorization_endpoint": at, "token_endpoint": at, "userinfo_endpoint": at}
				said[name] = address
				_ = json.NewEncoder(w).Encode(said)
			}))
			_, _, err := oidc.New(oidc.Config{Issuer: s.URL, ClientID: "etui", Client: s.Client()}).Begin(t.Context())
			if ok && err != nil || !ok && !errors.Is(err, oidc.ErrAway) {
				t.Errorf("%s is %q: %v", name, address, err)
			}
			s.Close()
		}
	}
}

// TestLeave: the address at which a person's session at the provider ends names the person, and is none where
// the provider has none that can be used.
func TestLeave(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{"", ""}, {"not an address", ""}, {"javascript:alert(1)", ""}, {"/end", ""},
		{"https://login.example/end?realm=a", "https://login.example/end?client_id=etui&id_token_hint="},
	} {
		s := newIssuer(t)
		s.document = map[string]any{"end_session_endpoint": c.says}
		p := oidc.New(oidc.Config{Issuer: s.URL, ClientID: "etui", Back: "https://etui.example/console/back", Roles: map[console.Role][]string{console.Viewer: {"group:staff"}}})
		address, sealed, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		asked, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		s.claims = map[string]any{"iss": s.URL, "aud": "etui", "sub": "42", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": asked.Query().Get("nonce"), "groups": []string{"staff"}}
		s.info = map[string]any{"sub": "42"}
		who, err := p.Finish(t.Context(), sealed, oidc.Return{Code: "good", State: asked.Query().Get("state"), Issuer: s.URL})
		if err != nil || !strings.HasPrefix(who.Leave, c.want) || (who.Leave == "") != (c.want == "") {
			t.Errorf("%q: %q, %v; want %q", c.says, who.Leave, err, c.want)
		}
		if who.Leave != "" && !strings.HasSuffix(who.Leave, "&realm=a") {
			t.Errorf("the provider's own parameter is lost: %s", who.Leave)
		}
	}
}
