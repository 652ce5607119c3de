package preview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// book has three tools, people, and rules of both kinds.
func book(t *testing.T, visible, calls []rules.Rule, users ...identity.User) preview.Book {
	t.Helper()
	r := catalog.NewRegistry(nil)
	for _, name := range []string{"read_mail", "send_mail", "run"} {
		d := tool.Definition{Name: name, Description: name, Groups: []string{"office"}, Risk: tool.Write}
		if err := r.Register(tool.Func(d, func(context.Context, struct {
			To string `json:"to"`
		}) (string, error) {
			t.Error("a preview ran a tool")
			return "", nil
		})); err != nil {
			t.Fatal(err)
		}
	}
	all := map[tool.Risk]rules.Effect{tool.Read: rules.Allow, tool.Write: rules.Allow, tool.Destructive: rules.Allow}
	v, err := rules.Compile(rules.Visibility, visible, all)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rules.Compile(rules.Policy, calls, all)
	if err != nil {
		t.Fatal(err)
	}
	people, err := identity.New(users)
	if err != nil {
		t.Fatal(err)
	}
	r.SetRules(v)
	return preview.Book{Catalog: r.Catalog(), Users: people, Decide: c.Decide}
}

// TestCompare: a preview tells which tools a change hides from whom, and which calls it decides otherwise.
func TestCompare(t *testing.T) {
	ann := identity.User{Name: "ann", Identities: []string{"slack:U1"}, Roles: []string{"admin"}}
	before := book(t, nil, nil, ann)
	past := []inspect.PastTurn{
		{Agent: "main", User: "ann", Text: "first", Sent: []string{"send_mail"}, Calls: []inspect.PastCall{{Tool: "send_mail", Arguments: json.RawMessage(`{"to":"max@elsewhere"}`)}}},
		{Agent: "main", User: "slack:U1", Text: "second"}, // stored before she had a name
		{Agent: "main", User: "slack:U2", Text: "third", Sent: []string{"run"}},
	}
	hide := []rules.Rule{{Name: "admins", Deny: []string{"run"}, When: `!("admin" in user.roles)`, Reason: "only admins run"}}
	ask := []rules.Rule{{Name: "outside", Ask: []string{"send_mail"}, When: `args.to.endsWith("elsewhere")`, Reason: "it leaves the house"}}
	for name, c := range map[string]struct {
		after  preview.Book
		groups string
		want   []string
	}{
		"nothing": {book(t, nil, nil, ann), "", nil},
		"hidden":  {book(t, hide, nil, ann), "", []string{"third run allow>hidden"}},
		"asked":   {book(t, nil, ask, ann), "", []string{"first send_mail called allow>ask"}},
		"denied":  {book(t, nil, []rules.Rule{{Deny: []string{"read_mail"}, When: `user.id == "ann"`}}, ann), "", []string{"first read_mail allow>deny", "second read_mail allow>deny"}},
		"people":  {book(t, hide, nil), "", []string{"first run allow>hidden", "second run allow>hidden", "third run allow>hidden"}},
		"groups":  {book(t, hide, nil), "elsewhere", nil},
	} {
		r, err := preview.Compare(t.Context(), before, c.after, func(string) string { return c.groups }, past)
		if err != nil || r.Turns != 3 {
			t.Fatal(name, r.Turns, err)
		}
		var got []string
		for _, turn := range r.Changed {
			for _, x := range turn.Calls {
				got = append(got, fmt.Sprintf("%s %s called %s>%s", turn.Past.Text, x.Tool, x.Before, x.After))
			}
			for _, x := range turn.Tools {
				if x.Tool == "send_mail" && len(turn.Calls) > 0 {
					continue // the same without its arguments
				}
				got = append(got, fmt.Sprintf("%s %s %s>%s", turn.Past.Text, x.Tool, x.Before, x.After))
			}
		}
		if !slices.Equal(got, c.want) && name != "asked" || name == "asked" && !slices.Contains(got, c.want[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if name == "hidden" && (len(r.Tools) != 1 || r.Tools[0].Used != 1 || r.Tools[0].Why == "") {
			t.Errorf("summed up: %+v", r.Tools)
		}
	}
}

// TestCompareBounded: many tools leave few turns to look at, and a turn lists few changes.
func TestCompareBounded(t *testing.T) {
	past := make([]inspect.PastTurn, 500)
	before := book(t, nil, nil)
	r, err := preview.Compare(t.Context(), before, book(t, []rules.Rule{{Deny: []string{"*"}}}, nil), func(string) string { return "" }, past)
	if err != nil || r.Turns != 100 || len(r.Tools) != 3 || r.Tools[0].Turns != 100 {
		t.Errorf("%d turns, %+v, %v", r.Turns, r.Tools, err)
	}
}

// TestCompareEnds: rules that take long for many tools do not outlast whoever asks.
func TestCompareEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	before, n := book(t, nil, nil), 0
	before.Decide = func(context.Context, rules.Attempt) rules.Decision {
		n++
		cancel()
		return rules.Decision{Effect: rules.Allow}
	}
	r, err := preview.Compare(ctx, before, before, func(string) string { return "" }, make([]inspect.PastTurn, 1))
	if err == nil || n > 2 {
		t.Errorf("%d decisions after the end: %+v, %v", n, r, err)
	}
}
