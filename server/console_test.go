package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/store/sqlite"
)

// browser is a page of the console in a browser on the gateway's machine.
type browser struct {
	t      *testing.T
	s      *server.Server
	cookie string
	proof  string
	host   string
}

func (b *browser) ask(method, path, body string) *http.Response {
	r := httptest.NewRequest(method, "http://"+b.host+path, strings.NewReader(body))
	r = r.WithContext(arrived(b.t.Context(), "127.0.0.1"))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	if b.proof != "" {
		r.Header.Set(console.ProofHeader, b.proof)
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

// signIn signs the browser in by a link.
func (b *browser) signIn(secret string) {
	b.t.Helper()
	resp := b.ask("POST", "/console/session", `{"secret":"`+secret+`"}`)
	var who console.Person
	if err := json.NewDecoder(resp.Body).Decode(&who); err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("the link gave %d, %v", resp.StatusCode, err)
	}
	if b.proof = who.Proof; resp.Header.Get("Cache-Control") != "no-store" {
		b.t.Error("a browser may keep the proof")
	}
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
		{"viewer", []string{"GET /admin/sessions", "GET /api/tools", "POST /api/select", "GET /admin/turns", "POST /admin/configuration/preview", "POST /admin/ranking/evaluate"}, []string{"POST /api/chat", "POST /admin/ranking/examples", "POST /admin/skills/offer", "POST /admin/skills/reload", "DELETE /api/usage", "POST /admin/keys", "POST /admin/console"}},
		{"operator", []string{"GET /admin/sessions", "POST /api/select"}, []string{"DELETE /api/usage", "POST /admin/keys", "POST /admin/console", "POST /admin/channels/pair", "POST /admin/skills/offer", "POST /admin/skills/install", "POST /mcp"}},
		{"owner", []string{"GET /admin/keys", "POST /admin/keys"}, nil},
	} {
		b := &browser{t: t, s: s, host: "localhost"}
		if got := b.ask("GET", "/admin/sessions", "").StatusCode; got != 401 {
			t.Errorf("a page without a sign-in: %d", got)
		}
		secret := link(t, s, test.role)
		b.signIn(secret)
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
		stolen = *b
		if stolen.proof = ""; stolen.ask("GET", "/admin/sessions", "").StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: the cookie counts alone, which every port of the host gets", test.role)
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

// TestConsoleCompressed: the page's files go out compressed where the browser accepts it, and no answer of the API does.
func TestConsoleCompressed(t *testing.T) {
	s := newServer(t, server.Config{}, nil)
	script := regexp.MustCompile(`assets/index-[^"]+\.js`)
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(arrived(t.Context(), "127.0.0.1"), "GET", "http://localhost"+path, nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	name := "/console/" + script.FindString(get("/console/", "").Body.String())
	plain := get(name, "identity").Body.Bytes()
	for _, c := range []struct{ path, accept, want string }{
		{name, "gzip, br", "gzip"}, {name, "", ""}, {name, "gzip;q=0", ""}, {"/openapi.json", "gzip", ""}, {"/api/tools", "gzip", ""},
	} {
		got := get(c.path, c.accept)
		if got.Code != 200 || got.Header().Get("Content-Encoding") != c.want {
			t.Errorf("%s as %q: %d %v", c.path, c.accept, got.Code, got.Header())
		}
		if c.path != name {
			continue
		}
		text := got.Body.Bytes()
		if got.Header().Get("Vary") != "Accept-Encoding" || got.Header().Get("ETag") != "" {
			t.Errorf("%s as %q: a cache would mix the forms up: %v", c.path, c.accept, got.Header())
		}
		if c.want == "gzip" {
			zipped, err := gzip.NewReader(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(zipped); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(text, plain) || len(plain) < 10_000 {
			t.Errorf("%s as %q: another text", c.path, c.accept)
		}
	}
}

// TestConsoleAudit: each change of somebody who signed in is in the audit with the name, and each that
// the role does not allow.
func TestConsoleAudit(t *testing.T) {
	log := sqlite.NewCalls(filepath.Join(t.TempDir(), "calls.db"), sqlite.Limits{})
	defer log.Close()
	s := newServer(t, server.Config{Skills: admin.Config{Calls: audit.NewRecorder(log, nil, nil)}}, nil)
	b := &browser{t: t, s: s, host: "localhost"}
	b.signIn(link(t, s, "operator"))
	b.ask("DELETE", "/admin/sessions/agent:main", "")
	b.ask("POST", "/api/select", `{"text":"hello"}`)
	b.ask("DELETE", "/admin/users/bob", "")
	_, body := ask(arrived(t.Context(), "127.0.0.1"), s, "GET", "http://localhost/admin/audit", "")
	var got []audit.Decision
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got) != 2 {
		t.Fatal(body, err)
	}
	for i, want := range []audit.Decision{
		{User: "ann", Channel: "console", Tool: "DELETE /admin/users/{user}", Kind: "denied"},
		{User: "ann", Channel: "console", Tool: "DELETE /admin/sessions/{key}", Kind: audit.OK, Allowed: true},
	} {
		if d := got[i]; d.User != want.User || d.Channel != want.Channel || d.Tool != want.Tool || d.Kind != want.Kind || d.Allowed != want.Allowed {
			t.Errorf("audited: %+v, want %+v", d, want)
		}
	}
	if !strings.Contains(got[1].Arguments, "/admin/sessions/agent:main") {
		t.Errorf("the audit does not say which session was deleted: %s", got[1].Arguments)
	}
}

// TestConsoleElsewhere: a link is good on the gateway's machine only, by whatever port the browser
// reaches it.
func TestConsoleElsewhere(t *testing.T) {
	s := newServer(t, server.Config{Hosts: []string{"etui.example"}}, nil)
	secret := link(t, s, "owner")
	if got := (&browser{t: t, s: s, host: "etui.example"}).ask("POST", "/console/session", `{"secret":"`+secret+`"}`).StatusCode; got != 421 {
		t.Errorf("a sign-in at a name of the network: %d", got)
	}
	b := &browser{t: t, s: s, host: "localhost:13884"}
	b.signIn(secret)
	if got := b.ask("GET", "/admin/keys", "").StatusCode; got != 200 {
		t.Errorf("through a port that is forwarded: %d", got)
	}
}

// TestConsoleRevokedKey: who signed in with a key is signed out when it is revoked, wherever that is,
// and so are those whom they let in.
func TestConsoleRevokedKey(t *testing.T) {
	for name, revoke := range map[string]func(*identity.Keys, *browser) error{
		"in the console": func(_ *identity.Keys, b *browser) error {
			if got := b.ask("DELETE", "/admin/keys/laptop", "").StatusCode; got != 200 {
				return fmt.Errorf("revoking gave %d", got)
			}
			return nil
		},
		"elsewhere, and its name is given again": func(keys *identity.Keys, _ *browser) error {
			if err := keys.Revoke("laptop"); err != nil {
				return err
			}
			_, err := keys.Add(identity.Key{Name: "laptop", Operator: true}, time.Now())
			return err
		},
	} {
		keys := &identity.Keys{}
		key, err := keys.Add(identity.Key{Name: "laptop", Operator: true}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(t, server.Config{Keys: keys}, nil)
		secretOf := func(body string) string {
			var made server.MadeLink
			if err := json.Unmarshal([]byte(body), &made); err != nil {
				t.Fatal(body, err)
			}
			_, secret, _ := strings.Cut(made.Path, "#")
			return secret
		}
		_, body := ask(t.Context(), s, "POST", "http://localhost/admin/console", "{}", "Authorization", "Bearer "+key)
		b, friend := &browser{t: t, s: s, host: "localhost"}, &browser{t: t, s: s, host: "localhost"}
		b.signIn(secretOf(body))
		link := func() string {
			made, _ := io.ReadAll(b.ask("POST", "/admin/console", `{"name":"friend"}`).Body) // it is in memory
			return secretOf(string(made))
		}
		friend.signIn(link())
		unused := link()
		if err := revoke(keys, b); err != nil {
			t.Fatal(name, err)
		}
		for who, b := range map[string]*browser{"they": b, "their friend": friend} {
			if got := b.ask("GET", "/admin/sessions", "").StatusCode; got != 401 {
				t.Errorf("%s: %s are in after the key was revoked: %d", name, who, got)
			}
		}
		if got := friend.ask("POST", "/console/session", `{"secret":"`+unused+`"}`).StatusCode; got != 410 {
			t.Errorf("%s: a link signs in after the key was revoked: %d", name, got)
		}
	}
}

// TestSwitchTool: an owner switches a tool off and on in the configuration, nobody else does, and never over
// another person's change. It can be taken back, and the audit has the name.
func TestSwitchTool(t *testing.T) {
	log := sqlite.NewCalls(filepath.Join(t.TempDir(), "calls.db"), sqlite.Limits{})
	defer log.Close()
	text := "first"
	file := &console.File{
		Read:  func(string) ([]byte, error) { return []byte(text), nil },
		Write: func(_ string, to []byte) error { text = string(to); return nil },
		Check: func([]byte) error { return nil },
		Switch: func(old []byte, tool string, on bool) ([]byte, error) {
			if tool == "odd" {
				return nil, errors.New("by hand")
			}
			return fmt.Appendf(old, " %s %t", tool, on), nil
		},
	}
	s := newServer(t, server.Config{File: file, Skills: admin.Config{Calls: audit.NewRecorder(log, nil, nil)}}, nil)
	const off = "/admin/tools/group:mail/disable"
	b := &browser{t: t, s: s, host: "localhost"}
	b.signIn(link(t, s, "owner"))
	base := func() string {
		var now console.Text
		if err := json.NewDecoder(b.ask("GET", "/admin/configuration", "").Body).Decode(&now); err != nil {
			t.Fatal(err)
		}
		return `{"text":"","base":"` + now.Base + `"}`
	}
	only := func(edit string) string { return strings.Replace(edit, `"text":"",`, "", 1) }
	seen := only(base())
	for _, role := range []string{"viewer", "operator"} {
		other := &browser{t: t, s: s, host: "localhost"}
		other.signIn(link(t, s, role))
		if got := other.ask("POST", off, seen).StatusCode; got != http.StatusForbidden || text != "first" {
			t.Errorf("%s: %d, and the file is %q", role, got, text)
		}
	}
	forged := *b
	if forged.proof = ""; forged.ask("POST", off, seen).StatusCode != http.StatusUnauthorized || text != "first" {
		t.Errorf("the cookie alone switched a tool: %q", text)
	}
	for _, c := range []struct {
		what, path, body string
		status           int
		text             string
	}{
		{"off", off, seen, 200, "first group:mail false"},
		{"after another change", off, seen, 409, "first group:mail false"},
		{"without a base", off, "{}", 409, "first group:mail false"},
		{"another change of a tool", "/admin/tools/mail/delete", only(base()), 404, "first group:mail false"},
		{"a list of people", "/admin/tools/odd/enable", "", 400, "first group:mail false"},
		{"on", "/admin/tools/mail/enable", "", 200, "first group:mail false mail true"},
		{"undo", "/admin/configuration/undo", "", 200, "first group:mail false"},
	} {
		if c.body == "" {
			if c.body = base(); c.what != "undo" {
				c.body = only(c.body)
			}
		}
		if got := b.ask("POST", c.path, c.body).StatusCode; got != c.status || text != c.text {
			t.Errorf("%s: %d, and the file is %q; want %d and %q", c.what, got, text, c.status, c.text)
		}
	}
	_, body := ask(arrived(t.Context(), "127.0.0.1"), s, "GET", "http://localhost/admin/audit", "")
	var audited []audit.Decision
	if err := json.Unmarshal([]byte(body), &audited); err != nil {
		t.Fatal(err)
	}
	if first := slices.IndexFunc(audited, func(d audit.Decision) bool { return d.Allowed && strings.Contains(d.Arguments, off) && d.User == "ann" }); first < 0 {
		t.Errorf("the audit does not name who switched the tool off: %s", body)
	}
}
