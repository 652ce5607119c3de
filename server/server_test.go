package server_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/web"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

func Example() {
	e, err := engine.New(engine.Config{
		Registry: catalog.NewRegistry(nil),
		Agents:   []engine.Agent{{Name: "main", Model: offline.New(offline.Config{})}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// In a program: http.ListenAndServe("127.0.0.1:3884", server.New(e, server.Config{}))
	w := httptest.NewRecorder()
	server.New(e, server.Config{Status: api.Config{Version: "1.0"}}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
	fmt.Print(w.Body)
	// Output: {"status":"ready","service":"etui","version":"1.0","tools":0}
}

func ExampleServer_Routes() {
	e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range server.New(e, server.Config{}).Routes() {
		if strings.HasPrefix(r.Pattern, "GET /api/") {
			fmt.Printf("%-8s  %s\n", r.Access, r.Pattern)
		}
	}
	// Output:
	// client    GET /api/status
	// person    GET /api/tools
	// person    GET /api/skills
	// person    GET /api/workflows
	// client    GET /api/agents
	// operator  GET /api/usage
	// person    GET /api/sessions
	// person    GET /api/sessions/{key}
	// person    GET /api/approvals
}

func newServer(t *testing.T, cfg server.Config, change func(*engine.Config)) *server.Server {
	t.Helper()
	c := engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: fake.New()}}}
	if change != nil {
		change(&c)
	}
	e, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return server.New(e, cfg)
}

// ask sends a request, as over a loopback address unless the context says
// otherwise, and returns the status and the body of the answer.
func ask(ctx context.Context, h http.Handler, method, target, body string, header ...string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	n := rand.Uint32() // another client each time: wrong keys slow one down
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1000", byte(n), byte(n>>8), byte(n>>16))
	if ctx.Value(http.LocalAddrContextKey) == nil {
		ctx = arrived(ctx, "127.0.0.1")
	}
	r = r.WithContext(ctx)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// arrived is the context of a request that reached an address of this machine.
func arrived(ctx context.Context, ip string) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.ParseIP(ip)}))
}

// TestUnknownNames: every request of etui's own protocols refuses a parameter and a
// field that it does not know, before it does anything.
func TestUnknownNames(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for _, r := range s.Routes() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		if !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/admin/") {
			continue
		}
		url := "http://localhost" + strings.NewReplacer("{name}", "main", "{change}", "approve").Replace(path)
		if status, body := ask(t.Context(), s, method, url+"?nope=1", ""); status != http.StatusBadRequest || !strings.Contains(body, `unknown query parameter \"nope\"`) {
			t.Errorf("%s?nope=1: %d %s", r.Pattern, status, body)
		}
		if method != http.MethodPost && method != http.MethodPut {
			continue
		}
		if status, body := ask(t.Context(), s, method, url, `{"nope":1}`); status != http.StatusBadRequest || !strings.Contains(body, `unknown field \"nope\"`) {
			t.Errorf("%s {nope}: %d %s", r.Pattern, status, body)
		}
	}
}

// TestUnknownPathsNeedTheKey: without it nobody can find out what exists.
func TestUnknownPathsNeedTheKey(t *testing.T) {
	s := newServer(t, server.Config{Key: "right"}, nil)
	for header, want := range map[string]int{"": 401, "Bearer right": 404} {
		if status, _ := ask(t.Context(), s, "GET", "http://localhost/nope", "", "Authorization", header); status != want {
			t.Errorf("with %q: %d, want %d", header, status, want)
		}
	}
}

// TestParts: where other machines can reach the server, operators have an address
// of their own.
func TestParts(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for _, c := range []struct {
		name           string
		handler        http.Handler
		health, skills int
	}{
		{"all", s, 200, 200}, {"public", s.Public(), 200, 404},
	} {
		if status, _ := ask(t.Context(), c.handler, "GET", "http://localhost/healthz", ""); status != c.health {
			t.Errorf("%s: /healthz gives %d, want %d", c.name, status, c.health)
		}
		if status, _ := ask(t.Context(), c.handler, "GET", "http://localhost/admin/skills", ""); status != c.skills {
			t.Errorf("%s: /admin/skills gives %d, want %d", c.name, status, c.skills)
		}
	}
}

