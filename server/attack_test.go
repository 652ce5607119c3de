package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/server"
)

// forged are headers of requests that pages of other sites have a browser send to a gateway at localhost:3884.
func forged() [][]string {
	return [][]string{
		{"Origin", "http://evil.example"},
		{"Origin", "null"},
		{"Origin", "http://localhost:8000", "Sec-Fetch-Site", "same-site"},
		{"Origin", "http://127.0.0.1:3884"},
		{"Origin", "http://localhost:3884.evil.example"},
		{"Origin", "http://localhost:3884@evil.example"},
		{"Origin", "file://"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:3884"},
		{"Origin", "http://evil.example", "X-HTTP-Method-Override", "GET", "X-Method-Override", "GET"},
		{"Origin", "http://evil.example", "Content-Type", "text/plain"},
		{"Origin", "http://evil.example", "Content-Type", "application/x-www-form-urlencoded"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"},
	}
}

// TestForgedRequests: a page of another site changes nothing and reads nothing, whatever it sends. A browser shows
// it no answer to a request without an Origin, which no frame shows, either; only a link may be one.
func TestForgedRequests(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for _, route := range s.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = ofPath.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "x")
		for _, header := range forged() {
			r := httptest.NewRequest(method, "http://localhost:3884"+path, strings.NewReader("{}"))
			r = r.WithContext(arrived(t.Context(), "127.0.0.1"))
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			changes, asks := method != http.MethodGet, r.Header.Get("Origin")+r.Header.Get("Sec-Fetch-Mode") != ""
			if toChannel := strings.HasPrefix(path, "/channels/"); !toChannel && w.Code != http.StatusForbidden && (changes || asks && route.Access != server.Open) {
				t.Errorf("%s with %v: %d", route.Pattern, header, w.Code)
			}
			if h := w.Header(); h.Get("Access-Control-Allow-Origin") != "" || route.Access != server.Open && (h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff") {
				t.Errorf("%s with %v is answered with %v", route.Pattern, header, h)
			}
		}
	}
}

// TestMethodOverride: no header and no parameter makes a request one of another method.
func TestMethodOverride(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for _, header := range [][]string{{"X-HTTP-Method-Override", "DELETE"}, {"X-HTTP-Method", "DELETE"}, {"X-Method-Override", "DELETE"}} {
		if status, body := ask(t.Context(), s, "GET", "http://localhost/admin/sessions/x", "", header...); status != 404 || strings.Contains(body, "deleted") {
			t.Errorf("%v: %d %s", header, status, body)
		}
	}
	if status, body := ask(t.Context(), s, "POST", "http://localhost/admin/sessions/x?_method=DELETE", "_method=DELETE"); status != 405 {
		t.Errorf("_method: %d %s", status, body)
	}
}

// TestRolesOnEachRoute: a viewer changes nothing by any route, and an operator nothing that is an owner's. A route that
// is new is an owner's until it is named here and in the server.
func TestRolesOnEachRoute(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	reads := []string{
		"POST /api/whoami", "POST /api/select", "POST /api/why", "POST /api/memory", "POST /api/tools/{name}/judge",
		"POST /admin/configuration/check", "POST /admin/configuration/preview", "POST /admin/ranking/evaluate",
		"POST /console/session", "DELETE /console/session", "POST /console/provider",
	}
	owners := []string{
		"PUT /admin/configuration", "POST /admin/configuration/undo", "POST /admin/tools/{name}/{change}", "POST /admin/console", "POST /admin/keys", "DELETE /admin/keys/{name}",
		"DELETE /admin/users/{user}", "DELETE /api/usage", "POST /admin/channels/pair", "DELETE /admin/channels/{name}/people/{user}",
		"POST /mcp", "POST /v1/chat/completions", "POST /v1/messages", "POST /v1/responses", "POST /a2a/{agent}", "POST /agui/{agent}",
	}
	for _, role := range []console.Role{console.Viewer, console.Operator} {
		b := &browser{t: t, s: s, host: "localhost"}
		b.signIn(link(t, s, string(role)))
		for _, route := range s.Routes() {
			method, path, _ := strings.Cut(route.Pattern, " ")
			if method == http.MethodGet || slices.Contains(reads, route.Pattern) || strings.HasPrefix(path, "/channels/") {
				continue
			}
			path = ofPath.ReplaceAllString(path, "x")
			got := b.ask(method, path, `{"nope":1}`).StatusCode
			if (role == console.Viewer || slices.Contains(owners, route.Pattern)) && got != http.StatusForbidden {
				t.Errorf("%s %s: %d", role, route.Pattern, got)
			}
		}
		for _, method := range []string{"HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PROPFIND"} {
			if got := b.ask(method, "/admin/keys", "").StatusCode; got < 400 && method != "HEAD" {
				t.Errorf("%s %s /admin/keys: %d", role, method, got)
			}
		}
		for _, path := range []string{"//admin/keys", "/console/../admin/keys", "/admin/./keys", "/admin%2Fkeys", "/ADMIN/keys", "/admin/keys/"} {
			if got := b.ask("POST", path, `{"name":"x"}`).StatusCode; got < 300 || got == http.StatusPermanentRedirect && !strings.Contains(path, "/") {
				t.Errorf("%s POST %s: %d", role, path, got)
			}
		}
	}
}

// TestStoredScript: what strangers write reaches no page as markup: no answer that a browser shows as HTML holds it,
// and JSON holds no tag. Nothing of it fails the server.
func TestStoredScript(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	const script = "<script>alert(1)</script>"
	for _, route := range s.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = ofPath.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "%3Cscript%3Ealert(1)%3C%2Fscript%3E")
		for _, query := range []string{"", "?error=" + script + "&state=" + script + "&error_description=" + script, "?" + script + "=1"} {
			for _, body := range []string{"", `{"` + script + `":"` + script + `"}`, `{"text":"` + script + `","user":"` + script + `","session":"` + script + `","name":"` + script + `"}`} {
				url := "http://localhost" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(path+query)
				status, answer := ask(t.Context(), s, method, url, body, "Accept", "text/html")
				if strings.Contains(answer, "<script>alert") || status == http.StatusInternalServerError {
					t.Errorf("%s%s %s: %d %s", route.Pattern, query, body, status, answer)
				}
			}
		}
	}
}

// TestConsoleNames: nobody signs in under a name that reads like another one.
func TestConsoleNames(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	for name, want := range map[string]int{
		"ann": 200, "王芳": 200, "Ann Lee": 200, "": 200,
		"ann\u202e": 400, "a\u200bnn": 400, "ann\u001b[31m": 400, "ann\nbob": 400, "ann\u0000": 400, strings.Repeat("n", 201): 400,
	} {
		in, _ := json.Marshal(server.ConsoleLink{Name: name}) // texts always marshal
		if status, body := ask(t.Context(), s, "POST", "http://localhost/admin/console", string(in)); status != want {
			t.Errorf("%q: %d %s", name, status, body)
		}
	}
}
