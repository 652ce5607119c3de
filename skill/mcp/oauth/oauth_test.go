package oauth_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/skill/mcp/oauth/oauthtest"
)

func noKey(string) string { return "" }

func vault(t *testing.T) (*oauth.Vault, string) {
	dir := t.TempDir()
	return oauth.NewVault(oauth.File(filepath.Join(dir, "logins.json")), filepath.Join(dir, "logins.key"), noKey), dir
}

// visit is a person's browser: it opens a link and returns where the authorization server sends
// it.
func visit(t *testing.T, link string) url.Values {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Fatal(resp.Status, err)
	}
	return back.Query()
}

// client returns a client whose people agree to everything.
func client(t *testing.T, s *oauthtest.Server, change func(*oauth.Config)) *oauth.Client {
	t.Helper()
	c := oauth.Config{
		Name: "tracker", Endpoint: s.URL + "/mcp", HTTP: http.DefaultTransport, Redirect: "http://127.0.0.1:1/callback",
		Begin: func(ctx context.Context, a *oauth.Attempt) error {
			return a.Finish(ctx, oauth.ParseAnswer(visit(t, a.Link)))
		},
	}
	if change != nil {
		change(&c)
	}
	if c.Vault == nil {
		c.Vault, _ = vault(t)
	}
	made, err := oauth.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ask sends a request of a person, and returns its status.
func ask(t *testing.T, s *oauthtest.Server, c *oauth.Client, person, tool string) (int, error) {
	t.Helper()
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool)
	req, err := http.NewRequest(http.MethodPost, s.URL+"/mcp", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.Transport(person, http.DefaultTransport).RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func mustAsk(t *testing.T, s *oauthtest.Server, c *oauth.Client, person, tool string) {
	t.Helper()
	if code, err := ask(t, s, c, person, tool); code != http.StatusOK || err != nil {
		t.Fatalf("the server answers %d, %v", code, err)
	}
}

func start(t *testing.T) *oauthtest.Server {
	s := oauthtest.New()
	t.Cleanup(s.Close)
	return s
}

// TestLasts: a login outlives the process, is refreshed after a refusal, and is sealed.
func TestLasts(t *testing.T) {
	t.Parallel()
	s := start(t)
	kept, dir := vault(t)
	if err := client(t, s, func(c *oauth.Config) { c.Vault = kept }).Login(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	again := client(t, s, func(c *oauth.Config) {
		c.Vault = oauth.NewVault(oauth.File(filepath.Join(dir, "logins.json")), filepath.Join(dir, "logins.key"), noKey)
		c.Begin = nil
	})
	mustAsk(t, s, again, "", "whoami")
	s.Revoke(false)
	mustAsk(t, s, again, "", "whoami")
	if s.Count("code") != 1 || s.Count("refresh") != 1 || s.Count("register") != 1 {
		t.Error("a restart or a refusal needed another login")
	}
	text, err := os.ReadFile(filepath.Join(dir, "logins.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{"access", "refresh", s.URL} {
		if strings.Contains(string(text), open) {
			t.Errorf("the file of logins shows %q", open)
		}
	}
	for _, name := range []string{"logins.json", "logins.key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// TestOneRefresh: many requests after one refusal refresh once, as a refresh token is good once.
func TestOneRefresh(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := client(t, s, nil)
	mustAsk(t, s, c, "", "whoami")
	s.Revoke(false)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if code, err := ask(t, s, c, "", "whoami"); code != http.StatusOK || err != nil {
				t.Error(code, err)
			}
		})
	}
	all.Wait()
	if n := s.Count("refresh"); n != 1 || s.Count("code") != 1 {
		t.Errorf("%d refreshes, %d logins", n, s.Count("code"))
	}
}

// TestExpires: a token that ends soon is refreshed before it is sent, and one that cannot be
// refreshed needs a login.
func TestExpires(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Lasts = 20 * time.Second
	kept, _ := vault(t)
	c := client(t, s, func(c *oauth.Config) { c.Vault = kept })
	mustAsk(t, s, c, "", "whoami")
	before := s.Count("refused")
	mustAsk(t, s, c, "", "whoami")
	if s.Count("refresh") == 0 || s.Count("refused") != before {
		t.Errorf("%d refreshes, %d refusals", s.Count("refresh"), s.Count("refused")-before)
	}
	s.Revoke(true)
	quiet := client(t, s, func(c *oauth.Config) { c.Vault, c.Begin = kept, nil })
	var needed *oauth.NeededError
	if _, err := ask(t, s, quiet, "", "whoami"); !errors.As(err, &needed) || !strings.Contains(err.Error(),
		"etui mcp login tracker") {
		t.Error(err)
	}
	mustAsk(t, s, c, "", "whoami") // a person can log in again
}

// TestNoRefresh: a token that the server refuses, and that cannot be refreshed, is no login.
func TestNoRefresh(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.NoRefresh = true
	kept, _ := vault(t)
	mustAsk(t, s, client(t, s, func(c *oauth.Config) { c.Vault = kept }), "", "whoami")
	s.Revoke(true)
	quiet := client(t, s, func(c *oauth.Config) { c.Vault, c.Begin = kept, nil })
	for range 2 {
		if _, err := ask(t, s, quiet, "", "whoami"); !errors.As(err, new(*oauth.NeededError)) {
			t.Error(err)
		}
		if mark, err := quiet.Mark(t.Context(), ""); mark != "" || err != nil {
			t.Error("a void token counts as a login", err)
		}
	}
}

// TestMoreRights: a refusal for too few scopes is told, and the next login asks for them too.
func TestMoreRights(t *testing.T) {
	t.Parallel()
	s := start(t)
	kept, _ := vault(t)
	c := client(t, s, func(c *oauth.Config) { c.Vault = kept })
	mustAsk(t, s, c, "", "whoami")
	quiet := client(t, s, func(c *oauth.Config) { c.Vault, c.Begin = kept, nil })
	if _, err := ask(t, s, quiet, "", "admin"); err == nil || !strings.Contains(err.Error(), "more rights (admin)") {
		t.Error(err)
	}
	mustAsk(t, s, quiet, "", "whoami") // the login counts as before
	if err := c.Login(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	mustAsk(t, s, quiet, "", "admin")
}

// TestItself: etui logs in by its own id and secret, and gets another token when the first ends.
func TestItself(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Client("etui", "hunter2")
	c := client(t, s, func(c *oauth.Config) {
		c.Settings, c.Begin = oauth.Settings{Client: true, ClientID: "etui", ClientSecret: "hunter2", Issuer: s.URL}, nil
	})
	mustAsk(t, s, c, "", "whoami")
	s.Revoke(true)
	mustAsk(t, s, c, "", "whoami")
	if s.Count("client") != 2 || s.Count("register") != 0 {
		t.Error(s.Count("client"), s.Count("register"))
	}
}

// TestIssuer: the secret of a client goes to the host that the settings name only, whatever the server says.
func TestIssuer(t *testing.T) {
	t.Parallel()
	evil := start(t)
	for name, c := range map[string]struct {
		server func(*oauthtest.Server)
		issuer string
	}{
		"another issuer": {func(s *oauthtest.Server) { s.Names = evil.URL }, ""},
		"another token endpoint": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["token_endpoint"] = evil.URL + "/token" }
		}, ""},
		"a name as a user":  {func(*oauthtest.Server) {}, "http://127.0.0.1@issuer.test"},
		"no issuer is said": {func(*oauthtest.Server) {}, "-"},
	} {
		for _, itself := range []bool{true, false} {
			s := start(t)
			c.server(s)
			out := &secrets{}
			made := client(t, s, func(config *oauth.Config) {
				config.HTTP = out
				config.Settings = oauth.Settings{Client: itself, ClientID: "etui", ClientSecret: "hunter2",
					Issuer: strings.TrimPrefix(cmp.Or(c.issuer, s.URL), "-")}
				config.Begin = func(context.Context, *oauth.Attempt) error {
					t.Error(name, "a person was asked")
					return nil
				}
			})
			_, err := ask(t, s, made, "", "whoami")
			if err == nil || !strings.Contains(err.Error(), "auth.issuer") || out.posts != 0 {
				t.Errorf("%s, itself %v: %v after %d requests for tokens", name, itself, err, out.posts)
			}
			if err := made.Login(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "auth.issuer") {
				t.Errorf("%s, itself %v: %v", name, itself, err)
			}
		}
	}
}

// hosts sends requests for made-up hosts to a server.
type hosts struct {
	to    string
	moves bool // the metadata of the issuer redirect to another host
	asked []string
}

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Host, ".test") {
		return http.DefaultTransport.RoundTrip(r)
	}
	h.asked = append(h.asked, r.URL.Scheme+"://"+r.URL.Host+r.URL.Path)
	if h.moves && r.URL.Host == "accounts.test" {
		return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://moved.test" + r.URL.Path}},
			Body: http.NoBody, Request: r}, nil
	}
	there := r.Clone(r.Context())
	there.URL.Scheme, there.URL.Host = "http", strings.TrimPrefix(h.to, "http://")
	return http.DefaultTransport.RoundTrip(there)
}

