package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// keyring returns keys of every kind, and what clients present for each.
func keyring(t *testing.T) (*identity.Keys, map[string]string) {
	t.Helper()
	keys, secrets := &identity.Keys{}, map[string]string{}
	for _, k := range []identity.Key{
		{Name: "person", User: "alice"},
		{Name: "listed"}, // bob has the identity key:listed
		{Name: "client", ForOthers: true},
		{Name: "assistant", User: "alice", ForOthers: true},
		{Name: "operator", Operator: true},
		{Name: "gone", User: "carol"},    // who is no user
		{Name: "nobody"},                 // nobody's, and without a power
		{Name: "stolen", User: "alice"},  // bob claims it, too
		{Name: "revoked", User: "alice"}, // below
	} {
		secret, err := keys.Add(k, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		secrets[k.Name] = "Bearer " + secret
	}
	if err := keys.Revoke("revoked"); err != nil {
		t.Fatal(err)
	}
	return keys, secrets
}

func twoUsers(t *testing.T) func() *identity.Users {
	t.Helper()
	u, err := identity.New([]identity.User{
		{Name: "alice", Roles: []string{"admin"}, Identities: []string{"telegram:42"}}, {Name: "bob", Identities: []string{"key:listed", "key:stolen"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() *identity.Users { return u }
}

// by makes of a server's users those of an engine.
func by(users func() *identity.Users) func(*catalog.Catalog) *identity.Users {
	return func(*catalog.Catalog) *identity.Users { return users() }
}

// TestAccess walks every route with every kind of client from every place: nothing but
// what the table says is let in, and no refusal says what was wrong with a key.
func TestAccess(t *testing.T) {
	keys, secrets := keyring(t)
	secrets["api.key"] = "Bearer right"
	secrets["no"], secrets["a wrong"], secrets["half a"], secrets["a bare"] = "", "Bearer wrong", secrets["person"][:20], strings.TrimPrefix(secrets["person"], "Bearer ")
	users := twoUsers(t)
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) { c.Users = by(users) })
	// The kinds of access that each client has. Operators are on this machine.
	has := map[string][]server.Access{
		"api.key": {server.Operator, server.Client, server.Person}, "operator": {server.Operator, server.Client, server.Person},
		"client": {server.Client, server.Person}, "assistant": {server.Client, server.Person}, "person": {server.Person}, "listed": {server.Person},
		"no": nil, "a wrong": nil, "half a": nil, "a bare": nil, "gone": nil, "nobody": nil, "stolen": nil, "revoked": nil,
	}
	if len(has) != len(secrets) {
		t.Fatalf("%d kinds of clients, %d secrets", len(has), len(secrets))
	}
	unknown := map[string]string{}
	for _, r := range append(s.Routes(), server.Route{Pattern: "GET /nope", Access: server.Person}, server.Route{Pattern: "POST /admin/nope", Access: server.Person}) {
		method, path, _ := strings.Cut(r.Pattern, " ")
		url := "http://localhost" + strings.NewReplacer("{name}", "main", "{change}", "enable", "{$}", "").Replace(path)
		for client := range has {
			for _, from := range []string{"here", "another machine", "a proxy"} {
				ctx, header := t.Context(), []string{"Authorization", secrets[client]}
				switch from {
				case "another machine":
					ctx = arrived(ctx, "192.0.2.1")
				case "a proxy":
					header = append(header, "X-Forwarded-For", "192.0.2.1")
				}
				status, body := ask(ctx, s, method, url, "{}", header...)
				allowed := r.Access == server.Open
				for _, a := range has[client] {
					allowed = allowed || a == r.Access
				}
				if r.Access == server.Operator && from != "here" {
					allowed = false
				}
				refused := status == 401 || status == 403
				if refused == allowed {
					t.Errorf("%s with %s key from %s: %d %s, allowed is %v", r.Pattern, client, from, status, body, allowed)
				}
				if len(has[client]) == 0 && r.Access != server.Open {
					if status != 401 {
						t.Errorf("%s with %s key from %s: %d", r.Pattern, client, from, status)
					}
					form := "" // Anthropic's and MCP's are others
					if strings.HasPrefix(path, "/v1/messages") || strings.HasPrefix(path, "/mcp") {
						form = path[:4]
					}
					if unknown[form] == "" {
						unknown[form] = body
					}
					if body != unknown[form] {
						t.Errorf("%s with %s key says %s, others %s", r.Pattern, client, body, unknown[form])
					}
				}
				named := path == "/admin/keys" || path == "/metrics" // they have names that look like one
				if !named && (strings.Contains(body, "right") || strings.Contains(body, "etui_")) {
					t.Errorf("%s: the answer contains a key: %s", r.Pattern, body)
				}
			}
		}
	}
}

// TestAccessOf agrees with the table.
// TestLastKeyIsRevoked: revoking the last key does not open the gateway again to those who
// are not on its machine.
func TestLastKeyIsRevoked(t *testing.T) {
	keys := &identity.Keys{}
	s := newServer(t, server.Config{Keys: keys}, nil)
	proxied := func() int {
		status, _ := ask(t.Context(), s, "POST", "http://localhost/api/whoami", "{}", "X-Forwarded-For", "192.0.2.1")
		return status
	}
	if got := proxied(); got != http.StatusOK {
		t.Errorf("without keys: %d, want 200", got)
	}
	_, err := keys.Add(identity.Key{Name: "laptop", ForOthers: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got := proxied(); got != http.StatusUnauthorized {
		t.Errorf("with a key, which was not sent: %d, want 401", got)
	}
	if err := keys.Revoke("laptop"); err != nil {
		t.Fatal(err)
	}
	if got := proxied(); got != http.StatusUnauthorized {
		t.Errorf("after the last key was revoked: %d, want 401", got)
	}
}

func TestAccessOf(t *testing.T) {
	for path, want := range map[string]server.Access{
		"GET /healthz": server.Open, "POST /api/chat": server.Person, "GET /api/agents": server.Client, "PUT /api/agents/main": server.Operator,
		"DELETE /api/usage?everybody=true": server.Operator, "GET /nope": server.Operator,
	} {
		method, url, _ := strings.Cut(path, " ")
		if got := server.AccessOf(httptest.NewRequest(method, "http://localhost"+url, nil)); got != want {
			t.Errorf("%s is for %s, want %s", path, got, want)
		}
	}
}

// TestSpeakingForOthers: only a key that says so may say whom a message is from, in the
// body and in headers; a person's messages are from that person.
func TestSpeakingForOthers(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) { c.Users = by(users) })
	secrets["api.key"] = "Bearer right"
	for _, c := range []struct {
		key, body string
		header    []string
		status    int
		says      string
	}{
		{"person", `{}`, nil, 200, `"kind":"person","user":"alice"`},
		{"person", `{"channel":"cli"}`, nil, 200, `"channel":"api"`},
		{"person", `{"session":"s"}`, nil, 200, `"session":"agent:main:session:s:person:alice"`},
		{"listed", `{}`, nil, 200, `"kind":"person","user":"bob"`},
		{"person", `{"user":"bob"}`, nil, 403, "leave user out"},
		{"person", `{"user":"alice"}`, nil, 403, "leave user out"},
		{"person", `{"as":"bob"}`, nil, 403, "leave as out"},
		{"person", `{"roles":["root"]}`, nil, 403, "leave roles out"},
		{"person", `{"attrs":{"plan":"vip"}}`, nil, 403, "leave attrs out"},
		{"person", `{"chat":"vip"}`, nil, 403, "leave chat out"},
		{"person", `{"account":"bot"}`, nil, 403, "leave account out"},
		{"person", `{"channel":"telegram"}`, nil, 403, "leave channel out"},
		{"person", `{"platform_roles":["owner"]}`, nil, 403, "roles of a platform"},
		{"person", `{}`, []string{"X-Etui-User", "bob"}, 403, "leave user out"},
		{"person", `{}`, []string{"x-etui-roles", "root"}, 403, "leave roles out"},
		{"person", `{}`, []string{"X-Etui-Channel", "telegram"}, 403, "leave channel out"},
		{"person", `{}`, []string{"X-Etui-Rolse", "root"}, 400, `did you mean \"X-Etui-Roles\"?`},
		{"operator", `{"user":"bob"}`, nil, 403, "leave user out"},
		{"assistant", `{}`, nil, 200, `"user":"alice"`},
		{"assistant", `{"user":"zoe"}`, nil, 200, `"user":"zoe"`},
		{"assistant", `{"channel":"telegram"}`, nil, 200, `"kind":"guest"`},
		{"client", `{}`, nil, 200, `"kind":"guest"`},
		{"client", `{"user":"42","channel":"telegram"}`, nil, 200, `"user":"alice"`},
		{"client", `{"as":"telegram:42","roles":["x"]}`, nil, 200, `"roles":["admin","x"]`},
		{"client", `{}`, []string{"X-Etui-User", "42", "X-Etui-Channel", "telegram"}, 200, `"user":"alice"`},
		{"client", `{"platform_roles":["owner"]}`, nil, 403, "roles of a platform"},
		{"client", `{"channel":"cli"}`, nil, 200, `"channel":"api"`},
		{"client", `{"channel":"cli"}`, nil, 200, `"session":"agent:main:guest:api:`},
		{"client", `{}`, []string{"X-Etui-Channel", "cli"}, 200, `"channel":"api"`},
		{"assistant", `{"channel":"cli","session":"main"}`, nil, 200, `"session":"agent:main:session:main:person:alice"`},
		{"client", `{"as":"cli:alice"}`, nil, 403, "the terminal of operators"},
		{"client", `{"as":"cli:alice","session":"s"}`, nil, 403, "the terminal of operators"},
		{"api.key", `{"as":"cli:alice"}`, nil, 200, `"channel":"cli"`},
		{"api.key", `{"channel":"cli"}`, nil, 200, `"channel":"cli"`},
		{"api.key", `{"user":"zoe","platform_roles":["owner"]}`, nil, 200, `"kind":"peer"`},
	} {
		status, body := ask(t.Context(), s, "POST", "http://localhost/api/whoami", c.body, append(c.header, "Authorization", secrets[c.key])...)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %q: %d %s, want %d %s", c.key, c.body, c.header, status, body, c.status, c.says)
		}
	}
	for body, want := range map[string]int{
		`{"model":"main","messages":[{"role":"user","content":"hi"}],"user":"openai-id"}`: 200,
		`{"messages":[{"role":"user","content":"hi"}]}`:                                   200,
	} {
		if status, said := ask(t.Context(), s, "POST", "http://localhost/v1/chat/completions", body, "Authorization", secrets["person"]); status == 403 {
			t.Errorf("%s: %d %s, want %d", body, status, said, want)
		}
	}
	if status, said := ask(t.Context(), s, "POST", "http://localhost/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`, "Authorization", secrets["person"], "X-Etui-User", "bob"); status != 403 {
		t.Errorf("a person speaks for bob: %d %s", status, said)
	}
}

// TestRepeatedByAnother: an Idempotency-Key is that of an API key, and of a user and a
// conversation. The same text with another one of these is a new message.
func TestRepeatedByAnother(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	var steps []fake.Step
	for i := range 9 {
		steps = append(steps, fake.Step{Text: fmt.Sprintf("reply %d.", i)})
	}
	s := newServer(t, server.Config{Keys: keys, Users: users}, func(c *engine.Config) {
		c.Users, c.Agents[0].Model = by(users), fake.New(steps...)
	})
	for i, c := range []struct{ key, body string }{
		{"person", `{"text":"hi"}`},
		{"client", `{"text":"hi","user":"alice"}`},
		{"assistant", `{"text":"hi","user":"alice"}`},
		{"client", `{"text":"hi"}`}, // a guest
		{"assistant", `{"text":"hi","channel":"telegram"}`},
		{"client", `{"text":"hi","channel":"telegram"}`},
		{"client", `{"text":"hi","session":"a"}`},
		{"client", `{"text":"hi","session":"b"}`},
		{"client", `{"text":"hi","channel":"telegram","chat":"c"}`},
	} {
		for range 2 {
			if status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", c.body, "Authorization", secrets[c.key], "Idempotency-Key", "1"); status != 200 || !strings.Contains(body, fmt.Sprintf("reply %d.", i)) {
				t.Errorf("%s %s: %d %s, want reply %d", c.key, c.body, status, body, i)
			}
		}
	}
}

// TestLoopbackWithoutKey: without api.key, programs on this machine are operators, and
// others need a key as soon as there is one. A wrong key is refused everywhere.
func TestLoopbackWithoutKey(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	with := newServer(t, server.Config{Keys: keys, Users: users}, nil)
	without := newServer(t, server.Config{}, nil)
	for _, c := range []struct {
		name   string
		s      *server.Server
		from   string
		header []string
		status int
	}{
		{"none", without, "127.0.0.1", nil, 200},
		{"any", without, "127.0.0.1", []string{"Authorization", "Bearer dummy"}, 200},
		{"none", with, "127.0.0.1", nil, 200},
		{"a person's", with, "127.0.0.1", []string{"Authorization", secrets["person"]}, 403},
		{"an operator's", with, "127.0.0.1", []string{"Authorization", secrets["operator"]}, 200},
		{"a revoked", with, "127.0.0.1", []string{"Authorization", secrets["revoked"]}, 401},
		{"any", with, "127.0.0.1", []string{"Authorization", "Bearer dummy"}, 401},
		{"none", with, "192.0.2.1", nil, 401},
		{"none", with, "127.0.0.1", []string{"X-Forwarded-For", "192.0.2.1"}, 401},
	} {
		if status, body := ask(arrived(t.Context(), c.from), c.s, "GET", "http://localhost/api/agents", "", c.header...); status != c.status {
			t.Errorf("%s key from %s %q: %d %s, want %d", c.name, c.from, c.header, status, body, c.status)
		}
	}
}

// TestOnlyOperatorsReadOfHidden: the other clients learn neither names nor counts of what
// is hidden from the sender, nor any rule, on any route. What is hidden reads like what
// does not exist.
func TestOnlyOperatorsReadOfHidden(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	r := catalog.NewRegistry(nil)
	for _, name := range []string{"pay_invoice", "read_invoice"} {
		if err := r.Register(tool.Func(tool.Definition{Name: name, Description: "Handle an invoice"}, func(context.Context, struct{}) (string, error) { return "", nil })); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.SetSkills(catalog.Skill{Name: "invoices", Tools: []string{"pay_invoice", "read_invoice"}}, catalog.Skill{Name: "payments", Tools: []string{"pay_invoice"}}); err != nil {
		t.Fatal(err)
	}
	list, err := rules.Compile(rules.Visibility, []rules.Rule{{Name: "bookkeepers", Allow: []string{"pay_invoice"}, When: `"books" in user.roles`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetRules(list)
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) {
		c.Registry, c.Users = r, by(users)
		c.Agents[0].Skill = "payments"
	})
	send := func(client, request, body string, header ...string) string {
		method, path, _ := strings.Cut(request, " ")
		_, answer := ask(t.Context(), s, method, "http://localhost"+path, body, append(header, "Authorization", secrets[client])...)
		return answer
	}
	requests := []struct{ request, body, operator, sender string }{
		{"POST /api/select", `{"text":"pay the invoice","skill":"full","alternatives":true,"try":{"channels":["web"]}}`, "pay_invoice", "read_invoice"},
		{"GET /api/tools", "", "pay_invoice", "read_invoice"},
		{"GET /api/skills", "", "payments", "read_invoice"},
		{"GET /api/agents", "", "payments", "main"},
		{"GET /api/status", "", "bookkeepers", "main"},
		{"POST /api/tools/pay_invoice/judge", `{"skill":"full"}`, "bookkeepers", "unknown"},
	}
	for _, c := range requests {
		if all := send("operator", c.request, c.body); !strings.Contains(all, c.operator) {
			t.Errorf("%s: an operator does not read %s: %s", c.request, c.operator, all)
		}
		for _, client := range []string{"person", "client", "assistant"} {
			answer := send(client, c.request, c.body)
			for _, hidden := range []string{"pay_invoice", "payments", "bookkeepers", `"stage":"catalog"`} {
				if strings.Contains(answer, hidden) && !strings.HasSuffix(c.request, "judge") {
					t.Errorf("%s: a %s key reads %s: %s", c.request, client, hidden, answer)
				}
			}
			refused := client == "person" && strings.Contains(answer, `"forbidden"`)
			if !refused && !strings.Contains(answer, c.sender) {
				t.Errorf("%s: a %s key does not read %s: %s", c.request, client, c.sender, answer)
			}
		}
	}
	hidden := send("client", "POST /api/tools/pay_invoice/judge", `{"skill":"full"}`)
	unknown := send("client", "POST /api/tools/pxy_invoice/judge", `{"skill":"full"}`)
	if strings.Replace(unknown, "pxy", "pay", 1) != hidden {
		t.Errorf("a hidden tool reads %s, an unknown one %s", hidden, unknown)
	}
	if got := send("client", "GET /api/tools", "", "X-Etui-User", "ann", "X-Etui-Roles", "books"); !strings.Contains(got, "pay_invoice") {
		t.Errorf("a client that speaks for a bookkeeper reads %s", got)
	}
}

// TestReplyIsTheChannels: only the channels of the program say where a reply is delivered. A
// client over HTTP cannot have etui write to a chat.
func TestReplyIsTheChannels(t *testing.T) {
	keys, secrets := keyring(t)
	users, kept := twoUsers(t), &store.Memory{}
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) {
		c.Users, c.Store, c.Agents[0].Model = by(users), kept, fake.New(fake.Step{Text: "hi"}, fake.Step{Text: "hi"})
	})
	secrets["api.key"] = "Bearer right"
	for _, key := range []string{"person", "api.key"} {
		status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"hi","reply":{"account":"telegram","chat":"42"}}`, "Authorization", secrets[key])
		if status != 400 || !strings.Contains(body, "reply") {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
	letters, err := kept.Items(t.Context(), store.ItemFilter{State: store.Answered})
	if err != nil || len(letters) > 0 {
		t.Errorf("to be delivered: %+v, %v", letters, err)
	}
}
