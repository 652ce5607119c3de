package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/usage"
)

func Example() {
	e, err := engine.New(engine.Config{
		Registry: catalog.NewRegistry(nil),
		Agents:   []engine.Agent{{Name: "main", Model: fake.New(fake.Step{Text: "Hello, Ann."})}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	api.New(e, api.Config{}).Chat(w, httptest.NewRequest(http.MethodPost, "/api/chat", strings.NewReader(`{"text":"Hello!","user":"ann"}`)))
	for line := range strings.Lines(w.Body.String()) {
		var event api.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			fmt.Println(err)
		}
		if event.Text != "" {
			fmt.Println(event.Text)
		}
	}
	// Output: Hello, Ann.
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// newAPI returns the API of an engine with three tools, one of which only
// administrators may use, and a toolset.
func newAPI(t *testing.T, change func(*engine.Config), steps ...fake.Step) *api.API {
	t.Helper()
	type word struct {
		Word string `json:"word"`
	}
	r := catalog.NewRegistry(nil)
	must(t, r.Register(
		tool.Func(tool.Definition{Name: "echo", Description: "Say a word again", Groups: []string{"talk"}, Risk: tool.Read}, func(_ context.Context, w word) (string, error) { return w.Word, nil }),
		tool.Func(tool.Definition{Name: "get_weather", Description: "Tell the weather", Groups: []string{"world"}}, func(context.Context, struct{}) (string, error) { return "sunny", nil }),
	))
	must(t, r.RegisterWithFilter(tool.Func(tool.Definition{Name: "admin_only", Description: "Restart everything"}, func(context.Context, struct{}) (string, error) { return "done", nil }),
		func(f chat.Facts) bool { return f.HasRole("admin") }))
	_, err := r.SetSkills(catalog.Skill{Name: "talking", Description: "Only talk", Tools: []string{"echo"}})
	must(t, err)
	m := fake.New(steps...)
	cfg := engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}, {Name: "other", Model: m, Groups: "world"}}}
	if change != nil {
		change(&cfg)
	}
	e, err := engine.New(cfg)
	must(t, err)
	return api.New(e, api.Config{Version: "test"})
}

// ask calls a handler for a name, and returns the status and the body of the
// answer.
func ask(h http.HandlerFunc, query, name, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/?"+query, strings.NewReader(body))
	r.SetPathValue("name", name)
	w := httptest.NewRecorder()
	h(w, r)
	return w.Code, w.Body.String()
}

// get calls a handler that must succeed, and decodes its answer.
func get[T any](t *testing.T, h http.HandlerFunc, query, name, body string) (into T) {
	t.Helper()
	status, answer := ask(h, query, name, body)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	must(t, json.Unmarshal([]byte(answer), &into))
	return into
}

func TestChatWritesALineForEachEvent(t *testing.T) {
	a := newAPI(t, nil, fake.Step{Calls: []chat.Call{fake.Call("1", "echo", `{"word":"a"}`)}}, fake.Step{Text: "a"})
	_, body := ask(a.Chat, "", "", `{"text":"echo a"}`)
	var kinds []string
	for line := range strings.Lines(body) {
		var e map[string]json.RawMessage
		must(t, json.Unmarshal([]byte(line), &e))
		for kind := range e {
			kinds = append(kinds, kind)
		}
	}
	if got := strings.Join(kinds, " "); got != "selected call result text done" {
		t.Errorf("events %s", got)
	}
}

// TestStrategyAndMode are parsed where a message comes in.
func TestStrategyAndMode(t *testing.T) {
	m := fake.New(fake.Step{Text: "1"}, fake.Step{Text: "2"})
	a := newAPI(t, func(c *engine.Config) { c.Agents[0].Model = m })
	for i, c := range []struct {
		body  string
		lists bool // the system prompt, of toolsets
		tool  string
	}{
		{`{"text":"x","session":"a"}`, true, "use_skill"}, {`{"text":"x","session":"b","strategy":"lite","mode":"bridge"}`, false, "find_tools"},
	} {
		if status, body := ask(a.Chat, "", "", c.body); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		r := m.Requests()[i]
		if got := strings.Contains(r.System, "talking"); got != c.lists {
			t.Errorf("%s: the prompt lists toolsets: %v, want %v", c.body, got, c.lists)
		}
		if r.Tools[0].Name != c.tool {
			t.Errorf("%s: the first tool is %s, want %s", c.body, r.Tools[0].Name, c.tool)
		}
	}
}