// TestVouched: an issuer may have its token endpoint on another host, as Google has, if its own metadata
// say so over TLS. Nobody else may name that host.
func TestVouched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		names, issuer, token string
		moves, ok            bool
	}{
		"its own metadata":        {names: "https://accounts.test", issuer: "https://accounts.test/", token: "https://tokens.test/token", ok: true},
		"in the clear":            {names: "https://accounts.test", issuer: "https://accounts.test", token: "http://tokens.test/token"},
		"another tenant":          {names: "https://accounts.test/evil", issuer: "https://accounts.test", token: "https://tokens.test/token"},
		"another issuer":          {names: "https://evil.test", issuer: "https://accounts.test", token: "https://tokens.test/token"},
		"metadata from elsewhere": {names: "https://accounts.test", issuer: "https://accounts.test", token: "https://tokens.test/token", moves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Lasts = 20 * time.Second // so short that it is refreshed before each request
			s.Client("etui", "hunter2")
			s.Names = c.names
			s.Metadata = func(m map[string]any) { m["issuer"], m["token_endpoint"] = c.names, c.token }
			out := &hosts{to: s.URL, moves: c.moves}
			made := client(t, s, func(config *oauth.Config) {
				config.HTTP = out
				config.Settings = oauth.Settings{Client: true, ClientID: "etui", ClientSecret: "hunter2", Issuer: c.issuer}
				config.Begin = nil
			})
			if c.ok {
				mustAsk(t, s, made, "", "whoami")
				mustAsk(t, s, made, "", "whoami")
				return
			}
			if _, err := ask(t, s, made, "", "whoami"); err == nil {
				t.Error("it was allowed")
			}
			if slices.ContainsFunc(out.asked, func(at string) bool { return strings.HasSuffix(at, "/token") }) {
				t.Errorf("the secret went out: %v", out.asked)
			}
		})
	}
}

