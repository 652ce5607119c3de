package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/skill"
)

// greet is a skill.
type greet struct{}

func (greet) Name() string        { return "greet" }
func (greet) Description() string { return "Say hello" }
func (greet) Parameters() skill.ParameterSchema {
	return skill.ParameterSchema(`{"type":"object"}`)
}
func (greet) Execute(context.Context, json.RawMessage) (any, error) { return "hello", nil }

func Example() {
	skills := skill.NewTable(nil)
	if err := skills.Register(greet{}); err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	admin.New(admin.Config{Table: skills}).List(w, httptest.NewRequest(http.MethodGet, "/admin/skills", nil))
	var list admin.SkillList
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range list.Skills {
		fmt.Println(s.Name, s.State, s.Kind)
	}
	// Output: greet loaded callable
}

// newAPI returns the API of one skill.
func newAPI(t *testing.T, cfg admin.Config) *admin.API {
	t.Helper()
	cfg.Table = skill.NewTable(nil)
	if err := cfg.Table.Register(greet{}); err != nil {
		t.Fatal(err)
	}
	return admin.New(cfg)
}

// ask calls a handler for a skill and a change, and returns the status and the
// body of the answer.
func ask(h http.HandlerFunc, query, name, change, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/?"+query, strings.NewReader(body))
	r.SetPathValue("name", name)
	r.SetPathValue("change", change)
	w := httptest.NewRecorder()
	h(w, r)
	return w.Code, w.Body.String()
}

// TestDecisions: a change becomes a decision, with who made it and why.
func TestDecisions(t *testing.T) {
	var decided, by, why string
	a := newAPI(t, admin.Config{Decide: func(name, who, reason string, change func(*skill.Decision)) error {
		var d skill.Decision
		change(&d)
		decided, by, why = fmt.Sprint(name, " ", d.State, d.Removed), who, reason
		return nil
	}})
	for change, want := range map[string]string{"enable": "greet enabled[]", "disable": "greet disabled[]", "use": "greet []", "": "greet [program:greet]"} {
		if status, body := ask(a.Change, "", "greet", change, `{"by":"ann","reason":"a test"}`); status != 200 || !strings.Contains(body, `"name":"greet"`) {
			t.Errorf("%s: %d %s", change, status, body)
		}
		if decided != want || by != "ann" || why != "a test" {
			t.Errorf("%s: decided %q by %q because of %q, want %q", change, decided, by, why, want)
		}
	}
	if ask(a.Change, "", "greet", "enable", ""); by != "admin API" {
		t.Errorf("by %q", by)
	}
}

// TestApprove: an approval names the tools, or says that it is for all.
func TestApprove(t *testing.T) {
	var asked string
	a := newAPI(t, admin.Config{Approve: func(_ skill.Skill, all bool, tools ...string) ([]string, error) {
		asked = fmt.Sprint(all, tools)
		return []string{"alpha"}, nil
	}})
	for _, c := range []struct {
		body   string
		status int
		asked  string
	}{
		{`{"tools":["alpha"]}`, 200, "false [alpha]"},
		{`{"all":true}`, 200, "true []"},
		{``, 400, ""},
		{`{"all":false}`, 400, ""},
		{`{"tools":[]}`, 400, ""},
		{`{"tools":null}`, 400, ""},
		{`{"tools":["alpha"],"all":true}`, 400, ""},
		{`{"tool":["alpha"]}`, 400, ""},
	} {
		asked = ""
		status, body := ask(a.Change, "", "greet", "approve", c.body)
		if status != c.status {
			t.Errorf("%s: %d %s, want %d", c.body, status, body, c.status)
		}
		if asked != c.asked {
			t.Errorf("%s approves %q, want %q", c.body, asked, c.asked)
		}
		if status == 200 && !strings.Contains(body, `"approved":["alpha"]`) {
			t.Errorf("%s does not say what was approved: %s", c.body, body)
		}
	}
}

func TestReload(t *testing.T) {
	a := newAPI(t, admin.Config{Reload: func(_ context.Context, by, why string) (any, error) {
		if why == "fail" {
			return nil, errors.New("no disk")
		}
		return map[string]string{"by": by}, nil
	}})
	if status, body := ask(a.Reload, "", "", "", `{"by":"ann"}`); status != 200 || body != `{"by":"ann"}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(a.Reload, "", "", "", `{"reason":"fail"}`); status != 500 || !strings.Contains(body, "no disk") {
		t.Errorf("%d %s", status, body)
	}
}

func TestRefusals(t *testing.T) {
	a := newAPI(t, admin.Config{})
	for _, c := range []struct {
		handler             http.HandlerFunc
		query, name, change string
		status              int
		says                string
	}{
		{a.Show, "", "gret", "", 404, `did you mean \"greet\"?`},
		{a.Change, "", "greet", "enable", 501, "cannot be changed here"},
		{a.Change, "", "greet", "approve", 501, "nothing to approve here"},
		{a.Change, "", "greet", "destroy", 404, "enable, disable, use or approve"},
		{a.Reload, "", "", "", 501, "no skill files"},
		{a.Calls, "outcome=fine", "", "", 400, "there is no outcome"},
		{a.Calls, "limit=x", "", "", 400, "limit must be a number"},
		{a.Calls, "", "gret", "", 404, "did you mean"},
		{a.Audit, "denied=perhaps", "", "", 400, "denied must be true or false"},
	} {
		if status, body := ask(c.handler, c.query, c.name, c.change, ""); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s; want %d and %q", c.query, c.name, c.change, status, body, c.status, c.says)
		}
	}
	if status, body := ask(a.Change, "", "greet", "use", `{"version":"9"}`); status != 404 || !strings.Contains(body, "has no versions") {
		t.Errorf("an unknown version: %d %s", status, body)
	}
}

// TestNoRecords: without a recorder there are none.
func TestNoRecords(t *testing.T) {
	a := newAPI(t, admin.Config{})
	for name, h := range map[string]http.HandlerFunc{"calls": a.Calls, "audit": a.Audit} {
		if status, body := ask(h, "", "", "", ""); status != 200 || body != "[]\n" {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
