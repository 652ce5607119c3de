package rulebook_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// shopConfig has people who decide, and a chat of a channel.
func shopConfig(list ...config.ApprovalRule) *config.Config {
	return &config.Config{
		Users: []config.User{
			{Name: "lena", Identities: []string{"slack:U1"}, Roles: []string{"lead"}}, {Name: "max", Identities: []string{"slack:U2"}},
		},
		Channels: []config.Channel{{Name: "irc", Type: "irc", Groups: []string{"#ops"}}, {Name: "work", Type: "slack"}, {Name: "phone", Type: "telegram"}},
		Policy:   config.Policy{Approvals: config.Approvals{Rules: list}},
	}
}

// TestApprove: rules name people of the configuration, and chats; deny wins over ask, and ask over
// allow. A name that somebody only claims to have, or a chat of another account, does not count.
func TestApprove(t *testing.T) {
	t.Parallel()
	pay := []string{"pay"}
	lena := chat.Facts{Sender: "lena", User: "lena", Channel: "slack", Roles: []string{"lead"}}
	peer := chat.Facts{Sender: "irc:lena", User: "lena", Channel: "irc", Roles: []string{"lead"}}
	ops := chat.Facts{Sender: "irc:x", Channel: "irc", Chat: "#ops", Attrs: map[string]string{"account": "irc"}}
	leads := chat.Facts{Sender: "slack:U1", Channel: "slack", Chat: "C1", Attrs: map[string]string{"account": "work"}}
	named := rulebook.ChatFunc(func(_ context.Context, name string) (p inquiry.Place, err error) {
		if name != "work:#leads" {
			return p, errors.New("no chat has the name")
		}
		p.From.Chat = "C1"
		return p, nil
	})
	other := chat.Facts{Sender: "irc:x", Channel: "irc", Chat: "#ops", Attrs: map[string]string{"account": "work"}}
	for name, c := range map[string]struct {
		rules []config.ApprovalRule
		by    chat.Facts
		want  rules.Effect
	}{
		"no rule":            {nil, lena, rules.Ask},
		"another tool":       {[]config.ApprovalRule{{Allow: []string{"look"}, Users: []string{"max"}}}, lena, rules.Ask},
		"named":              {[]config.ApprovalRule{{Allow: pay, Users: []string{"lena"}}}, lena, rules.Allow},
		"another user":       {[]config.ApprovalRule{{Allow: pay, Users: []string{"max"}}}, lena, rules.Deny},
		"role":               {[]config.ApprovalRule{{Allow: pay, Roles: []string{"lead"}}}, lena, rules.Allow},
		"a role of a peer":   {[]config.ApprovalRule{{Allow: pay, Roles: []string{"lead"}}}, peer, rules.Deny},
		"a name of a peer":   {[]config.ApprovalRule{{Allow: pay, Users: []string{"lena"}}}, peer, rules.Deny},
		"chat":               {[]config.ApprovalRule{{Allow: pay, Chats: []string{"irc:#ops"}}}, ops, rules.Allow},
		"chat by its ID":     {[]config.ApprovalRule{{Allow: pay, Chats: []string{"#ops"}}}, ops, rules.Allow},
		"chat by its name":   {[]config.ApprovalRule{{Allow: pay, Chats: []string{"work:#leads"}}}, leads, rules.Allow},
		"not of that name":   {[]config.ApprovalRule{{Allow: pay, Chats: []string{"work:#other"}}}, leads, rules.Deny},
		"another account":    {[]config.ApprovalRule{{Allow: pay, Chats: []string{"#ops"}}}, other, rules.Deny},
		"and a condition":    {[]config.ApprovalRule{{Allow: pay, Users: []string{"lena"}, When: `channel == "web"`}}, lena, rules.Deny},
		"a condition alone":  {[]config.ApprovalRule{{Allow: pay, When: `channel == "slack"`}}, lena, rules.Allow},
		"one of two":         {[]config.ApprovalRule{{Allow: pay, Users: []string{"max"}}, {Allow: pay, Roles: []string{"lead"}}}, lena, rules.Allow},
		"denied":             {[]config.ApprovalRule{{Allow: pay, Users: []string{"lena"}}, {Ask: pay}, {Deny: pay}}, lena, rules.Deny},
		"left to who asked":  {[]config.ApprovalRule{{Allow: pay, Users: []string{"lena"}}, {Ask: pay}}, lena, rules.Ask},
		"a failed condition": {[]config.ApprovalRule{{Allow: pay, When: `attrs.level == "1"`}}, lena, rules.Deny},
	} {
		registry := catalog.NewRegistry(nil)
		if err := registry.Register(tool.Func(tool.Definition{Name: "pay", Description: "Pay."}, func(context.Context, struct{}) (string, error) { return "", nil })); err != nil {
			t.Fatal(err)
		}
		book, err := rulebook.CompileRules(shopConfig(c.rules...), &workflow.Set{})
		if err == nil {
			err = book.Apply(registry, &workflow.Table{})
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now := registry.Catalog()
		entry, _ := now.Get("pay")
		if d := named.Approve(t.Context(), rules.Attempt{Facts: c.by, Entry: entry, Catalog: now, Now: now}); d.Effect != c.want {
			t.Errorf("%s: %s, want %s", name, d.Effect, c.want)
		}
	}
}

// TestApprovers: a rule that names nobody who exists, or no tool, is refused.
func TestApprovers(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]config.ApprovalRule{
		"there is no user":         {Allow: []string{"pay"}, Users: []string{"nobody"}, After: time.Minute},
		"has the role":             {Allow: []string{"pay"}, Roles: []string{"boss"}},
		"no channel has":           {Allow: []string{"pay"}, Chats: []string{"C1"}},
		"so they need allow":       {Deny: []string{"pay"}, Users: []string{"lena"}},
		"condition is not vali":    {Allow: []string{"pay"}, When: "user.id =="},
		"knows chats by their IDs": {Allow: []string{"pay"}, Chats: []string{"phone:#ops"}},
	} {
		if _, err := rulebook.CompileRules(shopConfig(r), &workflow.Set{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