// TestEarlierIssuer: a login from before at another host than the issuer's is not refreshed there.
func TestEarlierIssuer(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Lasts = 20 * time.Second // so short that it is refreshed before each request
	kept, _ := vault(t)
	if err := client(t, s, func(c *oauth.Config) { c.Vault = kept }).Login(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	now := client(t, s, func(c *oauth.Config) {
		c.Vault = kept
		c.Settings = oauth.Settings{ClientID: "etui", ClientSecret: "hunter2", Issuer: "https://login.test"}
	})
	if _, err := ask(t, s, now, "", "whoami"); err == nil || !strings.Contains(err.Error(), "auth.issuer") ||
		s.Count("refresh") != 0 {
		t.Error(err, s.Count("refresh"))
	}
}

// secrets counts requests for tokens.
type secrets struct{ posts int }

func (s *secrets) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/token" {
		s.posts++
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestRefused: authorization servers that cannot be trusted, and answers that do not belong to
// the login.
func TestRefused(t *testing.T) {
	t.Parallel()
	metadata := func(key string, value any) func(*oauthtest.Server) {
		return func(s *oauthtest.Server) { s.Metadata = func(m map[string]any) { m[key] = value } }
	}
	answer := func(change func(*oauth.Answer)) func(t *testing.T, a *oauth.Attempt) oauth.Answer {
		return func(t *testing.T, a *oauth.Attempt) oauth.Answer {
			got := oauth.ParseAnswer(visit(t, a.Link))
			change(&got)
			return got
		}
	}
	for name, c := range map[string]struct {
		server func(*oauthtest.Server)
		answer func(*testing.T, *oauth.Attempt) oauth.Answer
		says   string
	}{
		"no PKCE":             {server: metadata("code_challenge_methods_supported", nil), says: "PKCE"},
		"plain PKCE":          {server: metadata("code_challenge_methods_supported", []string{"plain"}), says: "S256"},
		"another issuer":      {server: metadata("issuer", "https://evil.test"), says: "issuer"},
		"a script as a page":  {server: metadata("authorization_endpoint", "javascript:alert(1)"), says: "scheme"},
		"tokens in the clear": {server: metadata("token_endpoint", "http://token.test/"), says: "HTTPS"},
		"no registration":     {server: metadata("registration_endpoint", nil), says: "client_id"},
		"another resource":    {server: func(s *oauthtest.Server) { s.Resource = "https://bank.test/mcp" }, says: "bank.test"},
		"no such server":      {server: func(s *oauthtest.Server) { s.Names = "http://127.0.0.1:1" }, says: "refused"},
		"another state":       {answer: answer(func(a *oauth.Answer) { a.State = "x" }), says: "another login"},
		"another server's": {answer: answer(func(a *oauth.Answer) { a.Issuer = "https://evil.test" }),
			says: "evil.test"},
		"nobody's": {answer: answer(func(a *oauth.Answer) { a.Issuer = "" }), says: "does not name"},
		"a no": {answer: answer(func(a *oauth.Answer) { a.Code, a.Error = "", "access_denied" }),
			says: "access_denied"},
		"nothing":              {answer: answer(func(a *oauth.Answer) { a.Code = "" }), says: "no code"},
		"somebody else's code": {answer: answer(func(a *oauth.Answer) { a.Code = "guessed" }), says: "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if c.server != nil {
				c.server(s)
			}
			made := client(t, s, func(config *oauth.Config) {
				config.Begin = func(ctx context.Context, a *oauth.Attempt) error {
					if c.answer == nil {
						t.Error("a person was asked")
						return nil
					}
					return a.Finish(ctx, c.answer(t, a))
				}
			})
			if _, err := ask(t, s, made, "", "whoami"); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
			if mark, err := made.Mark(t.Context(), ""); mark != "" || err != nil {
				t.Error("there is a login", err)
			}
		})
	}
}

