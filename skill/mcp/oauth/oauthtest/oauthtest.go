// Package oauthtest is an MCP server that wants a login, with its authorization server, for tests.
package oauthtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server has the tool whoami, which says whose account the login is of, and admin, which needs
// the scope admin. Its authorization server agrees to every login.
type Server struct {
	*httptest.Server
	// Account is whose account the next login is of.
	Account string
	// Lasts is how long tokens last; 0 is an hour.
	Lasts time.Duration
	// Needs is a scope that every request needs; empty is none.
	Needs string
	// NoRefresh says that there are no refresh tokens.
	NoRefresh bool
	// Metadata changes the metadata of the authorization server; nil leaves them.
	Metadata func(map[string]any)
	// Resource is what its metadata are about; empty is itself.
	Resource string
	// Names is the authorization server that the server names; empty is its own.
	Names string

	mu     sync.Mutex
	codes  map[string]code
	access map[string]*token
	secret map[string]string // of clients
	counts map[string]int
}

type code struct {
	account, client, redirect, challenge, resource, scope string
}

type token struct {
	account, scope, refresh string
	until                   time.Time
}

// New starts a server.
func New() *Server {
	s := &Server{Account: "alice", codes: map[string]code{}, access: map[string]*token{}, secret: map[string]string{},
		counts: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{
			"resource": cmp.Or(s.Resource, s.URL+"/mcp"), "authorization_servers": []string{cmp.Or(s.Names, s.URL)},
			"scopes_supported": []string{"read"},
		})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	server := sdk.NewServer(&sdk.Implementation{Name: "tracker", Version: "1"}, nil)
	for _, name := range []string{"whoami", "admin"} {
		server.AddTool(&sdk.Tool{Name: name, Description: "Says whose account this is.",
			InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " " +
					s.of(r.Extra.Header).account}}}, nil
			})
	}
	mcp := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { s.resource(w, r, mcp) })
	s.Server = httptest.NewServer(mux)
	return s
}

// Count returns how often something happened: register, code, refresh, client, refused.
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Revoke makes all tokens void; refresh tokens too, if both is set.
func (s *Server) Revoke(both bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.access {
		t.until = time.Time{}
		if both {
			t.refresh = ""
		}
	}
}

// Client registers a client with a secret.
func (s *Server) Client(id, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret[id] = secret
}

func (s *Server) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	m := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
	}
	if s.Metadata != nil {
		s.Metadata(m)
	}
	answer(w, 200, m)
}

func (s *Server) register(w http.ResponseWriter, _ *http.Request) {
	s.count("register")
	id := rand.Text()
	s.Client(id, "")
	answer(w, 201, map[string]any{"client_id": id, "token_endpoint_auth_method": "none"})
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.secret[q.Get("client_id")]; !known || q.Get("code_challenge_method") != "S256" ||
		q.Get("resource") != s.URL+"/mcp" {
		http.Error(w, "bad request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	c := rand.Text()
	s.codes[c] = code{s.Account, q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"),
		q.Get("resource"), q.Get("scope")}
	back := url.Values{"code": {c}, "state": {q.Get("state")}, "iss": {s.URL}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	id, secret := r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		id, secret = user, password
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(why string) { answer(w, 400, map[string]any{"error": why}) }
	if want, known := s.secret[id]; !known || want != secret {
		answer(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	t := &token{refresh: rand.Text(), until: time.Now().Add(cmp.Or(s.Lasts, time.Hour))}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		c, known := s.codes[r.PostFormValue("code")]
		delete(s.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !known || c.client != id || c.redirect != r.PostFormValue("redirect_uri") ||
			c.resource != r.PostFormValue("resource") || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
			refuse("invalid_grant")
			return
		}
		s.counts["code"]++
		t.account, t.scope = c.account, c.scope
	case "refresh_token":
		var old *token
		for _, one := range s.access {
			if one.refresh != "" && one.refresh == r.PostFormValue("refresh_token") {
				old = one
			}
		}
		if old == nil || r.PostFormValue("resource") != s.URL+"/mcp" {
			refuse("invalid_grant")
			return
		}
		s.counts["refresh"]++
		old.refresh = "" // each is good once
		t.account, t.scope = old.account, old.scope
	case "client_credentials":
		s.counts["client"]++
		t.account, t.scope, t.refresh = id, r.PostFormValue("scope"), ""
	default:
		refuse("unsupported_grant_type")
		return
	}
	if s.NoRefresh {
		t.refresh = ""
	}
	access := rand.Text()
	s.access[access] = t
	answer(w, 200, map[string]any{"access_token": access, "token_type": "Bearer",
		"expires_in": int(time.Until(t.until).Seconds()), "refresh_token": t.refresh, "scope": t.scope})
}

// of returns the token of a request; one of nobody if it is void.
func (s *Server) of(h http.Header) *token {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.access[strings.TrimPrefix(h.Get("Authorization"), "Bearer ")]; t != nil && time.Now().Before(t.until) {
		return t
	}
	return &token{}
}

func (s *Server) insufficient(w http.ResponseWriter, metadata, scope string) {
	w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", `+metadata+`, scope="read `+scope+`"`)
	w.WriteHeader(http.StatusForbidden)
}

func (s *Server) resource(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t := s.of(r.Header)
	metadata := fmt.Sprintf("resource_metadata=%q", s.URL+"/.well-known/oauth-protected-resource/mcp")
	switch {
	case t.account == "":
		s.count("refused")
		w.Header().Set("WWW-Authenticate", `Bearer `+metadata+`, scope="read"`)
		w.WriteHeader(http.StatusUnauthorized)
	case s.Needs != "" && !slices.Contains(strings.Fields(t.scope), s.Needs):
		s.insufficient(w, metadata, s.Needs)
	case bytes.Contains(body, []byte(`"name":"admin"`)) && !slices.Contains(strings.Fields(t.scope), "admin"):
		s.insufficient(w, metadata, "admin")
	default:
		next.ServeHTTP(w, r)
	}
}
