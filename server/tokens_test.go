package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/token"
)

// TestTokens: a token of the issuer is the user whom it names, and has no power beside that.
func TestTokens(t *testing.T) {
	const address = "https://etui.example.com"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1"}}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys"})
	}))
	t.Cleanup(issuer.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(subject string) string {
		raw, err := jwt.Signed(signer).Claims(map[string]any{"iss": issuer.URL, "aud": address + "/mcp", "sub": subject, "exp": time.Now().Add(time.Hour).Unix()}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + raw
	}
	users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"oauth:42"}}})
	if err != nil {
		t.Fatal(err)
	}
	people := func() *identity.Users { return users }
	s := newServer(t, server.Config{
		Tokens: token.New(token.Config{Issuer: issuer.URL, Audience: address + "/mcp"}), URL: address, Hosts: []string{"etui.example.com"}, Users: people,
	}, func(c *engine.Config) { c.Users = by(people) })
	for _, c := range []struct {
		name, path, token string
		status            int
		says              string
	}{
		{"ann", "/api/whoami", of("42"), 200, `"user":"ann"`},
		{"a stranger", "/api/whoami", of("43"), 401, ""},
		{"nobody", "/api/whoami", "", 401, ""},
		{"no token", "/api/whoami", "Bearer a.b.c", 401, ""},
		{"an operator's route", "/admin/skills/reload", of("42"), 403, ""},
	} {
		status, body := ask(arrived(t.Context(), "10.0.0.1"), s, "POST", address+c.path, "{}", "Authorization", c.token)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s; want %d with %s", c.name, status, body, c.status, c.says)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, address+"/mcp", strings.NewReader("{}")))
	if got, want := w.Header().Get("WWW-Authenticate"), `Bearer resource_metadata="`+address+`/.well-known/oauth-protected-resource/mcp"`; w.Code != http.StatusUnauthorized || got != want {
		t.Errorf("a client is told %d %q, want %q", w.Code, got, want)
	}
	for path, want := range map[string]int{"": 200, "/mcp": 200, "/mcp/main": 200, "/api/chat": 404} {
		status, body := ask(t.Context(), s, "GET", address+"/.well-known/oauth-protected-resource"+path, "")
		if status != want || want == 200 && !strings.Contains(body, `"resource":"`+address+`/mcp"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