// TestVault: a login opens with its key and for its person only, and goes with the person.
func TestVault(t *testing.T) {
	t.Parallel()
	s := start(t)
	kept, dir := vault(t)
	c := client(t, s, func(c *oauth.Config) { c.Vault = kept })
	for _, person := range []string{"", "alice", "bob"} {
		mustAsk(t, s, c, person, "whoami")
	}
	ready := func(c *oauth.Client, person string) error {
		mark, err := c.Mark(t.Context(), person)
		if err == nil && mark == "" {
			err = errors.New("no login")
		}
		return err
	}
	file := filepath.Join(dir, "logins.json")
	if count, err := kept.Erase(t.Context(), []string{"bob", "telegram:7"}); err != nil || count["logins"] != 1 {
		t.Error(count, err)
	}
	if ready(c, "bob") == nil || ready(c, "alice") != nil || ready(c, "") != nil {
		t.Error("erasing bob removed the wrong logins")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(string(text), `"alice"`, `"mallory"`, 1)
	if err := os.WriteFile(file, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ready(c, "mallory"); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("the login of another person opens: %v", err)
	}
	for name, key := range map[string]string{"another key": strings.Repeat("k", 32), "fewer than": "short"} {
		wrong := client(t, s, func(c *oauth.Config) {
			c.Vault = oauth.NewVault(oauth.File(file), filepath.Join(dir, "logins.key"),
				func(string) string { return key })
		})
		if err := ready(wrong, ""); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if code, err := ask(t, s, wrong, "", "whoami"); err == nil {
			t.Error("the login opens with another key:", code)
		}
	}
	other := client(t, s, func(c *oauth.Config) {
		c.Vault = oauth.NewVault(oauth.File(file), "", func(string) string { return strings.Repeat("k", 32) })
	})
	mustAsk(t, s, other, "alice", "whoami")
	if err := other.Login(t.Context(), ""); err != nil {
		t.Error("nobody can log in again:", err)
	}
	mustAsk(t, s, other, "", "whoami")
	if n, err := kept.Clear(t.Context(), "tracker"); n != 3 || err != nil {
		t.Error(n, err)
	}
}

// meanwhile does something before the answer of each request to a path arrives.
type meanwhile struct {
	path string
	do   func()
}

func (m *meanwhile) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if r.URL.Path == m.path {
		m.do()
	}
	return resp, err
}

