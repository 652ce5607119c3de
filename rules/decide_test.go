package rules_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

func newCatalog(t testing.TB) (*catalog.Registry, func() *catalog.Catalog) {
	t.Helper()
	r := catalog.NewRegistry(nil)
	for name, d := range map[string]tool.Definition{
		"look": {Risk: tool.Read}, "exec": {Risk: tool.Write, Groups: []string{"shell"}}, "wipe": {Risk: tool.Destructive}, "draft": {Risk: tool.Destructive},
	} {
		d.Name, d.Description = name, name
		if err := r.Register(tool.Func(d, func(context.Context, struct{}) (string, error) { return "", nil })); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Update([]catalog.Skill{{Name: "ops", Tools: []string{"exec"}}, {Name: "read", Tools: []string{"look"}}}, nil); err != nil {
		t.Fatal(err)
	}
	return r, r.Catalog
}

// TestDecide: deny wins over ask, ask over allow, allow over the default, and a rule
// that fails still guards.
func TestDecide(t *testing.T) {
	_, now := newCatalog(t)
	list := []rules.Rule{
		{Name: "admins", Allow: []string{"wipe"}, When: `"admin" in user.roles`, Place: rules.Place{File: "dir/etui.yaml", Line: 7}},
		{Name: "night", Deny: []string{"group:shell"}, When: `channel == "telegram"`, Reason: "no shell on Telegram"},
		{Name: "careful", Ask: []string{"group:shell"}, When: `attrs.plan == "free"`},
		{Name: "drafts", Allow: []string{"draft"}},
		{Name: "closed", Ask: []string{"skill:ops"}, When: `channel == "web"`},
	}
	p, err := rules.Compile(rules.Policy, list, map[tool.Risk]rules.Effect{tool.Destructive: rules.Ask})
	if err != nil {
		t.Fatal(err)
	}
	paid := map[string]string{"plan": "paid"}
	for _, c := range []struct {
		name  string
		facts chat.Facts
		want  rules.Effect
		why   string
	}{
		{"look", chat.Facts{}, rules.Allow, "tools of risk read are allowed by default"},
		{"draft", chat.Facts{}, rules.Allow, "rule drafts allows"},
		{"wipe", chat.Facts{}, rules.Deny, "allowed only by rule admins (etui.yaml:7), which does not hold"},
		{"wipe", chat.Facts{Roles: []string{"admin"}}, rules.Allow, "rule admins (etui.yaml:7) allows"},
		{"exec", chat.Facts{Channel: "telegram"}, rules.Deny, "rule night denies: no shell on Telegram"},
		{"exec", chat.Facts{}, rules.Ask, "rule careful failed, which asks for an approval: no such key"},
		{"exec", chat.Facts{Attrs: paid}, rules.Allow, "tools of risk write are allowed by default"},
		{"skill ops", chat.Facts{Channel: "web"}, rules.Ask, "rule closed asks for an approval"},
		{"skill ops", chat.Facts{}, rules.Allow, ""},
		{"skill read", chat.Facts{Channel: "web"}, rules.Allow, ""},
		{"skill other", chat.Facts{}, rules.Deny, "there is no such skill"},
	} {
		call := rules.Attempt{Facts: c.facts, Catalog: now()}
		if skill, ok := strings.CutPrefix(c.name, "skill "); ok {
			call.Skill = skill
		} else {
			call.Entry, _ = now().Get(c.name)
		}
		d := p.Decide(t.Context(), call)
		is(t, c.name+": effect", d.Effect, c.want)
		if !strings.HasPrefix(d.Reason, c.why) {
			t.Errorf("%s: the reason is %q, want %q", c.name, d.Reason, c.why)
		}
		refused := &rules.Refused{Name: c.name, Decision: d}
		if text := refused.Error(); strings.Contains(text, "rule") || strings.Contains(text, "Telegram") {
			t.Errorf("the model reads %s", text)
		}
	}
	var none *rules.Rules
	is(t, "effect of no rules", none.Decide(t.Context(), rules.Attempt{}).Effect, rules.Allow)
	is(t, "status of no rules", len(none.Status()), 0)
	is(t, "unknown targets of no rules", len(none.Unknown(now())), 0)
	if none.Guard(now()) != nil {
		t.Error("no rules hide something")
	}
	s := p.Status()
	if len(s) != 5 {
		t.Fatalf("the status has %d rules, want 5", len(s))
	}
	is(t, "target", s[2].Ask[0], "group:shell")
	if s[2].Failures == 0 {
		t.Error("a failure is not counted")
	}
}

func TestCompile(t *testing.T) {
	_, now := newCatalog(t)
	at := rules.Place{File: "etui.yaml", Line: 3, Column: 5}
	for want, rule := range map[string]rules.Rule{
		"etui.yaml:3:5: policy rule: it must name tools under allow, ask or deny":                    {Place: at},
		"etui.yaml:3:5: policy rule a: it has both ask and another effect: make two rules of it":     {Name: "a", Ask: []string{"x"}, Deny: []string{"y"}, Place: at},
		`etui.yaml:3:5: policy rule: the condition reads "chanel", which is no fact and no function`: {Ask: []string{"x"}, When: `chanel == "a"`, Place: at, WhenPlace: at},
	} {
		_, err := rules.Compile(rules.Policy, []rules.Rule{rule}, nil)
		var e *rules.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := rules.Compile(rules.Visibility, []rules.Rule{{Ask: []string{"x"}}}, nil); err == nil {
		t.Error("visibility asks")
	}
	p, err := rules.Compile(rules.Policy, []rules.Rule{{Ask: []string{"exce"}, Place: at}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := p.Unknown(now()); len(w) != 1 || w[0].Error() != `etui.yaml:3:5: policy rule: it names the tool "exce", which does not exist; did you mean "exec"?` {
		t.Error(w)
	}
}

// TestCatalogs: tools come and go while others are judged, also by older catalogs.
func TestCatalogs(t *testing.T) {
	registry, now := newCatalog(t)
	p, err := rules.Compile(rules.Policy, []rules.Rule{{Deny: []string{"new_*"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 20 {
				old := now()
				name := fmt.Sprintf("new_%d_%d", i, n)
				if err := registry.Register(tool.Func(tool.Definition{Name: name, Description: "d"}, func(context.Context, struct{}) (string, error) { return "", nil })); err != nil {
					t.Error(err)
				}
				c := now()
				for name, want := range map[string]rules.Effect{name: rules.Deny, "exec": rules.Allow} {
					e, _ := c.Get(name)
					if d := p.Decide(t.Context(), rules.Attempt{Catalog: c, Entry: e}); d.Effect != want {
						t.Errorf("%s: %+v", name, d)
					}
				}
				e, _ := old.Get("exec")
				if d := p.Decide(t.Context(), rules.Attempt{Catalog: old, Entry: e}); d.Effect != rules.Allow {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkDecide(b *testing.B) {
	_, now := newCatalog(b)
	var list []rules.Rule
	for i := range 100 {
		list = append(list, rules.Rule{Name: fmt.Sprint("r", i), Deny: []string{"exec"}, When: fmt.Sprintf(`channel == "c%d" || user.id == "u%d"`, i, i)})
	}
	p, err := rules.Compile(rules.Policy, list, nil)
	if err != nil {
		b.Fatal(err)
	}
	c := now()
	e, _ := c.Get("exec")
	call := rules.Attempt{Facts: chat.Facts{User: "ann", Channel: "web"}, Catalog: c, Entry: e}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(b.Context(), call)
	}
}
