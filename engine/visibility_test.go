package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// tenants returns a registry with tools for everybody, for administrators, for a VIP
// chat and for single channels.
func tenants(tb testing.TB) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	for name, description := range map[string]string{
		"list_tickets":     "List open tickets",
		"restart_server":   "Restart a server",
		"concierge":        "Book anything for important guests",
		"telegram_poll":    "Start a poll on Telegram",
		"telegram_sticker": "Send a sticker on Telegram",
		"slack_huddle":     "Start a huddle on Slack",
		"slack_workflow":   "Run a workflow on Slack",
		"wecom_approval":   "Ask for an approval on WeCom 企业微信审批",
		"wecom_meeting":    "Set up a meeting on WeCom 企业微信会议",
		"export_customers": "Export all customers",
	} {
		d := tool.Definition{Name: name, Description: description, Risk: tool.Read}
		channel, _, found := strings.Cut(name, "_")
		if found && slices.Contains([]string{"telegram", "slack", "wecom"}, channel) {
			d.Groups = []string{channel}
		}
		run := tool.Func(d, func(context.Context, struct{}) (string, error) { return "did " + name, nil })
		if name == "export_customers" {
			must(tb, r.RegisterWithFilter(run, func(f chat.Facts) bool { return f.Channel == "web" }))
			continue
		}
		must(tb, r.Register(run))
	}
	list, err := rules.Compile(rules.Visibility, []rules.Rule{
		{Name: "admins", Allow: []string{"restart_server", "export_*"}, When: `"admin" in user.roles`},
		{Name: "vip", Allow: []string{"concierge"}, When: `chat == "chat123" || has(attrs.plan) && attrs.plan == "vip"`},
		{Name: "guests", Deny: []string{"*"}, When: `user.id == ""`},
		{Name: "telegram", Deny: []string{"group:telegram"}, When: `channel != "telegram"`, Reason: "polls and stickers exist on Telegram only"},
		{Name: "slack", Deny: []string{"group:slack"}, When: `channel != "slack"`},
		{Name: "wecom", Deny: []string{"group:wecom"}, When: `channel != "wecom"`},
	}, nil)
	must(tb, err)
	r.SetRules(list)
	return r
}

// Each caller sees, finds and can call exactly what the rules allow, in every way
// there is.
func TestTenants(t *testing.T) {
	for name, c := range map[string]struct {
		message engine.Message
		sees    string
	}{
		"admin":             {engine.Message{User: "ann", Channel: "web", Roles: []string{"user", "admin"}}, "list_tickets restart_server export_customers"},
		"admin on irc":      {engine.Message{User: "ann", Channel: "irc", Roles: []string{"admin"}}, "list_tickets restart_server"},
		"user":              {engine.Message{User: "bob", Channel: "web", Roles: []string{"user"}}, "list_tickets"},
		"user who boasts":   {engine.Message{User: "admin", Channel: "web", Roles: []string{"administrator"}, Attrs: map[string]string{"role": "admin"}}, "list_tickets"},
		"VIP chat":          {engine.Message{User: "bob", Channel: "telegram", Chat: "chat123"}, "list_tickets concierge telegram_poll telegram_sticker"},
		"VIP by attribute":  {engine.Message{User: "eve", Channel: "slack", Attrs: map[string]string{"plan": "vip"}}, "list_tickets concierge slack_huddle slack_workflow"},
		"user on WeCom":     {engine.Message{User: "wei", Channel: "wecom"}, "list_tickets wecom_approval wecom_meeting"},
		"guest":             {engine.Message{Channel: "telegram"}, ""},
		"guest in VIP chat": {engine.Message{Channel: "web", Chat: "chat123"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := tenants(t)
			for e := range r.Catalog().All() {
				target := e.Definition.Name
				visible := slices.Contains(strings.Fields(c.sees), target)
				m := c.message
				m.Text, m.Session = "use "+target, target
				g, model := newEngine(t, func(cfg *engine.Config) { cfg.Registry, cfg.Selection = r, selection.Config{Direct: -1} },
					fake.Step{Calls: []chat.Call{
						fake.Call("1", target, `{}`),
						fake.Call("2", "call_tool", fmt.Sprintf(`{"name":%q,"arguments":{}}`, target)),
						fake.Call("3", "find_tools", fmt.Sprintf(`{"query":%q,"limit":20}`, target)),
					}}, fake.Step{Text: "done"})
				if reply, err := send(g, t.Context(), m); reply != "done" || err != nil {
					t.Fatalf("replied %q, %v", reply, err)
				}
				for _, d := range model.Requests()[0].Tools {
					if d.Name == target && !visible {
						t.Errorf("the model was shown %s", target)
					}
				}
				for _, said := range model.Requests()[1].Messages {
					if said.Result == nil {
						continue
					}
					did, found := said.Result.Text == "did "+target, strings.Contains(said.Result.Text, target+"(")
					if said.Result.Name == "find_tools" && found != visible || said.Result.Name != "find_tools" && did != visible {
						t.Errorf("%s by %s (visible: %v): %s", target, said.Result.Name, visible, said.Result.Text)
					}
				}
				if _, err := g.Call(t.Context(), m, target, nil); visible && err != nil || !visible && !errors.Is(err, turn.ErrNoTool) {
					t.Errorf("calling %s (visible: %v): %v", target, visible, err)
				}
				sel, err := inspect.New(g).Select(t.Context(), m)
				must(t, err)
				for _, v := range sel.Explain().Tools {
					if v.Tool == target && (v.Stage == selection.Visibility) == visible {
						t.Errorf("%s is at stage %v: %s", target, v.Stage, v.Reason)
					}
				}
			}
		})
	}
}

