package oauth_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/skill/mcp/oauth/oauthtest"
)

// desk is a gateway where people log in, at a time that the test sets.
type desk struct {
	*oauth.Desk
	t      *testing.T
	server *oauthtest.Server
	client *oauth.Client
	now    time.Time
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, server: start(t), now: time.Unix(1_000_000, 0)}
	d.Desk = oauth.NewDesk("https://gateway.test/", func() time.Time { return d.now })
	d.client = client(t, d.server, func(c *oauth.Config) {
		c.Begin, c.People, c.Redirect = d.Begin, true, d.Redirect()
	})
	return d
}

// link has a person's request answered with a link.
func (d *desk) link(person string) string {
	d.t.Helper()
	_, err := ask(d.t, d.server, d.client, person, "whoami")
	var link *oauth.Link
	if !errors.As(err, &link) {
		d.t.Fatal(err)
	}
	return link.URL
}

// page opens the page of the gateway.
func (d *desk) page(q url.Values) (status int, text string) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/mcp/login?"+q.Encode(), nil))
	return w.Code, w.Body.String()
}

var code = regexp.MustCompile(`[A-Z2-7]{8}`)

func (d *desk) ready(person string) bool {
	mark, err := d.client.Mark(d.t.Context(), person)
	if err != nil {
		d.t.Fatal(err)
	}
	return mark != ""
}

// TestDesk: a login counts when the person of the link has said the page's code.
func TestDesk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	answer := visit(t, d.link("alice"))
	status, text := d.page(answer)
	said := code.FindString(text)
	if status != 200 || said == "" || d.ready("alice") {
		t.Fatal("the page ends the login, or shows no code: ", text)
	}
	if status, text := d.page(answer); status != 404 || code.MatchString(text) {
		t.Error("an answer is good twice: ", text)
	}
	over := httptest.NewRequest(http.MethodGet, "/mcp/login?state=x", nil)
	over.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	w := httptest.NewRecorder()
	if d.ServeHTTP(w, over); !strings.Contains(w.Body.String(), "登录链接已失效") {
		t.Error(w.Body)
	}
	if err := d.Confirm(t.Context(), "tracker", "bob", said); err == nil || d.ready("bob") {
		t.Error("the code of alice logs bob in")
	}
	if err := d.Confirm(t.Context(), "other", "alice", said); err == nil {
		t.Error("the code counts at another server")
	}
	if err := d.Confirm(t.Context(), "tracker", "alice", " "+strings.ToLower(said)+" "); err != nil ||
		!d.ready("alice") || d.ready("bob") || d.ready("") {
		t.Error(err)
	}
	if err := d.Confirm(t.Context(), "tracker", "alice", said); err == nil {
		t.Error("a code is good twice")
	}
	mustAsk(t, d.server, d.client, "alice", "whoami")
}

// TestDeskDocument: authorization servers that support it read what etui is, and register nothing.
func TestDeskDocument(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.server.Metadata = func(m map[string]any) { m["client_id_metadata_document_supported"] = true }
	d.server.Client(d.Document(), "")
	made := client(t, d.server, func(c *oauth.Config) {
		c.Begin, c.Redirect, c.Settings.ClientDocument = d.Begin, d.Redirect(), d.Document()
	})
	_, err := ask(t, d.server, made, "alice", "whoami")
	if link := (*oauth.Link)(nil); !errors.As(err, &link) || !strings.Contains(link.URL,
		url.QueryEscape("https://gateway.test/mcp/client.json")) || d.server.Count("register") != 0 {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/mcp/client.json", nil))
	var is struct {
		ID        string   `json:"client_id"`
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &is); err != nil || is.ID != d.Document() ||
		is.Redirects[0] != d.Redirect() || is.Method != "none" {
		t.Error(w.Body, err)
	}
	for range 3 {
		d.link("bob")
	}
	if n := d.server.Count("register"); n != 1 {
		t.Errorf("etui was registered %d times", n)
	}
}

// TestDeskLate: links and codes are good for ten minutes.
func TestDeskLate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	late := visit(t, d.link("alice"))
	d.now = d.now.Add(oauth.Lasts - time.Second)
	soon := visit(t, d.link("alice"))
	_, text := d.page(soon)
	d.now = d.now.Add(time.Second)
	if status, text := d.page(late); status != 404 || !strings.Contains(text, "ten minutes") {
		t.Error(text)
	}
	d.now = d.now.Add(oauth.Lasts)
	if err := d.Confirm(t.Context(), "tracker", "alice", code.FindString(text)); err == nil || d.ready("alice") {
		t.Error("a code is good for longer than its link")
	}
}

// TestDeskGuesses: few wrong codes end a login.
func TestDeskGuesses(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	_, text := d.page(visit(t, d.link("alice")))
	for range 5 {
		if err := d.Confirm(t.Context(), "tracker", "alice", "AAAAAAAA"); err == nil {
			t.Fatal("a wrong code counts")
		}
	}
	if err := d.Confirm(t.Context(), "tracker", "alice", code.FindString(text)); err == nil {
		t.Error("codes can be guessed for ever")
	}
}

// TestDeskBounds: old links of a person make room, and a person who is erased has none.
func TestDeskBounds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var links []string
	for range 6 {
		links = append(links, d.link("alice"))
		d.now = d.now.Add(time.Second)
	}
	if status, _ := d.page(visit(t, links[0])); status != 404 {
		t.Error("a person has more than five links")
	}
	bob := d.link("bob")
	if n, err := d.Erase(t.Context(), []string{"alice"}); n["logins"] != 5 || err != nil {
		t.Error(n, err)
	}
	for link, want := range map[string]int{links[5]: 404, bob: 200} {
		if status, text := d.page(visit(t, link)); status != want {
			t.Error(status, text)
		}
	}
}
