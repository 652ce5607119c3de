package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// people returns a function for engine.Config.Users, and what changes its answer.
func people(tb testing.TB, list ...identity.User) (at func(*catalog.Catalog) *identity.Users, set func(list ...identity.User)) {
	tb.Helper()
	var now atomic.Pointer[identity.Users]
	set = func(list ...identity.User) {
		u, err := identity.New(list)
		must(tb, err)
		now.Store(u)
	}
	set(list...)
	return func(*catalog.Catalog) *identity.Users { return now.Load() }, set
}

// TestOnePersonOnTwoChannels: sessions follow the person, and a stranger with the
// person's name reads nothing of it.
func TestOnePersonOnTwoChannels(t *testing.T) {
	t.Parallel()
	now, _ := people(t, identity.User{Name: "alice", Identities: []string{"telegram:42", "slack:U7"}})
	g, m := newEngine(t, func(c *engine.Config) { c.Users = now }, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"}, fake.Step{Text: "4"})
	for _, message := range []engine.Message{
		{Text: "the code is 7", Channel: "telegram", User: "42"},
		{Text: "which code?", Channel: "slack", User: "U7"},
		{Text: "and mine?", Channel: "irc", User: "alice"},
		{Text: "and here?", Channel: "api"},
	} {
		_, err := send(g, t.Context(), message)
		must(t, err)
	}
	for i, want := range []int{1, 3, 1, 1} {
		if got := len(m.Requests()[i].Messages); got != want {
			t.Errorf("request %d has %d messages, want %d", i, got, want)
		}
	}
}

// TestGuestsShareNothing: two senders without a name are two people, also where the
// client sends the conversation.
func TestGuestsShareNothing(t *testing.T) {
	t.Parallel()
	g, _ := newEngine(t, nil)
	keys := map[session.Key]bool{}
	for range 3 {
		w, err := g.Whoami(engine.Message{Channel: "api"})
		must(t, err)
		keys[w.Session] = true
	}
	if len(keys) != 3 {
		t.Errorf("three guests have the sessions %v", keys)
	}
}

// TestRolesOfAPerson come from the configuration; what the client states adds to them.
func TestRolesOfAPerson(t *testing.T) {
	t.Parallel()
	now, _ := people(t, identity.User{Name: "alice", Identities: []string{"telegram:42"}, Roles: []string{"admin"}, Groups: []string{"ops"}, Attrs: map[string]string{"plan": "vip"}})
	g, _ := newEngine(t, func(c *engine.Config) { c.Users = now })
	w, err := g.Whoami(engine.Message{As: "telegram:42", Roles: []string{"tester"}, Attrs: map[string]string{"plan": "free", "desk": "4"}})
	must(t, err)
	if got := strings.Join(w.Roles, " "); got != "admin tester" {
		t.Errorf("roles %q", got)
	}
	if got := strings.Join(w.Groups, " "); got != "ops" {
		t.Errorf("groups %q", got)
	}
	if w.Attrs["plan"] != "vip" {
		t.Errorf("the plan is %q: the configuration wins", w.Attrs["plan"])
	}
	if w.Attrs["desk"] != "4" {
		t.Errorf("the desk is %q", w.Attrs["desk"])
	}
	if w.Channel != "telegram" || w.Session != "agent:main:person:alice" {
		t.Errorf("on %s in %s", w.Channel, w.Session)
	}
	sel, err := inspect.New(g).Select(t.Context(), engine.Message{Text: "restart everything", As: "alice"})
	must(t, err)
	if entry, _ := sel.Catalog().Get("admin_only"); !sel.Stage(entry).Usable() {
		t.Errorf("admin_only is dropped at %s", sel.Stage(entry))
	}
}

func TestSendersThatAreRefused(t *testing.T) {
	t.Parallel()
	now, _ := people(t, identity.User{Name: "alice"})
	g, _ := newEngine(t, func(c *engine.Config) { c.Users = now })
	long := strings.Repeat("x", 300)
	attrs := map[string]string{}
	for i := range 65 {
		attrs[strings.Repeat("a", i+1)] = ""
	}
	for _, c := range []struct {
		m    engine.Message
		kind error
		says string
	}{
		{engine.Message{As: "alcie"}, engine.ErrUnknown, `did you mean "alice"?`},
		{engine.Message{As: "alice", User: "bob"}, engine.ErrInvalid, "as and user"},
		{engine.Message{User: long}, engine.ErrInvalid, "the user has 300 bytes"},
		{engine.Message{Session: long}, engine.ErrInvalid, "the session has 300 bytes"},
		{engine.Message{Channel: "a:b", User: "c"}, engine.ErrInvalid, "contains a colon"},
		{engine.Message{User: "a\nb"}, engine.ErrInvalid, "control character"},
		{engine.Message{User: "\xff"}, engine.ErrInvalid, "not UTF-8"},
		{engine.Message{Roles: make([]string, 65)}, engine.ErrInvalid, "65 roles"},
		{engine.Message{Attrs: attrs}, engine.ErrInvalid, "65 roles or attributes"},
		{engine.Message{Attrs: map[string]string{"a": strings.Repeat("x", 2000)}}, engine.ErrInvalid, "2000 bytes"},
		{engine.Message{Session: strings.Repeat("语", 60), User: "u"}, engine.ErrInvalid, "bytes together"},
	} {
		c.m.Text = "hi"
		_, err := send(g, t.Context(), c.m)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %v with %q", c.m.User+c.m.As, err, c.kind, c.says)
		}
	}
}