// TestHiddenSkillIsActive: a skill that one member of a chat has chosen, and that is hidden
// from another, is neither named to the other nor takes the other's tools away. It stays
// chosen for those who see it.
func TestHiddenSkillIsActive(t *testing.T) {
	r := tenants(t)
	if _, err := r.SetSkills(catalog.Skill{Name: "takeover", Description: "Plan the takeover", Tools: []string{"restart_server"}}); err != nil {
		t.Fatal(err)
	}
	g, m := newEngine(t, func(c *engine.Config) { c.Registry = r },
		fake.Step{Text: "ok"},
		fake.Step{Calls: []chat.Call{fake.Call("1", "list_tickets", `{}`), fake.Call("2", "restart_server", `{}`)}}, fake.Step{Text: "ok"},
		fake.Step{Text: "ok"})
	ann := engine.Message{User: "ann", Channel: "irc", Chat: "ops", Roles: []string{"user", "admin"}, Text: "plan it"}
	bob := engine.Message{User: "bob", Channel: "irc", Chat: "ops", Roles: []string{"user"}, Text: "list the tickets"}
	ann.Skill = "takeover"
	_, err := send(g, t.Context(), ann)
	must(t, err)
	named := ""
	for e, err := range g.Send(t.Context(), bob) {
		must(t, err)
		if e.Done != nil {
			named += e.Done.Skill
		}
		if e.Result != nil {
			named += " " + e.Result.Text
		}
	}
	if strings.Contains(named, "takeover") || !strings.Contains(named, "did list_tickets") || strings.Contains(named, "did restart_server") {
		t.Errorf("bob reads %q", named)
	}
	ann.Skill = ""
	for e, err := range g.Send(t.Context(), ann) {
		must(t, err)
		if e.Done != nil && e.Done.Skill != "takeover" {
			t.Errorf("the skill that ann chose has become %q", e.Done.Skill)
		}
	}
	if n := len(m.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// The model never sees a skill when the caller may see none of its tools.
func TestSkillsOfHiddenTools(t *testing.T) {
	for name, recommends := range map[string]bool{"all skills": false, "recommended skills": true} {
		t.Run(name, func(t *testing.T) {
			r := tenants(t)
			_, err := r.SetSkills(
				catalog.Skill{Name: "servers", Description: "Look after a server", Tools: []string{"restart_server"}},
				catalog.Skill{Name: "support", Description: "Tickets about a server", Tools: []string{"list_tickets", "restart_server"}})
			must(t, err)
			var steps []fake.Step
			for range 2 {
				steps = append(steps, fake.Step{Calls: []chat.Call{fake.Call("1", "use_skill", `{"name":"server"}`), fake.Call("2", "use_skill", `{"name":"servers"}`)}}, fake.Step{Text: "done"})
			}
			g, model := newEngine(t, func(cfg *engine.Config) {
				cfg.Registry, cfg.Selection = r, selection.Config{Direct: -1, Recommend: selection.Recommend{On: recommends}}
			}, steps...)
			for i, m := range []engine.Message{{User: "ann", Roles: []string{"admin"}}, {User: "bob"}} {
				m.Text, m.Channel = "server", "web"
				_, err := send(g, t.Context(), m)
				must(t, err)
				asked := model.Requests()[2*i+1]
				said, _ := json.Marshal(asked)
				answers := asked.Messages[len(asked.Messages)-2:]
				for fact, got := range map[string]bool{
					"the model sees the skill":     strings.Contains(string(said), "Look after a server"),
					"a wrong name is given a hint": strings.Contains(answers[0].Result.Text, "servers"),
					"the model can take it up":     !answers[1].Result.Failed,
				} {
					if admin := i == 0; got != admin {
						t.Errorf("%s: %s: %v, want %v: %s", m.User, fact, got, admin, said)
					}
				}
				if !strings.Contains(string(said), "- support") {
					t.Errorf("%s: no skill support: %s", m.User, said)
				}
				sel, err := inspect.New(g).Select(t.Context(), m)
				must(t, err)
				for _, v := range sel.Skills() {
					if v.Skill == "servers" && v.Told != (i == 0) {
						t.Errorf("%s: %+v", m.User, v)
					}
				}
			}
		})
	}
}

// The error for a wrong name contains no tool that the caller may not see.
func TestHintsNameWhatTheCallerSees(t *testing.T) {
	r := tenants(t)
	_, err := r.SetSkills(catalog.Skill{Name: "servers", Tools: []string{"restart_server"}})
	must(t, err)
	g, _ := newEngine(t, func(cfg *engine.Config) { cfg.Registry = r })
	for _, c := range []struct {
		roles []string
		hint  bool
	}{{nil, false}, {[]string{"admin"}, true}} {
		for name, m := range map[string]engine.Message{
			"restart_server": {Include: []string{"list_tickets", "restart_serve"}},
			"servers":        {Skill: "server"},
		} {
			m.Text, m.User, m.Roles, m.Channel = "x", "ann", c.roles, "web"
			if _, err := inspect.New(g).Select(t.Context(), m); err == nil || strings.Contains(err.Error(), fmt.Sprintf("did you mean %q", name)) != c.hint {
				t.Errorf("%v: %v", c.roles, err)
			}
		}
	}
}

// A turn logs the first rules that failed, and how many more there are; it counts
// all of them.
func TestFailedRulesAreLogged(t *testing.T) {
	r := tenants(t)
	list, err := rules.Compile(rules.Visibility, slices.Repeat([]rules.Rule{{Deny: []string{"concierge"}, When: `attrs.plan == "free"`}}, 8), nil)
	must(t, err)
	r.SetRules(list)
	var log bytes.Buffer
	g, _ := newEngine(t, func(cfg *engine.Config) { cfg.Registry, cfg.Log = r, slog.New(slog.NewTextHandler(&log, nil)) }, fake.Step{Text: "done"})
	_, err = send(g, t.Context(), engine.Message{Text: "x"})
	must(t, err)
	if text := log.String(); strings.Count(text, "could not be judged") != 5 || !strings.Contains(text, "more=3") {
		t.Error(text)
	}
	for _, s := range list.Status() {
		if s.Failures != 1 {
			t.Errorf("%d failures of %s", s.Failures, s.Rule)
		}
	}
}

// TestHiddenReadsLikeUnknown: wherever a caller names a tool or a skill, a hidden one and
// one that does not exist get the same answer.
func TestHiddenReadsLikeUnknown(t *testing.T) {
	list, err := rules.Compile(rules.Visibility, []rules.Rule{{Deny: []string{"restart_server", "skill:servers"}, When: `!("admin" in user.roles)`}}, nil)
	must(t, err)
	engineFor := func(t *testing.T, steps ...fake.Step) (*engine.Engine, *fake.Model) {
		r := catalog.NewRegistry(nil)
		must(t, r.Register(
			tool.Func(tool.Definition{Name: "restart_server", Description: "Restart a server", Groups: []string{"power"}}, func(context.Context, struct{}) (string, error) { return "", nil }),
			tool.Func(tool.Definition{Name: "list_tickets", Description: "List the tickets", Groups: []string{"desk"}, Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return "", nil })))
		_, err := r.Update([]catalog.Skill{{Name: "servers", Description: "Look after a server", Tools: []string{"restart_server"}}, {Name: "desk", Description: "Tickets", Tools: []string{"list_tickets"}}}, list)
		must(t, err)
		return newEngine(t, func(cfg *engine.Config) { cfg.Registry, cfg.Selection = r, selection.Config{Mode: selection.Bridge} }, steps...)
	}
	asks := func(change func(m *engine.Message, name string)) func(t *testing.T, name string, roles []string) string {
		return func(t *testing.T, name string, roles []string) string {
			m := engine.Message{Text: "hello", User: "bob", Roles: roles}
			change(&m, name)
			g, _ := engineFor(t, fake.Step{Text: "hi"})
			_, selected := inspect.New(g).Select(t.Context(), m)
			_, sent := send(g, t.Context(), m)
			_, called := g.Call(t.Context(), m, "list_tickets", json.RawMessage(`{}`))
			_, looked := inspect.New(g).Why(t.Context(), m, 1, true)
			return fmt.Sprint(selected, sent, called, looked)
		}
	}
	calls := func(tool, args string) func(t *testing.T, name string, roles []string) string {
		return func(t *testing.T, name string, roles []string) string {
			g, model := engineFor(t, fake.Step{Calls: []chat.Call{fake.Call("1", strings.ReplaceAll(tool, "NAME", name), strings.ReplaceAll(args, "NAME", name))}}, fake.Step{Text: "done"})
			_, err := send(g, t.Context(), engine.Message{Text: "hello", User: "bob", Roles: roles})
			must(t, err)
			messages := model.Requests()[1].Messages
			return asJSON(t, messages[len(messages)-1].Result)
		}
	}
	for _, c := range []struct {
		where           string
		hidden, unknown string
		answer          func(t *testing.T, name string, roles []string) string
	}{
		{"include", "restart_server", "qqq_zzzzzz", asks(func(m *engine.Message, name string) { m.Include = []string{"list_tickets", name} })},
		{"include a group", "group:power", "group:qqqqq", asks(func(m *engine.Message, name string) { m.Include = []string{"list_tickets", name} })},
		{"exclude", "restart_server", "qqq_zzzzzz", asks(func(m *engine.Message, name string) { m.Exclude = []string{name} })},
		{"exclude a group", "group:power", "group:qqqqq", asks(func(m *engine.Message, name string) { m.Exclude = []string{name} })},
		{"skill", "servers", "qqqqqqq", asks(func(m *engine.Message, name string) { m.Skill = name })},
		{"include skills", "servers", "qqqqqqq", asks(func(m *engine.Message, name string) { m.IncludeSkills = []string{name} })},
		{"exclude skills", "servers", "qqqqqqq", asks(func(m *engine.Message, name string) { m.ExcludeSkills = []string{name} })},
		{"a call", "restart_server", "qqq_zzzzzz", calls("NAME", `{}`)},
		{"a call of a skill", "servers", "qqqqqqq", calls("NAME", `{}`)},
		{"call_tool", "restart_server", "qqq_zzzzzz", calls("call_tool", `{"name":"NAME","arguments":{}}`)},
		{"call_tool of a skill", "servers", "qqqqqqq", calls("call_tool", `{"name":"NAME","arguments":{}}`)},
		{"describe_tool", "restart_server", "qqq_zzzzzz", calls("describe_tool", `{"name":"NAME"}`)},
		{"find_tools", "restart_server", "qqq_zzzzzz", calls("find_tools", `{"queries":["NAME"]}`)},
		{"find_tools for a skill", "servers", "qqqqqqq", calls("find_tools", `{"queries":["NAME"]}`)},
		{"use_skill", "servers", "qqqqqqq", calls("use_skill", `{"name":"NAME"}`)},
		{"a file of use_skill", "servers", "qqqqqqq", calls("use_skill", `{"name":"NAME","file":"a.md"}`)},
		{"a direct call", "restart_server", "qqq_zzzzzz", func(t *testing.T, name string, roles []string) string {
			g, _ := engineFor(t)
			result, err := g.Call(t.Context(), engine.Message{User: "bob", Roles: roles}, name, json.RawMessage(`{}`))
			return asJSON(t, result) + fmt.Sprint(err)
		}},
	} {
		answer := func(name string, roles ...string) string {
			return strings.ReplaceAll(c.answer(t, name, roles), name, "NAME")
		}
		hidden, unknown := answer(c.hidden), answer(c.unknown)
		if hidden != unknown {
			t.Errorf("%s tells them apart:\nhidden   %s\nunknown  %s", c.where, hidden, unknown)
		}
		if visible := answer(c.hidden, "admin"); visible == hidden {
			t.Errorf("%s: an admin gets the same answer: %s", c.where, visible)
		}
	}
}