func TestRefusals(t *testing.T) {
	a := newAPI(t, nil)
	for _, c := range []struct {
		handler     http.HandlerFunc
		query, name string
		body        string
		status      int
		says        string
	}{
		{a.Select, "", "", `{"text":""}`, 400, "the message is empty"},
		{a.Select, "", "", `{"text":"x","strategy":"max"}`, 400, `unknown strategy \"max\": it is full, lite or custom`},
		{a.Select, "", "", `{"text":"x","mode":"fast"}`, 400, `unknown mode \"fast\": it is one of auto`},
		{a.Chat, "", "", `{"text":"x","agent":"mian"}`, 404, `did you mean \"main\"?`},
		{a.Chat, "", "", `{`, 400, "not the expected JSON"},
		{a.Why, "", "", `{"skill":"talkin"}`, 404, `did you mean \"talking\"?`},
		{a.Call, "", "nope", `{}`, 404, "there is no tool"},
		{a.Call, "", "admin_only", `{}`, 404, "there is no tool"},
		{a.Call, "", "echo", `{"arguments":{}}`, 400, "do not fit"},
		{a.Judge, "", "echo", `{"agent":"mian"}`, 404, "did you mean"},
		{a.Toolsets, "agent=mian", "", ``, 404, "did you mean"},
		{a.SetToolset, "", "", `{"skill":"talkin"}`, 404, "did you mean"},
		{a.Control, "", "main", `{"skills":[],"groups":"wrld"}`, 404, `did you mean \"world\"?`},
		{a.Control, "", "main", `{}`, 400, "nothing to change"},
		{a.Control, "", "main", `{"grups":"world"}`, 400, `did you mean \"groups\"?`},
		{a.Chat, "", "", `{"text":"x","agent":"nope"}`, 404, `agent \"nope\": not found; the agents are main, other`},
		{a.PastTurns, "limit=x", "", ``, 400, "limit must be a number"},
		{a.PastTurns, "agent=mian", "", ``, 200, `"turns":[]`},
		{a.Forget, "", "", ``, 400, "say whose"},
		{a.Forget, "everybody=yes", "", ``, 400, "everybody must be true or false"},
		{a.Forget, "user=ann&everybody=true", "", ``, 400, "say whose"},
	} {
		if status, body := ask(c.handler, c.query, c.name, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s%s %s: %d %s; want %d and %q", c.query, c.name, c.body, status, body, c.status, c.says)
		}
	}
}

func TestSelectWithAlternatives(t *testing.T) {
	a := newAPI(t, nil)
	x := get[api.Answer](t, a.Select, "", "", `{"text":"restart everything","alternatives":true,"try":{"roles":["admin"]}}`)
	if len(x.Alternatives) != 2 {
		t.Fatalf("%+v", x.Alternatives)
	}
	role := x.Alternatives[0]
	if role.Change != "role" {
		t.Errorf("the change is %q, want %q", role.Change, "role")
	}
	if role.Opens[0] != "admin_only" {
		t.Errorf("the tool that it opens is %q, want %q", role.Opens[0], "admin_only")
	}
	if got := x.Alternatives[1].Value; got != "talking" {
		t.Errorf("the second alternative is %s", got)
	}
}

func TestCall(t *testing.T) {
	a := newAPI(t, nil)
	for body, want := range map[string]string{`{"arguments":{"word":"b"}}`: "b", `{"user":"ann","arguments":{"word":"c"}}`: "c"} {
		if got := get[chat.Result](t, a.Call, "", "echo", body); got.Text != want {
			t.Errorf("%s gives %q", body, got.Text)
		}
	}
	if got := get[chat.Result](t, a.Call, "", "admin_only", `{"roles":["admin"]}`); got.Text != "done" {
		t.Errorf("an administrator gets %q", got.Text)
	}
}

func TestToolsListsShadowedOnes(t *testing.T) {
	a := newAPI(t, func(c *engine.Config) {
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "echo", Source: "later"}, func(context.Context, struct{}) (string, error) { return "", nil })))
	})
	list := get[[]api.Tool](t, a.Tools, "", "", "")
	if len(list) != 4 {
		t.Fatalf("%d tools: %+v", len(list), list)
	}
	last := list[3]
	if last.Name != "echo" {
		t.Errorf("the last tool is %q, want %q", last.Name, "echo")
	}
	if !last.Shadowed {
		t.Error("the last tool is not shadowed")
	}
	if last.Source != "" {
		t.Errorf("its source is %q, want %q", last.Source, "")
	}
	for _, tool := range list {
		if tool.Filtered != (tool.Name == "admin_only") {
			t.Errorf("%s: filtered is %v", tool.Name, tool.Filtered)
		}
	}
}