// TestNames: the server answers to its own names only, and not to pages of other
// sites.
func TestNames(t *testing.T) {
	s := newServer(t, server.Config{Hosts: []string{"agent.example.com"}}, nil)
	for _, c := range []struct {
		host   string
		header []string
		status int
		says   string
	}{
		{"localhost:3884", nil, 200, "funnel"},
		{"[::1]:3884", nil, 200, "funnel"},
		{"agent.example.com:3884", nil, 200, "funnel"},
		{"evil.example", nil, 421, "evil.example"},
		{"localhost", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, "other sites"},
	} {
		status, body := ask(t.Context(), s, "POST", "http://"+c.host+"/api/select", `{"text":"x"}`, c.header...)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %q: %d %.200s; want %d and %q", c.host, c.header, status, body, c.status, c.says)
		}
	}
	r, w := httptest.NewRequest(http.MethodGet, "http://localhost/", nil), httptest.NewRecorder()
	r.Host = ""
	if s.ServeHTTP(w, r); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("without a name: %d %s", w.Code, w.Body)
	}
}

// TestPagesOfOtherSites: they can post to a channel that lets them in, and nowhere else.
func TestPagesOfOtherSites(t *testing.T) {
	s := newServer(t, server.Config{Channels: pages(t)}, nil)
	for _, c := range []struct {
		method, path, origin string
		status               int
	}{
		{"POST", "/channels/web", "https://shop.example", 503}, // the channel does not run
		{"POST", "/channels/web", "https://evil.example", 403},
		{"POST", "/channels/web", "null", 403},
		{"POST", "/channels/other", "https://shop.example", 403},
		{"POST", "/channels/web/more", "https://shop.example", 403},
		{"POST", "/channels/../api/chat", "https://shop.example", 403},
		{"POST", "/api/chat", "https://shop.example", 403},
		{"DELETE", "/channels/web", "https://shop.example", 403},
		{"GET", "/channels/web", "https://evil.example", 503},
	} {
		status, body := ask(t.Context(), s, c.method, "http://localhost"+c.path, `{"type":"hello"}`, "Origin", c.origin, "Sec-Fetch-Site", "cross-site")
		if status != c.status {
			t.Errorf("%s %s from %s: %d %.200s; want %d", c.method, c.path, c.origin, status, body, c.status)
		}
	}
}

// TestOrigins: pages of a listed site use the routes of people, with a key, and no others.
func TestOrigins(t *testing.T) {
	const site = "https://app.example.com"
	keys, secrets := keyring(t)
	for _, c := range []struct {
		name, method, path, origin, key, asks string
		keys                                  *identity.Keys
		status                                int
	}{
		{"a person", "POST", "/api/whoami", site, secrets["person"], "", keys, 200},
		{"reads", "GET", "/v1/models", site, secrets["person"], "", keys, 200},
		{"without a key", "POST", "/api/whoami", site, "", "", keys, 401},
		{"reads without a key", "GET", "/api/sessions", site, "", "", keys, 401},
		{"a gateway without keys", "POST", "/api/whoami", site, "", "", nil, 401},
		{"a made-up key there", "POST", "/api/whoami", site, "Bearer x", "", nil, 401},
		{"another site", "POST", "/api/whoami", "https://evil.example", secrets["person"], "", keys, 403},
		{"another site reads", "GET", "/v1/models", "https://evil.example", secrets["person"], "", keys, 403},
		{"another site reads without keys", "GET", "/v1/models", "https://evil.example", "", "", nil, 403},
		{"another site looks", "GET", "/healthz", "https://evil.example", "", "", keys, 200},
		{"a part of the name", "POST", "/api/whoami", site + ".evil.example", secrets["person"], "", keys, 403},
		{"an operator's route", "POST", "/admin/skills/reload", site, secrets["operator"], "", keys, 403},
		{"a browser asks", "OPTIONS", "/v1/chat/completions", site, "", "POST", keys, 204},
		{"another site asks", "OPTIONS", "/v1/chat/completions", "https://evil.example", "", "POST", keys, 405},
	} {
		s := newServer(t, server.Config{Keys: c.keys, Users: twoUsers(t), Origins: []string{site}}, func(e *engine.Config) { e.Users = by(twoUsers(t)) })
		r := httptest.NewRequest(c.method, "http://localhost"+c.path, strings.NewReader("{}"))
		r = r.WithContext(arrived(r.Context(), "127.0.0.1"))
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Authorization", c.key)
		r.Header.Set("Access-Control-Request-Method", c.asks)
		r.Header.Set("Access-Control-Request-Headers", "authorization")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.status)
		}
		if got := w.Header().Get("Access-Control-Allow-Origin"); (got == site) != (c.origin == site) {
			t.Errorf("%s: the answer is for %q", c.name, got)
		}
		if got := w.Header().Get("Access-Control-Allow-Headers"); (got != "") != (c.status == 204) {
			t.Errorf("%s: the headers are %q", c.name, got)
		}
	}
	s := newServer(t, server.Config{Keys: keys, Origins: []string{site}}, nil)
	for _, path := range []string{"/admin/keys", "/api/status", "/nope"} {
		r := httptest.NewRequest(http.MethodOptions, "http://localhost"+path, nil)
		r.Header.Set("Origin", site)
		r.Header.Set("Access-Control-Request-Method", "GET")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Header().Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: a page may send %s", path, w.Header().Get("Access-Control-Allow-Methods"))
		}
	}
}

