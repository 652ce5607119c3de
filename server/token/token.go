// Package token verifies the access tokens of an OAuth issuer: those of people who logged in at
// their company, and of clients that they let in.
package token

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// pause is how long an issuer that did not answer is left alone. Its tokens are refused meanwhile.
	pause = 10 * time.Second
	// spacing is how long the issuer's keys are not asked for again. A token with an unknown key, which
	// anybody can send, asks for them.
	spacing = 10 * time.Second
	// patience is how long the issuer may take to answer.
	patience = 10 * time.Second
)

// Config says whose tokens count.
type Config struct {
	// Issuer is the address of the authorization server, as its tokens and its document at
	// .well-known/openid-configuration give it.
	Issuer string
	// Audience is for whom tokens must be made: the address of this server's resource.
	Audience string
	// Claim names the person in a token; empty means sub.
	Claim string
	// Client reaches the issuer; nil means http.DefaultClient.
	Client *http.Client
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	config Config
	client *http.Client

	mu     sync.Mutex
	tokens *oidc.IDTokenVerifier // nil before the issuer has answered
	failed time.Time             // when it did not, for the last time
}

// New returns a verifier. It asks the issuer with the first token.
func New(c Config) *Verifier {
	if c.Claim == "" {
		c.Claim = "sub"
	}
	client := http.Client{Timeout: patience}
	if c.Client != nil {
		client.Transport = c.Client.Transport
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Verifier{config: c, client: &client}
}

// Issuer returns the address of the authorization server.
func (v *Verifier) Issuer() string { return v.config.Issuer }

// IsJWT reports whether a text has the form of a token.
func IsJWT(text string) bool { return strings.Count(text, ".") == 2 }

// Verify returns whom a token names. The error says why it does not count: its signature, its
// issuer, its audience, its time, or an issuer that does not answer.
func (v *Verifier) Verify(ctx context.Context, raw string) (subject string, err error) {
	tokens, err := v.verifier(ctx)
	if err != nil {
		return "", err
	}
	token, err := tokens.Verify(oidc.ClientContext(ctx, v.client), raw)
	if err != nil {
		return "", err
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return "", err
	}
	if subject, _ = claims[v.config.Claim].(string); subject == "" {
		return "", fmt.Errorf("the token has no claim %q", v.config.Claim)
	}
	// Some issuers let people state any address, and say that it is not proven; a few say so in a text.
	if proven, said := claims["email_verified"]; v.config.Claim == "email" && said && proven != true &&
		proven != "true" {
		return "", errors.New("the issuer has not verified the email of the token")
	}
	return subject, nil
}

func (v *Verifier) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tokens != nil {
		return v.tokens, nil
	}
	if time.Since(v.failed) < pause {
		return nil, errors.New("the issuer of tokens did not answer")
	}
	// The keys are asked for later, too, so the context is that of the verifier, not of one request.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), v.client)
	provider, err := oidc.NewProvider(ctx, v.config.Issuer)
	if err != nil {
		v.failed = time.Now()
		return nil, fmt.Errorf("the issuer of tokens: %w", err)
	}
	keys := *v.client
	keys.Transport = &spacedTransport{next: v.client.Transport}
	v.tokens = provider.VerifierContext(oidc.ClientContext(ctx, &keys), &oidc.Config{ClientID: v.config.Audience})
	return v.tokens, nil
}

// spacedTransport lets requests through that are spacing apart, and refuses others.
type spacedTransport struct {
	next http.RoundTripper

	mu   sync.Mutex
	last time.Time
}

// RoundTrip implements [http.RoundTripper].
func (s *spacedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	early := time.Since(s.last) < spacing
	if !early {
		s.last = time.Now()
	}
	s.mu.Unlock()
	if early {
		return nil, errors.New("the issuer was asked for its keys just now")
	}
	return cmp.Or(s.next, http.DefaultTransport).RoundTrip(r)
}