func TestToolsets(t *testing.T) {
	a := newAPI(t, nil)
	if s := get[api.Toolsets](t, a.Toolsets, "", "", ""); s.Agent != "main" || s.Active != "full" || s.Tools != 3 {
		t.Errorf("at first %+v", s)
	}
	if s := get[api.Toolsets](t, a.SetToolset, "", "", `{"agent":"other","skill":"talking"}`); s.Agent != "other" || s.Active != "talking" || s.Tools != 1 {
		t.Errorf("then %+v", s)
	}
	if s := get[api.Toolsets](t, a.Toolsets, "agent=other", "", ""); s.Active != "talking" || s.Counts["talking"] != 1 {
		t.Errorf("at last %+v", s)
	}
}

func TestControl(t *testing.T) {
	a := newAPI(t, nil)
	s := get[agent.Status](t, a.Control, "", "main", `{"groups":"world","skills":["talking"],"skill":"talking"}`)
	if got := fmt.Sprintf("%q %d %s %s %s", s.Groups, s.Tools, s.Skill, s.Skills, s.Strategy); got != `"world" 1 talking [talking] full` {
		t.Errorf("changed to %s", got)
	}
	s = get[agent.Status](t, a.Control, "", "main", `{"skills":[],"groups":""}`)
	if got := fmt.Sprintf("%q %d %s %s", s.Groups, s.Tools, s.Skill, s.Skills); got != `"" 3 talking []` {
		t.Errorf("changed back to %s", got)
	}
	list := get[[]agent.Status](t, a.Agents, "", "", "")
	if len(list) != 2 {
		t.Fatalf("%d agents, want 2: %+v", len(list), list)
	}
	if list[0].Skill != "talking" {
		t.Errorf("the skill of the first agent is %q, want %q", list[0].Skill, "talking")
	}
	if list[1].Groups != "world" {
		t.Errorf("the second agent has the groups %q, want %q", list[1].Groups, "world")
	}
}

func TestStatus(t *testing.T) {
	s := get[api.Status](t, newAPI(t, nil).Status, "", "", "")
	if s.Version != "test" {
		t.Errorf("the version is %q, want %q", s.Version, "test")
	}
	if s.Tools != 3 {
		t.Errorf("%d tools, want 3", s.Tools)
	}
	if len(s.Agents) != 2 {
		t.Fatalf("%d agents, want 2: %+v", len(s.Agents), s.Agents)
	}
	if s.Configuration != nil {
		t.Errorf("the configuration is %+v", s.Configuration)
	}
	if s.Rules == nil {
		t.Error("there are no rules")
	}
	if s.Policy == nil {
		t.Error("there is no policy")
	}
}

// log holds past turns that are never added to.
type log struct {
	usage.Log
	list []usage.Turn
}

func (l *log) List(context.Context, usage.Filter) ([]usage.Turn, error) { return l.list, nil }

func (l *log) Erase(context.Context, string, bool) (int, error) {
	n := len(l.list)
	l.list = nil
	return n, nil
}

func TestPastTurns(t *testing.T) {
	a := newAPI(t, func(c *engine.Config) {
		c.Learning = learning.Config{Log: &log{list: []usage.Turn{{User: "ann", Text: "hello"}}}, Keep: true}
	})
	if past := get[learning.Record](t, a.PastTurns, "user=ann", "", ""); !past.Keep || past.Vote || len(past.Turns) != 1 || past.Turns[0].Text != "hello" {
		t.Errorf("%+v", past)
	}
	if status, body := ask(a.PastTurns, "agent=mian", "", ""); status != 404 || !strings.Contains(body, "did you mean") {
		t.Errorf("an unknown agent: %d %s", status, body)
	}
	if got := get[api.Forgotten](t, a.Forget, "user=ann", "", ""); got.Erased != 1 {
		t.Errorf("%d turns erased", got.Erased)
	}
	if past := get[learning.Record](t, a.PastTurns, "", "", ""); len(past.Turns) != 0 {
		t.Errorf("after that: %+v", past)
	}
}