// TestRoleLostDuringTurn: a call is judged by what the caller is when it is made.
func TestRoleLostDuringTurn(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]rules.Kind{"hidden": rules.Visibility, "refused": rules.Policy} {
		now, set := people(t, identity.User{Name: "alice", Roles: []string{"admin"}})
		ran := false
		r := catalog.NewRegistry(nil)
		must(t, r.Register(
			tool.Func(tool.Definition{Name: "look", Description: "Look"}, func(context.Context, struct{}) (string, error) { set(identity.User{Name: "alice"}); return "ok", nil }),
			tool.Func(tool.Definition{Name: "wipe", Description: "Wipe"}, func(context.Context, struct{}) (string, error) { ran = true; return "wiped", nil })))
		list, err := rules.Compile(kind, []rules.Rule{{Name: "admins", Allow: []string{"wipe"}, When: `"admin" in user.roles`}}, nil)
		must(t, err)
		g, m := newEngine(t, func(c *engine.Config) {
			c.Registry, c.Users = r, now
			if kind == rules.Visibility {
				r.SetRules(list)
			} else {
				c.Turn.Decide = list.Decide
			}
		}, fake.Step{Calls: []chat.Call{fake.Call("1", "look", "{}")}}, fake.Step{Calls: []chat.Call{fake.Call("2", "wipe", "{}")}}, fake.Step{Text: "done"})
		_, err = send(g, t.Context(), engine.Message{Text: "look and wipe", User: "alice"})
		must(t, err)
		if ran {
			t.Errorf("%s: wipe ran after alice had lost the role", name)
		}
		last := m.Requests()[2].Messages
		if result := last[len(last)-1].Result; result == nil || !result.Failed {
			t.Errorf("%s: the call of wipe did not fail: %+v", name, result)
		}
	}
}

// TestSkillLostDuringTurn: a skill that was the caller's when the turn began cannot be
// taken up once it is not.
func TestSkillLostDuringTurn(t *testing.T) {
	t.Parallel()
	now, set := people(t, identity.User{Name: "alice", Roles: []string{"admin"}})
	r := catalog.NewRegistry(nil)
	must(t, r.Register(
		tool.Func(tool.Definition{Name: "look", Description: "Look"}, func(context.Context, struct{}) (string, error) { set(identity.User{Name: "alice"}); return "ok", nil }),
		tool.Func(tool.Definition{Name: "wipe", Description: "Wipe"}, func(context.Context, struct{}) (string, error) { return "wiped", nil })))
	list, err := rules.Compile(rules.Visibility, []rules.Rule{{Name: "admins", Allow: []string{"skill:ops"}, When: `"admin" in user.roles`}}, nil)
	must(t, err)
	_, err = r.Update([]catalog.Skill{{Name: "ops", Description: "Operate", Tools: []string{"wipe"}}}, list)
	must(t, err)
	g, m := newEngine(t, func(c *engine.Config) { c.Registry, c.Users = r, now },
		fake.Step{Calls: []chat.Call{fake.Call("1", "look", "{}")}}, fake.Step{Calls: []chat.Call{fake.Call("2", "use_skill", `{"name":"ops"}`)}}, fake.Step{Text: "done"})
	_, err = send(g, t.Context(), engine.Message{Text: "look and wipe", User: "alice"})
	must(t, err)
	last := m.Requests()[2].Messages
	if result := last[len(last)-1].Result; result == nil || !result.Failed || !strings.Contains(result.Text, "there is no skill") {
		t.Errorf("the skill was taken up: %+v", result)
	}
}
