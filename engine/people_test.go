package engine_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
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

// TestRolesOfAPerson come from the configuration; what the client states adds to them.
func TestRolesOfAPerson(t *testing.T) {
	t.Parallel()
	now, _ := people(t, identity.User{Name: "alice", Identities: []string{"telegram:42"}, Roles: []string{"admin"}, Groups: []string{"ops"}, Attrs: map[string]string{"plan": "vip"}})
	g, _ := newEngine(t, func(c *engine.Config) { c.Users = now })
	w, err := g.Agents().Whoami(engine.Message{As: "telegram:42", Roles: []string{"tester"}, Attrs: map[string]string{"plan": "free", "desk": "4"}})
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