// pages returns a host whose channel web lets pages of https://shop.example in.
func pages(t *testing.T) *channel.Host {
	hooks, err := web.New(web.Config{Guests: true, Origins: []string{"https://shop.example"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := channel.New(channel.Config{Accounts: []channel.Account{{Name: "web", Channel: hooks}, {Name: "other", Channel: struct{ channel.Channel }{hooks}}}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestRefusalInTheLanguageOfTheClient: an error that names something is told in the client's language.
func TestRefusalInTheLanguageOfTheClient(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for language, want := range map[string]string{"": "the workflows are none", "en": "the workflows are none", "zh-CN,zh;q=0.9": "现有的工作流"} {
		status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"x","workflow":"none"}`, "Accept-Language", language)
		if !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", language, status, body)
		}
	}
}

// TestReasonsInTheLanguageOfTheClient: the sentences of an answer are in the client's language, and nothing else of it is.
func TestReasonsInTheLanguageOfTheClient(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for language, want := range map[string]string{"": `"why":"asked for"`, "zh-CN": `"why":"按要求"`} {
		_, body := ask(t.Context(), s, "POST", "http://localhost/api/select", `{"text":"no such task","mode":"direct"}`, "Accept-Language", language)
		if !strings.Contains(body, `"query":"no such task"`) || !strings.Contains(body, want) {
			t.Errorf("%s: %s", language, body)
		}
	}
	_, body := ask(t.Context(), s, "POST", "http://localhost/api/approvals/x", `{}`, "Accept-Language", "zh")
	if !strings.Contains(body, "消息无效：请说明您的决定") {
		t.Error(body)
	}
}

// TestReadyForAChannel: a balancer finds the one of several etui in which a channel runs.
func TestReadyForAChannel(t *testing.T) {
	e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := web.New(web.Config{Guests: true, Origins: []string{"https://shop.example"}, Records: &store.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := channel.New(channel.Config{Engine: e, Accounts: []channel.Account{{Name: "web", Channel: page}}})
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(e, server.Config{Channels: h})
	ready := func(query string, want int) {
		t.Helper()
		if status, body := ask(t.Context(), s, "GET", "http://localhost/readyz"+query, ""); status != want {
			t.Errorf("%s: %d %s, want %d", query, status, body, want)
		}
	}
	ready("", 200)
	ready("?channel=web", 503)
	ready("?channel=nobody", 503)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ran := make(chan struct{})
	go func() { defer close(ran); h.Run(ctx) }()
	for began := time.Now(); !h.Up("web") && time.Since(began) < 10*time.Second; {
		runtime.Gosched()
	}
	ready("?channel=web", 200)
	ready("?channel=nobody", 503)
	end()
	<-ran
}

func TestLongBodiesAreRefused(t *testing.T) {
	s := newServer(t, server.Config{}, func(c *engine.Config) { c.MaxMessage = 100 })
	status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"`+strings.Repeat("x", 26<<20)+`"}`)
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "longer than") {
		t.Errorf("%d %s", status, body)
	}
}

// brokenStore cannot be read.
type brokenStore struct{ store.Store }

func (brokenStore) List(context.Context, session.Filter) ([]session.Summary, error) {
	return nil, io.ErrUnexpectedEOF
}

func TestNotReady(t *testing.T) {
	s := newServer(t, server.Config{}, func(c *engine.Config) { c.Store = brokenStore{&store.Memory{}} })
	if status, body := ask(t.Context(), s, "GET", "http://localhost/readyz", ""); status != 503 || !strings.Contains(body, "the store cannot be read") {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if status, _ := ask(t.Context(), s, "GET", "http://localhost/healthz", ""); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
}