// TestForgotten: a request under way does not bring a login back that is removed meanwhile, nor
// undo one that is made meanwhile.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, tool string }{
		"a refresh":   {"/token", "whoami"},
		"more rights": {"/.well-known/oauth-authorization-server", "admin"},
	} {
		for _, anew := range []bool{false, true} {
			s := start(t)
			kept, _ := vault(t)
			if c.path == "/token" {
				s.Lasts = 20 * time.Second // so short that it is refreshed before each request
			}
			people := client(t, s, func(config *oauth.Config) { config.Vault = kept })
			if err := people.Login(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
			var want string
			under := client(t, s, func(config *oauth.Config) {
				config.Vault, config.Begin = kept, nil
				config.HTTP = &meanwhile{c.path, func() {
					if count, err := kept.Erase(t.Context(), []string{"alice"}); err != nil || count["logins"] != 1 {
						t.Error(name, count, err)
					}
					if anew {
						if err := people.Login(t.Context(), "alice"); err != nil {
							t.Error(err)
						}
					}
					want, _ = people.Mark(t.Context(), "alice")
				}}
			})
			_, _ = ask(t, s, under, "alice", c.tool) // it may end either way
			if got, err := people.Mark(t.Context(), "alice"); got != want || err != nil || anew == (want == "") {
				t.Errorf("%s, a new login %v: the login is %q, not %q, %v", name, anew, got, want, err)
			}
			if all, err := people.Logout(t.Context(), "alice"); all != anew || err != nil {
				t.Errorf("%s, a new login %v: %v, %v", name, anew, all, err)
			}
		}
	}
}

// seen notes the tokens that are sent.
type seen struct{ tokens []string }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.tokens = append(s.tokens, r.Header.Get("Authorization"))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMoves: a login counts for the server that it was made for.
func TestMoves(t *testing.T) {
	t.Parallel()
	one, two := start(t), start(t)
	kept, _ := vault(t)
	mustAsk(t, one, client(t, one, func(c *oauth.Config) { c.Vault = kept }), "", "whoami")
	moved := client(t, two, func(c *oauth.Config) { c.Vault, c.Begin = kept, nil })
	sent := &seen{}
	req, err := http.NewRequest(http.MethodGet, two.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := moved.Transport("", sent).RoundTrip(req); !errors.As(err, new(*oauth.NeededError)) ||
		fmt.Sprint(sent.tokens) != "[]" {
		t.Error("another server gets the token", err, sent.tokens)
	}
}
