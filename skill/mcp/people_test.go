package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/skill/mcp/oauth/oauthtest"
	"github.com/etui-run/etui/tool"
)

// tracker is a server that wants logins, with its skill.
type tracker struct {
	*running
	server *oauthtest.Server
	vault  *oauth.Vault
	desk   *oauth.Desk
	config mcp.Config
}

func startTracker(t *testing.T, file skill.Config) *tracker {
	k := &tracker{server: oauthtest.New(), desk: oauth.NewDesk("https://gateway.test", nil)}
	dir := t.TempDir()
	k.vault = oauth.NewVault(oauth.File(filepath.Join(dir, "logins")), filepath.Join(dir, "key"),
		func(string) string { return "" })
	t.Cleanup(k.server.Close)
	file.Endpoint = k.server.URL + "/mcp"
	if file.Auth.Issuer != "" {
		file.Auth.Issuer = k.server.URL
	}
	k.config = mcp.Config{Logins: &mcp.Logins{Vault: k.vault, Desk: k.desk}}
	k.running = start(t, k.config, file)
	return k
}

// login has the operator log in by a command, in another process.
func (k *tracker) login() {
	k.t.Helper()
	config := mcp.Config{HTTP: http.DefaultClient, Logins: &mcp.Logins{Vault: k.vault,
		Redirect: "http://localhost:3000/callback", Begin: agree}}
	loaded, err := mcp.New(config).Load(skill.Config{Name: "srv", Endpoint: k.server.URL + "/mcp"})
	if err != nil {
		k.t.Fatal(err)
	}
	if err := loaded.(*mcp.Server).Login(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

// as calls a tool as a person.
func (k *tracker) as(person, name, args string) chat.Result {
	k.t.Helper()
	result, err := k.tool(name).Call(tool.WithHost(context.Background(), tool.Host{Facts: chat.Facts{User: person}}),
		json.RawMessage(args))
	if err != nil {
		k.t.Fatal(err)
	}
	return result
}

// page has a browser log in with an account, and returns the code that the gateway's page shows.
func (k *tracker) page(link, account string) string {
	k.t.Helper()
	k.server.Account = account
	req, err := http.NewRequest(http.MethodGet, link, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		k.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	k.desk.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/mcp/login?"+back.RawQuery, nil))
	return regexp.MustCompile(`[A-Z2-7]{8}`).FindString(w.Body.String())
}

var anyLink = regexp.MustCompile(`http\S+`)

// TestSharedLogin: a server waits for the operator's login, and then serves everybody with it.
func TestSharedLogin(t *testing.T) {
	t.Parallel()
	k := startTracker(t, skill.Config{})
	st := k.until("waiting for a login", func(st mcp.Status) bool { return st.Login })
	if st.Err != "the server wants a login: etui mcp login srv" || k.server.Count("register") != 0 {
		t.Error(st.Err)
	}
	k.login()
	k.untilTools("mcp__srv__admin", "mcp__srv__whoami")
	for _, person := range []string{"", "alice", "bob"} {
		if got := k.as(person, "mcp__srv__whoami", `{}`); got.Text != "whoami alice" {
			t.Error(got.Text)
		}
	}
	got := k.as("bob", "mcp__srv__admin", `{}`)
	if !got.Failed || !strings.Contains(got.Text, "more rights (admin): etui mcp login srv") {
		t.Error(got.Text)
	}
	k.login()
	if got := k.as("bob", "mcp__srv__admin", `{}`); got.Text != "admin alice" {
		t.Error(got.Text)
	}
	k.stop()
	k.server.Needs = "everything" // also to list the tools
	k.running = start(t, k.config, skill.Config{Endpoint: k.server.URL + "/mcp"})
	k.until("waiting for more rights", func(st mcp.Status) bool {
		return st.Login && strings.Contains(st.Err,
			"(everything)")
	})
	k.login()
	k.untilTools("mcp__srv__admin", "mcp__srv__whoami")
	k.server.Revoke(true)
	if got := k.as("bob", "mcp__srv__whoami", `{}`); !got.Failed || !strings.Contains(got.Text, "etui mcp login srv") {
		t.Error(got.Text)
	}
}

// TestPersonLogin: each person logs in, and calls use the person's own login.
func TestPersonLogin(t *testing.T) {
	t.Parallel()
	k := startTracker(t, skill.Config{Auth: skill.Auth{Login: skill.PersonLogin}})
	k.until("waiting for a login", func(st mcp.Status) bool { return st.Login })
	k.server.Account = "operator"
	k.login()
	k.untilTools("mcp__srv__admin", "mcp__srv__etui_login", "mcp__srv__whoami")
	if _, err := k.call("mcp__srv__whoami", `{}`); err == nil || !strings.Contains(err.Error(), "nobody is named") {
		t.Error("a call of nobody runs:", err)
	}
	var codes []string
	for _, person := range []string{"anna", "ben"} {
		got := k.as(person, "mcp__srv__whoami", `{}`)
		link := anyLink.FindString(got.Text)
		if !got.Failed || link == "" || got.View == nil || !strings.Contains(got.View.Text, link) {
			t.Fatal("no link for the model and the person:", got)
		}
		codes = append(codes, k.page(link, person+"'s account"))
	}
	if got := k.as("ben", "mcp__srv__etui_login", `{"code":"`+codes[0]+`"}`); !got.Failed {
		t.Error("ben logs in with the code of anna")
	}
	for i, person := range []string{"anna", "ben"} {
		if got := k.as(person, "mcp__srv__etui_login", `{"code":"`+codes[i]+`"}`); got.Failed {
			t.Error(got.Text)
		}
	}
	var all sync.WaitGroup
	for range 10 {
		for _, person := range []string{"anna", "ben"} {
			all.Go(func() {
				if got := k.as(person, "mcp__srv__whoami", `{}`); got.Text != "whoami "+person+"'s account" {
					t.Error(person, got.Text)
				}
			})
		}
	}
	all.Wait()
	more := k.as("anna", "mcp__srv__admin", `{}`)
	if link := anyLink.FindString(more.Text); !more.Failed || !strings.Contains(link, "admin") {
		t.Error("no link for more rights:", more.Text)
	}
	if count, err := k.vault.Erase(t.Context(), []string{"anna"}); count["logins"] != 1 || err != nil {
		t.Error(count, err)
	}
	if got := k.as("anna", "mcp__srv__whoami", `{}`); !got.Failed {
		t.Error("anna is erased, and her login works:", got.Text)
	}
	if got := k.as("ben", "mcp__srv__whoami", `{}`); got.Failed {
		t.Error(got.Text)
	}
}

// TestClientLogin: etui logs in as itself.
func TestClientLogin(t *testing.T) {
	t.Parallel()
	k := startTracker(t, skill.Config{Auth: skill.Auth{Login: skill.ClientLogin, ClientID: "etui",
		ClientSecret: "hunter2", Issuer: "itself"}})
	k.server.Client("etui", "hunter2") // unless the first try has come before
	k.untilTools("mcp__srv__admin", "mcp__srv__whoami")
	if got := k.as("anna", "mcp__srv__whoami", `{}`); got.Text != "whoami etui" {
		t.Error(got.Text)
	}
}
