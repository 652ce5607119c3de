package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/server"
)

// browser is a page of the console in a browser on the gateway's machine.
type browser struct {
	t      *testing.T
	s      *server.Server
	cookie string
	host   string
}

func (b *browser) ask(method, path, body string) *http.Response {
	r := httptest.NewRequest(method, "http://"+b.host+path, strings.NewReader(body))
	r = r.WithContext(arrived(b.t.Context(), "127.0.0.1"))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	w := httptest.NewRecorder()
	b.s.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		b.cookie = c.Name + "=" + c.Value
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
			b.t.Errorf("the cookie is %s", c)
		}
	}
	return w.Result()
}

// link makes a link as a program on the gateway's machine.
func link(t *testing.T, s *server.Server, role string) string {
	status, body := ask(arrived(t.Context(), "127.0.0.1"), s, "POST", "http://localhost/admin/console", `{"name":"ann","role":"`+role+`"}`)
	var made server.MadeLink
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	_, secret, _ := strings.Cut(made.Path, "#")
	return secret
}

// TestConsole: a page is let in by a link, which is good once, with the rights of its role.
func TestConsole(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for _, test := range []struct {
		role   string
		may    []string
		mayNot []string
	}{
		{"viewer", []string{"GET /admin/sessions", "GET /api/tools", "POST /api/select"}, []string{"POST /api/chat", "POST /admin/skills/reload", "DELETE /api/usage", "POST /admin/keys", "POST /admin/console"}},
		{"operator", []string{"GET /admin/sessions", "POST /api/select"}, []string{"DELETE /api/usage", "POST /admin/keys", "POST /admin/console"}},
		{"owner", []string{"GET /admin/keys", "POST /admin/keys"}, nil},
	} {
		b := &browser{t: t, s: s, host: "localhost"}
		if got := b.ask("GET", "/admin/sessions", "").StatusCode; got != 401 {
			t.Errorf("a page without a sign-in: %d", got)
		}
		secret := link(t, s, test.role)
		if got := b.ask("POST", "/console/session", `{"secret":"`+secret+`"}`).StatusCode; got != 200 {
			t.Fatalf("%s: the link gave %d", test.role, got)
		}
		if got := (&browser{t: t, s: s, host: "localhost"}).ask("POST", "/console/session", `{"secret":"`+secret+`"}`).StatusCode; got != 410 {
			t.Errorf("%s: the link gave %d the second time", test.role, got)
		}
		for _, route := range test.may {
			method, path, _ := strings.Cut(route, " ")
			if got := b.ask(method, path, "{}").StatusCode; got == 401 || got == 403 {
				t.Errorf("%s %s: %d", test.role, route, got)
			}
		}
		for _, route := range test.mayNot {
			method, path, _ := strings.Cut(route, " ")
			if got := b.ask(method, path, "{}").StatusCode; got != 403 {
				t.Errorf("%s %s: %d", test.role, route, got)
			}
		}
		stolen := *b
		if stolen.host = "127.0.0.1"; stolen.ask("GET", "/admin/sessions", "").StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: the session counts at another address", test.role)
		}
		if got := b.ask("GET", "/console/session", "").StatusCode; got != 200 {
			t.Errorf("%s: who is signed in: %d", test.role, got)
		}
		old := b.cookie
		b.ask("DELETE", "/console/session", "")
		if b.cookie = old; b.ask("GET", "/admin/sessions", "").StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: the session counts after signing out", test.role)
		}
	}
}

// TestConsolePage: the page may load nothing from elsewhere, and a view is the page.
func TestConsolePage(t *testing.T) {
	b := &browser{t: t, s: newServer(t, server.Config{}, nil), host: "localhost"}
	for _, path := range []string{"/console", "/console/", "/console/tools", "/console/sessions/agent:main"} {
		got := b.ask("GET", path, "")
		if policy := got.Header.Get("Content-Security-Policy"); got.StatusCode != http.StatusOK || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d, %s", path, got.StatusCode, policy)
		}
	}
	if got := b.ask("GET", "/console/assets/none.js", ""); got.StatusCode != http.StatusNotFound {
		t.Errorf("a file that is not there: %d", got.StatusCode)
	}
}
