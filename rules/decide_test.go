package rules_test

import (
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

// shells is a catalog with a tool of each risk and two skills.
func shells(tb testing.TB) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	must(tb, r.Register(
		described{tool.Definition{Name: "look", Risk: tool.Read}},
		described{tool.Definition{Name: "exec", Risk: tool.Write, Groups: []string{"shell"}}},
		described{tool.Definition{Name: "wipe", Risk: tool.Destructive}},
		described{tool.Definition{Name: "draft", Risk: tool.Destructive}},
	))
	_, err := r.SetSkills(catalog.Skill{Name: "ops", Tools: []string{"exec"}}, catalog.Skill{Name: "read", Tools: []string{"look"}})
	must(tb, err)
	return r
}

func policy(tb testing.TB, list ...rules.Rule) *rules.Rules {
	tb.Helper()
	p, err := rules.Compile(rules.Policy, list, nil)
	must(tb, err)
	return p
}

// TestDecide: deny wins over ask, ask over allow, allow over the default, and a rule
// that fails still guards.
func TestDecide(t *testing.T) {
	c := shells(t).Catalog()
	list := []rules.Rule{
		{Name: "admins", Allow: []string{"wipe"}, When: `"admin" in user.roles`, Place: rules.Place{File: "dir/etui.yaml", Line: 7}},
		{Name: "night", Deny: []string{"group:shell"}, When: `channel == "telegram"`, Reason: "no shell on Telegram"},
		{Name: "careful", Ask: []string{"group:shell"}, When: `attrs.plan == "free"`},
		{Name: "drafts", Allow: []string{"draft"}},
		{Name: "closed", Ask: []string{"skill:ops"}, When: `channel == "web"`},
	}
	p, err := rules.Compile(rules.Policy, list, map[tool.Risk]rules.Effect{tool.Destructive: rules.Ask})
	must(t, err)
	paid := map[string]string{"plan": "paid"}
	for _, want := range []struct {
		name   string
		facts  chat.Facts
		effect rules.Effect
		reason string
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
		a := rules.Attempt{Facts: want.facts, Catalog: c}
		if skill, ok := strings.CutPrefix(want.name, "skill "); ok {
			a.Skill = skill
		} else {
			a.Entry, _ = c.Get(want.name)
		}
		d := p.Decide(t.Context(), a)
		is(t, want.name+": effect", d.Effect, want.effect)
		if !strings.HasPrefix(d.Reason, want.reason) {
			t.Errorf("%s: the reason is %q, want %q", want.name, d.Reason, want.reason)
		}
		refused := &rules.Refusal{Name: want.name, Decision: d}
		if text := refused.Error(); strings.Contains(text, "rule") || strings.Contains(text, "Telegram") {
			t.Errorf("the model reads %s", text)
		}
	}
	var none *rules.Rules
	is(t, "effect of no rules", none.Decide(t.Context(), rules.Attempt{}).Effect, rules.Allow)
	is(t, "status of no rules", len(none.Status()), 0)
	is(t, "unknown targets of no rules", len(none.Unknown(c)), 0)
	if none.Guard(c) != nil {
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

func TestPolicyMistakes(t *testing.T) {
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
	w := policy(t, rules.Rule{Ask: []string{"exce"}, Place: at}).Unknown(shells(t).Catalog())
	if len(w) != 1 || w[0].Error() != `etui.yaml:3:5: policy rule: it names the tool "exce", which does not exist; did you mean "exec"?` {
		t.Error(w)
	}
}

// TestCatalogs: tools come and go while others are judged, also by older catalogs.
func TestCatalogs(t *testing.T) {
	registry := shells(t)
	p := policy(t, rules.Rule{Deny: []string{"new_*"}})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 20 {
				old := registry.Catalog()
				name := fmt.Sprintf("new_%d_%d", i, n)
				if err := registry.Register(described{tool.Definition{Name: name}}); err != nil {
					t.Error(err)
				}
				c := registry.Catalog()
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
	c := shells(b).Catalog()
	var list []rules.Rule
	for i := range 100 {
		list = append(list, rules.Rule{Name: fmt.Sprint("r", i), Deny: []string{"exec"}, When: fmt.Sprintf(`channel == "c%d" || user.id == "u%d"`, i, i)})
	}
	p := policy(b, list...)
	e, _ := c.Get("exec")
	call := rules.Attempt{Facts: chat.Facts{User: "ann", Channel: "web"}, Catalog: c, Entry: e}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(b.Context(), call)
	}
}
