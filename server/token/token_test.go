package token_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/etui-run/etui/server/token"
)

const audience = "https://etui.example.com/mcp"

// issuer is an authorization server that signs what it is told.
type issuer struct {
	*httptest.Server
	key  *rsa.PrivateKey
	away bool
	asks atomic.Int32
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &issuer{key: key}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asks.Add(1)
		switch {
		case s.away:
			http.Error(w, "away", http.StatusServiceUnavailable)
		case r.URL.Path == "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]any{
				"issuer": s.URL, "jwks_uri": s.URL + "/keys", "authorization_endpoint": s.URL, "token_endpoint": s.URL,
				"id_token_signing_alg_values_supported": []string{"RS256"},
			})
		case r.URL.Path == "/keys":
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *issuer) sign(t *testing.T, key any, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1").WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestVerify(t *testing.T) {
	s := newIssuer(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Hour).Unix()
	good := func(change map[string]any) map[string]any {
		claims := map[string]any{"iss": s.URL, "aud": []string{"x", audience}, "sub": "42", "email": "ann@example.com", "exp": soon}
		for name, value := range change {
			claims[name] = value
		}
		return claims
	}
	v := token.New(token.Config{Issuer: s.URL, Audience: audience})
	mail := token.New(token.Config{Issuer: s.URL, Audience: audience, Claim: "email"})
	for _, c := range []struct {
		name, raw, subject string
		by                 *token.Verifier
	}{
		{"good", s.sign(t, s.key, jose.RS256, good(nil)), "42", v},
		{"another claim", s.sign(t, s.key, jose.RS256, good(nil)), "ann@example.com", mail},
		{"without the claim", s.sign(t, s.key, jose.RS256, good(map[string]any{"email": 7})), "", mail},
		{"an email that is proven", s.sign(t, s.key, jose.RS256, good(map[string]any{"email_verified": true})), "ann@example.com", mail},
		{"an email that anybody may state", s.sign(t, s.key, jose.RS256, good(map[string]any{"email_verified": false})), "", mail},
		{"the same in a text", s.sign(t, s.key, jose.RS256, good(map[string]any{"email_verified": "false"})), "", mail},
		{"an email that nobody asks for", s.sign(t, s.key, jose.RS256, good(map[string]any{"email_verified": false})), "42", v},
		{"old", s.sign(t, s.key, jose.RS256, good(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})), "", v},
		{"for others", s.sign(t, s.key, jose.RS256, good(map[string]any{"aud": "https://other.example.com"})), "", v},
		{"of another issuer", s.sign(t, s.key, jose.RS256, good(map[string]any{"iss": "https://evil.example"})), "", v},
		{"another's key", s.sign(t, other, jose.RS256, good(nil)), "", v},
		{"a secret as key", s.sign(t, []byte(strings.Repeat("x", 32)), jose.HS256, good(nil)), "", v},
		{"unsigned", "eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9.", "", v},
		{"no token", "a.b.c", "", v},
	} {
		subject, err := c.by.Verify(t.Context(), c.raw)
		if subject != c.subject || (err == nil) != (c.subject != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, subject, err, c.subject)
		}
	}
}

func TestIssuerAway(t *testing.T) {
	s := newIssuer(t)
	s.away = true
	v := token.New(token.Config{Issuer: s.URL, Audience: audience})
	for range 2 { // the second is refused at once
		if _, err := v.Verify(t.Context(), "a.b.c"); err == nil {
			t.Fatal("a token counts that nobody could verify")
		}
	}
	if n := s.asks.Load(); n != 1 {
		t.Errorf("the issuer was asked %d times, want once", n)
	}
}

// TestUnknownKeys: tokens that anybody can make do not have the issuer asked for its keys each time, and
// good ones count meanwhile.
func TestUnknownKeys(t *testing.T) {
	s := newIssuer(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{"iss": s.URL, "aud": audience, "sub": "42", "exp": time.Now().Add(time.Hour).Unix()}
	v := token.New(token.Config{Issuer: s.URL, Audience: audience})
	for range 5 {
		if _, err := v.Verify(t.Context(), s.sign(t, other, jose.RS256, claims)); err == nil {
			t.Error("another's key counts")
		}
		if _, err := v.Verify(t.Context(), s.sign(t, s.key, jose.RS256, claims)); err != nil {
			t.Error(err)
		}
	}
	if n := s.asks.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times, want once for its document and once for its keys", n)
	}
}
