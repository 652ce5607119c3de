package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/oidc"
)

// remote is a browser on another machine, behind a proxy that speaks TLS.
type remote struct {
	t       *testing.T
	handler http.Handler
	host    string
	cookies []string
	proof   string
}

func (b *remote) ask(method, path, body string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "http://"+b.host+path, strings.NewReader(body))
	r = r.WithContext(arrived(b.t.Context(), "127.0.0.1"))
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", strings.Join(b.cookies, "; "))
	r.Header.Set(console.ProofHeader, b.proof)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		b.cookies = append(b.cookies, c.Name+"="+c.Value)
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || !strings.HasPrefix(c.Name, "__Host-") {
			b.t.Errorf("the cookie is %s", c)
		}
	}
	return w.Result()
}

// TestSignInElsewhere: at the public address an operator's key opens what the role may, and only with
// cookie and proof; the admin API takes no key there, and without the configuration nothing opens.
func TestSignInElsewhere(t *testing.T) {
	keys := &identity.Keys{}
	laptop, err := keys.Add(identity.Key{Name: "laptop", Operator: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bot, err := keys.Add(identity.Key{Name: "bot", ForOthers: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	open := server.Elsewhere{URL: "https://etui.example", Keys: true}
	with := func(e server.Elsewhere) *server.Server {
		return newServer(t, server.Config{Key: "master", Local: "local", Keys: keys, Hosts: []string{"etui.example", "other.example"}, Console: e}, nil)
	}
	for _, c := range []struct {
		name, host, key string
		elsewhere       server.Elsewhere
		header          []string
		status          int
	}{
		{"an operator's key", "etui.example", laptop, open, nil, 200},
		{"the key of the configuration", "etui.example", "master", open, nil, 200},
		{"a name in capitals", "ETUI.example", laptop, open, nil, 200},
		{"the key of commands on the machine", "etui.example", "local", open, nil, 401},
		{"a key of no operator", "etui.example", bot, open, nil, 401},
		{"a wrong key", "etui.example", "wrong", open, nil, 401},
		{"another name of the gateway", "other.example", laptop, open, nil, 421},
		{"another port", "etui.example:8443", laptop, open, nil, 421},
		{"another scheme", "etui.example", laptop, open, []string{"Origin", "http://etui.example"}, 421},
		{"another site's page", "etui.example", laptop, open, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"a sibling's page", "etui.example", laptop, open, []string{"Sec-Fetch-Site", "same-site", "Origin", "https://a.etui.example"}, 403},
		{"without keys in the configuration", "etui.example", laptop, server.Elsewhere{URL: "https://etui.example"}, nil, 421},
		{"without a configuration", "etui.example", laptop, server.Elsewhere{}, nil, 421},
	} {
		b := &remote{t: t, handler: with(c.elsewhere), host: c.host}
		if got := b.ask("POST", "/console/session", `{"key":"`+c.key+`"}`, c.header...).StatusCode; got != c.status {
			t.Errorf("%s: %d, want %d", c.name, got, c.status)
		}
	}
	s := with(open)
	for name, handler := range map[string]http.Handler{"all routes": s, "the public address": s.Public()} {
		b := &remote{t: t, handler: handler, host: "etui.example"}
		if got := b.ask("GET", "/admin/sessions", "", "Authorization", "Bearer "+laptop).StatusCode; got == 200 {
			t.Errorf("%s: the admin API takes a key from elsewhere", name)
		}
		b.signIn(`{"key":"` + laptop + `"}`)
		if got := b.ask("GET", "/admin/keys", "").StatusCode; got != 200 {
			t.Errorf("%s: the session opens nothing: %d", name, got)
		}
		for what, header := range map[string][]string{
			"without the proof":           {console.ProofHeader, ""},
			"with a key beside it":        {"Authorization", "Bearer wrong"},
			"from another scheme":         {"Origin", "http://etui.example"},
			"from another site":           {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			"with the cookie of loopback": {"Cookie", strings.Replace(b.cookies[0], "__Host-etui-console", "etui_console", 1)},
		} {
			if got := b.ask("GET", "/admin/keys", "", header...).StatusCode; got == 200 {
				t.Errorf("%s: the session counts %s", name, what)
			}
		}
		stolen := *b
		for _, stolen.host = range []string{"other.example", "localhost", "etui.example:8443"} {
			if got := stolen.ask("GET", "/admin/keys", "").StatusCode; got == 200 {
				t.Errorf("%s: the session counts at %s", name, stolen.host)
			}
		}
		b.ask("DELETE", "/console/session", "")
		if got := b.ask("GET", "/admin/keys", "").StatusCode; got == 200 {
			t.Errorf("%s: the session counts after signing out", name)
		}
	}
	secret := link(t, newServer(t, server.Config{Console: open, Hosts: []string{"etui.example"}}, nil), "owner")
	if got := (&remote{t: t, handler: s, host: "etui.example"}).ask("POST", "/console/session", `{"secret":"`+secret+`"}`).StatusCode; got != 421 {
		t.Errorf("a link signs in from elsewhere: %d", got)
	}
}

func (b *remote) signIn(body string) {
	b.t.Helper()
	resp := b.ask("POST", "/console/session", body)
	var who console.Person
	if err := json.NewDecoder(resp.Body).Decode(&who); err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("the sign-in gave %d, %v", resp.StatusCode, err)
	}
	b.proof = who.Proof
}

// TestSignInElsewhereInBrowser signs in at the public address in Chromium, through a proxy that speaks
// TLS, with a key and at a provider of another site.
func TestSignInElsewhereInBrowser(t *testing.T) {
	for _, name := range []string{"playwright-core", "oidc-provider"} {
		if _, err := os.Stat("testdata/console/node_modules/" + name); err != nil {
			leftout.Without(t, "a browser from npm")
		}
	}
	keys := &identity.Keys{}
	key, err := keys.Add(identity.Key{Name: "laptop", Operator: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var gateway atomic.Pointer[http.Handler]
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*gateway.Load()).ServeHTTP(w, r) }))
	defer inner.Close()
	to, err := url.Parse(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
		r.Out.Host = r.In.Host
	}})
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // the browser does not know the certificate
	proxy.StartTLS()
	defer proxy.Close()
	public := strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1) // another site than the provider's

	provider := exec.CommandContext(t.Context(), "node", "provider.mjs", public+"/console/back")
	provider.Dir = "testdata/console"
	says, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = provider.Process.Kill(); _ = provider.Wait() }
	defer end()
	issuer, err := bufio.NewReader(says).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	of := oidc.Config{
		Issuer: strings.TrimSpace(issuer), ClientID: "etui", ClientSecret: "the-client-secret", Back: public + "/console/back", Scopes: []string{"groups"},
		Roles: map[console.Role][]string{console.Owner: {"ann@example.com"}, console.Viewer: {"group:staff"}},
	}
	serve := func() {
		h := newServer(t, server.Config{Key: "master", Keys: keys, Console: server.Elsewhere{URL: public, Keys: true, Provider: oidc.New(of)}}, nil).Public()
		gateway.Store(&h)
	}
	serve()

	cmd := exec.CommandContext(t.Context(), "node", "elsewhere.mjs", public, key, os.Getenv("TEST_SHOTS"))
	cmd.Dir = "testdata/console"
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_JS_RUNTIME=nodejs20.x") // the browser from npm brings its libraries for this one
	cmd.Stderr = os.Stderr
	goOn, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line := lines.Text(); line != "down" {
			t.Error(line)
			continue
		}
		end()
		serve() // it has not asked the provider yet
		_, _ = io.WriteString(goOn, "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("node elsewhere.mjs: %v", err)
	}
}
