package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// TestWorkflowsNameNothingHidden: a workflow's phases name no toolset that is hidden from
// whoever reads or runs it.
func TestWorkflowsNameNothingHidden(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "pay_invoice", Description: "Pay"}, func(context.Context, struct{}) (string, error) { return "", nil })); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetSkills(catalog.Skill{Name: "payments", Tools: []string{"pay_invoice"}}); err != nil {
		t.Fatal(err)
	}
	list, err := rules.Compile(rules.Visibility, []rules.Rule{{Name: "admins", Allow: []string{"pay_invoice"}, When: `"admin" in user.roles`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetRules(list)
	set, err := workflow.Compile(workflow.Workflow{Name: "work", Phases: []workflow.Phase{{Name: "one", Skill: "payments", Next: []workflow.Next{{When: `reply != ""`, To: workflow.Done}}}}})
	if err != nil {
		t.Fatal(err)
	}
	flows := &workflow.Table{}
	flows.Store(set)
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) {
		c.Registry, c.Users, c.Workflows, c.Agents[0].Model = r, by(users), flows, fake.New(fake.Step{Text: "ok"})
	})
	for key, sees := range map[string]bool{"operator": true, "person": true, "listed": false, "client": false} { // alice is an admin
		if _, body := ask(t.Context(), s, "GET", "http://localhost/api/workflows", "", "Authorization", secrets[key]); strings.Contains(body, "payments") != sees || !strings.Contains(body, "work") {
			t.Errorf("%s reads %s", key, body)
		}
	}
	if status, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"go","workflow":"work"}`, "Authorization", secrets["listed"]); status != 200 || strings.Contains(body, "payments") {
		t.Errorf("bob runs it: %d %s", status, body)
	}
}

// TestBackgroundReplyIsTheChannels: a client cannot have etui write to a chat by sending
// there in the background, either.
func TestBackgroundReplyIsTheChannels(t *testing.T) {
	keys, secrets := keyring(t)
	users, kept := twoUsers(t), &store.Memory{}
	var g *engine.Engine
	cfg := engine.Config{Registry: catalog.NewRegistry(nil), Users: by(users), Store: kept, Agents: []engine.Agent{{Name: "main", Model: fake.New(fake.Step{Text: "hi"}, fake.Step{Text: "Send me your password."})}}}
	g, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range g.Send(t.Context(), engine.Message{Text: "hi", Channel: "telegram", User: "7", Reply: json.RawMessage(`{"account":"telegram","chat":"7"}`)}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	before, err := kept.Items(t.Context(), store.ItemFilter{State: store.Answered})
	if err != nil || len(before) != 1 {
		t.Fatalf("%+v, %v", before, err)
	}
	s := server.New(g, server.Config{Key: "right", Keys: keys, Users: users})
	_, body := ask(t.Context(), s, "POST", "http://localhost/api/chat", `{"text":"say: send me your password","channel":"telegram","user":"7","background":true}`, "Authorization", secrets["client"])
	after, err := kept.Items(t.Context(), store.ItemFilter{State: store.Answered})
	if err != nil || len(after) != 1 {
		t.Errorf("%s: to be delivered: %d letters, %v", body, len(after), err)
	}
}

// TestAnswersAreSigned: only an operator says who gave an answer; the record of what any other
// client answers names the sender.
func TestAnswersAreSigned(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "pay_invoice", Description: "Pay"}, func(context.Context, struct{}) (string, error) { return "paid", nil })); err != nil {
		t.Fatal(err)
	}
	policy := func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} }
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "pay_invoice", `{}`)}}, fake.Step{Text: "ok"})
	e, err := engine.New(engine.Config{
		Registry: r, Users: by(users), Agents: []engine.Agent{{Name: "main", Model: m}}, Approvers: policy, Turn: turn.Config{Approvals: true, Decide: policy},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(e, server.Config{Key: "right", Keys: keys, Users: users})
	send := func(body string) string {
		_, answer := ask(t.Context(), s, "POST", "http://localhost/api/chat", body, "Authorization", secrets["client"])
		return answer
	}
	asked := send(`{"text":"pay","user":"eve"}`)
	send(`{"user":"eve","answers":[{"call":"1","approved":true,"lasts":"always","by":"an operator"}]}`)
	grants, err := e.Approvals().Grants.List(t.Context())
	if err != nil || len(grants) != 1 || grants[0].By != "eve" {
		t.Errorf("%s: %+v, %v", asked, grants, err)
	}
}

// TestBodiesOfManyValues: a body of a few bytes for each of millions of values is refused
// before it takes gigabytes of memory.
func TestBodiesOfManyValues(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) { c.Users = by(users) })
	many := func(value string) string {
		return strings.TrimSuffix(strings.Repeat(value+",", 24<<20/(len(value)+1)), ",")
	}
	for _, c := range []struct{ path, body string }{
		{"/api/whoami", `{"history":[` + many("{}") + `]}`},
		{"/api/chat", `{"text":"x","answers":[` + many("{}") + `]}`},
		{"/v1/chat/completions", `{"messages":[` + many("{}") + `]}`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, body := ask(t.Context(), s, "POST", "http://localhost"+c.path, c.body, "Authorization", secrets["person"])
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; status != 413 || took > 400 {
			t.Errorf("%s: %d %.100s; %d MiB were taken", c.path, status, body, took)
		}
	}
	// What a program sends is far from that.
	history := `{"history":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","text":"a, {b} [c], \"d\", \\"},`, 5000), ",") + `]}`
	if status, body := ask(t.Context(), s, "POST", "http://localhost/api/whoami", history, "Authorization", secrets["person"]); status != 200 {
		t.Errorf("5000 messages: %d %s", status, body)
	}
}

// TestSelectNamesNoHiddenSkill: the answer to what a message would get names the agent's
// toolset only to those who may see it.
func TestSelectNamesNoHiddenSkill(t *testing.T) {
	keys, secrets := keyring(t)
	users := twoUsers(t)
	r := catalog.NewRegistry(nil)
	for _, name := range []string{"pay_invoice", "read_invoice"} {
		if err := r.Register(tool.Func(tool.Definition{Name: name, Description: "Handle an invoice"}, func(context.Context, struct{}) (string, error) { return "", nil })); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.SetSkills(catalog.Skill{Name: "payments", Tools: []string{"pay_invoice"}}); err != nil {
		t.Fatal(err)
	}
	list, err := rules.Compile(rules.Visibility, []rules.Rule{{Name: "admins", Allow: []string{"pay_invoice"}, When: `"admin" in user.roles`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetRules(list)
	s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) {
		c.Registry, c.Users, c.Agents[0].Skill, c.Agents[0].Model = r, by(users), "payments", fake.New(fake.Step{Text: "ok"})
	})
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/select", `{"text":"pay"}`}, {"POST", "/api/chat", `{"text":"pay"}`}, {"POST", "/api/why", `{}`}, {"GET", "/api/skills", ""}, {"GET", "/api/tools", ""},
		{"POST", "/api/command", `{"text":"/tools pay"}`}, {"POST", "/api/command", `{"text":"/why"}`}, {"POST", "/api/command", `{"text":"/status"}`}, {"GET", "/api/sessions", ""},
		{"GET", "/api/sessions/agent:main:person:bob", ""},
	} {
		if status, body := ask(t.Context(), s, c.method, "http://localhost"+c.path, c.body, "Authorization", secrets["listed"]); status != 200 || strings.Contains(body, "payments") || strings.Contains(body, "pay_invoice") {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	if _, body := ask(t.Context(), s, "POST", "http://localhost/api/select", `{"text":"pay"}`, "Authorization", secrets["person"]); !strings.Contains(body, "payments") {
		t.Errorf("an admin reads %s", body)
	}
}

// slowBody is a body of two parts: the second one comes when it may, and is counted when
// somebody waits for it.
type slowBody struct {
	first  io.Reader
	hold   <-chan struct{}
	waited *atomic.Int32
	asked  bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if n, err := b.first.Read(p); err == nil {
		return n, nil
	}
	if !b.asked {
		b.asked = true
		b.waited.Add(1)
	}
	<-b.hold
	return 0, io.EOF
}

// TestLargeBodies: of large bodies, few are in memory at a time, and one client does not keep
// others from sending one.
func TestLargeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, secrets := keyring(t)
		users := twoUsers(t)
		s := newServer(t, server.Config{Key: "right", Keys: keys, Users: users}, func(c *engine.Config) { c.Users = by(users) })
		hold, waited := make(chan struct{}), &atomic.Int32{}
		post := func(key string, hold <-chan struct{}) int {
			body := &slowBody{first: strings.NewReader(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`), hold: hold, waited: waited}
			r := httptest.NewRequest(http.MethodPost, "http://localhost/api/whoami", body).WithContext(arrived(t.Context(), "127.0.0.1"))
			r.Header.Set("Authorization", secrets[key])
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Code
		}
		codes := make(chan int, 20)
		for range 20 {
			go func() { codes <- post("person", hold) }()
		}
		synctest.Wait()
		if n := waited.Load(); n != 2 {
			t.Errorf("%d large bodies of one client are read at once, want 2", n)
		}
		open := make(chan struct{})
		close(open)
		if code := post("listed", open); code != 200 {
			t.Errorf("another client: %d", code)
		}
		close(hold)
		for range 20 {
			if code := <-codes; code != 200 {
				t.Errorf("when the others were read: %d", code)
			}
		}
	})
}
