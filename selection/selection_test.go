package selection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// described is a tool without a use.
type described struct{ d tool.Definition }

func (d described) Definition() tool.Definition { return d.d }
func (d described) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return tool.Text("done"), nil
}

func define(name, description string, groups ...string) tool.Tool {
	return described{tool.Definition{Name: name, Description: description, Groups: groups, Risk: tool.Read}}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func registry(tb testing.TB, tools ...tool.Tool) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	must(tb, r.Register(tools...))
	return r
}

// office is a small catalog with something to choose from.
func office(tb testing.TB) *catalog.Registry {
	return registry(tb,
		define("get_pod_logs", "Read the log output of a pod's containers", "kubernetes"),
		define("list_pods", "List the pods of a namespace", "kubernetes"),
		define("createInvoice", "Bill a customer", "finance"),
		define("refund.payment", "Pay money back to a customer", "finance"),
		described{tool.Definition{Name: "get_weather", Description: "Tell the weather of a city", Translations: map[string]string{"zh": "查询某地的天气预报"}, Groups: []string{"weather"}}},
		described{tool.Definition{Name: "request_leave", Description: "Apply for vacation", Aliases: []string{"请假", "day off"}, Groups: []string{"hr"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"substitute":{"type":"string","description":"colleague who stands in"},"kind":{"type":"string","enum":["sabbatical","annual"]}}}`)}},
		define("send_mail", "Send an e-mail to somebody", "mail"),
		define("search_mail", "Find e-mails by sender or words", "mail"),
	)
}

func sent(sel *selection.Selection) string {
	var list []string
	for _, e := range append(slices.Clone(sel.Declared), sel.Announced...) {
		list = append(list, e.Definition.Name)
	}
	return strings.Join(list, " ")
}

var choosing = selection.Config{Direct: -1, Limit: 2}

func TestStages(t *testing.T) {
	r := office(t)
	must(t, r.RegisterWithFilter(define("read_salaries", "Read what people earn", "hr"), func(f chat.Facts) bool { return f.HasRole("hr") }))
	must(t, r.RegisterWithFilter(define("broken", "Has a filter that panics", "hr"), func(chat.Facts) bool { panic("oops") }))
	must(t, r.Register(define("find_tools", "poses as another")))
	_, err := r.SetSkills(catalog.Skill{Name: "post", Tools: []string{"group:mail"}})
	must(t, err)
	s := selection.New(r.Catalog(), selection.Config{Direct: -1, Limit: 1, Budget: 60, Disabled: []string{"list_pods"}})
	req := selection.Request{Query: "mail", Facts: chat.Facts{User: "bob"}}
	cases := []struct {
		tool   string
		change func(*selection.Request)
		stage  selection.Stage
		says   string
	}{
		{"list_pods", nil, selection.Enabled, "switched off"},
		{"find_tools", nil, selection.Enabled, "reserved"},
		{"get_weather", func(r *selection.Request) { r.Groups = "mail,hr" }, selection.Groups, `"mail,hr"`},
		{"read_salaries", nil, selection.Visibility, "hides it"},
		{"broken", nil, selection.Visibility, "panicked"},
		{"get_weather", func(r *selection.Request) { r.Facts.Skill = "post" }, selection.Toolset, `skill "post"`},
		{"get_weather", func(r *selection.Request) { r.Facts.Skill = "nope" }, selection.Toolset, `no skill "nope"`},
		{"send_mail", func(r *selection.Request) { r.Exclude = []string{"send_mail"} }, selection.Requested, "excluded"},
		{"send_mail", func(r *selection.Request) { r.Include = []string{"search_mail"} }, selection.Requested, "not among"},
		{"get_weather", nil, selection.Rank, "no word"},
		{"send_mail", nil, selection.Sent, "rank 1"},
		{"search_mail", nil, selection.Rank, "others fit better"},
		{"send_mail", func(r *selection.Request) { r.Budget = 5 }, selection.Budget, "tokens"},
	}
	for _, c := range cases {
		changed := req
		if c.change != nil {
			c.change(&changed)
		}
		for _, v := range s.Select(changed).Explain().Tools {
			if v.Tool == c.tool && (v.Stage != c.stage || !strings.Contains(v.Reason, c.says)) {
				t.Errorf("%s with %+v: stage %v, %q; want %v and %q", c.tool, changed, v.Stage, v.Reason, c.stage, c.says)
			}
		}
		_, stage := s.Admit(changed, c.tool)
		if stage.Usable() != c.stage.Usable() || !stage.Usable() && stage != c.stage {
			t.Errorf("Admit(%s) = %v, the selection says %v", c.tool, stage, c.stage)
		}
	}
	if e, _ := s.Admit(req, "missing"); e != nil {
		t.Error("a tool that does not exist was admitted")
	}
	if _, stage := s.Admit(selection.Request{Facts: chat.Facts{Roles: []string{"hr"}}}, "read_salaries"); !stage.Usable() {
		t.Error("who has the role may not call the tool")
	}
}

func TestFunnelAddsUp(t *testing.T) {
	s := selection.New(office(t).Catalog(), selection.Config{Direct: -1, Limit: 1, Disabled: []string{"group:mail"}})
	x := s.Select(selection.Request{Query: "pod", Groups: "kubernetes,mail"}).Explain()
	left := x.Funnel[0].Left
	for _, step := range x.Funnel[1:] {
		if left-step.Dropped != step.Left {
			t.Errorf("step %+v after %d", step, left)
		}
		left = step.Left
	}
	if left != 1 {
		t.Errorf("%v tools are left, want 1", left)
	}
	if x.Funnel[0].Left != 8 {
		t.Errorf("%d tools before the first stage, want 8", x.Funnel[0].Left)
	}
	raw, err := json.Marshal(x)
	must(t, err)
	var back selection.Explanation
	must(t, json.Unmarshal(raw, &back))
	if back.Tools[0].Stage != selection.Sent {
		t.Errorf("the stage of the first tool is %v, want %v", back.Tools[0].Stage, selection.Sent)
	}
	if back.Tools[0].Tool != "get_pod_logs" {
		t.Errorf("the first tool is %q, want %q", back.Tools[0].Tool, "get_pod_logs")
	}
}

func TestBudget(t *testing.T) {
	r := office(t)
	all := 0
	for e := range r.Catalog().All() {
		all += e.Tokens
	}
	s := selection.New(r.Catalog(), selection.Config{Direct: -1})
	for _, c := range []struct{ budget, window, want int }{{0, 0, 3000}, {100, 0, 100}, {0, 1000, 100}, {50, 1000, 50}} {
		sel := s.Select(selection.Request{Query: "mail pod customer", Budget: c.budget, Window: c.window})
		tokens := 0
		for _, m := range sel.Ranked {
			tokens += m.Tokens
		}
		if got := sel.Tokens().Budget; got != c.want || tokens > c.want {
			t.Errorf("budget %d, window %d: %d allowed, %d sent; want %d", c.budget, c.window, got, tokens, c.want)
		}
	}
	if got := s.Select(selection.Request{Query: "mail"}).Tokens(); got.Usable != all || got.Sent == 0 {
		t.Errorf("tokens %+v", got)
	}
}

func TestSearchKeepsToItsLimit(t *testing.T) {
	s := selection.New(office(t).Catalog(), choosing)
	if found := s.Search(selection.Request{Query: "mail customer pod"}, 2); len(found) != 2 {
		t.Errorf("%d found", len(found))
	}
	said := []chat.Message{{Role: chat.User, Text: "what is the weather in Berlin?"}}
	if found := s.Search(selection.Request{Query: "Rome", History: said}, 3); len(found) > 0 {
		t.Errorf("a search finds %v by what was said before", found[0].Definition.Name)
	}
	if found := s.Search(selection.Request{Query: "refund.payment"}, 1); len(found) != 1 || found[0].Definition.Name != "refund.payment" {
		t.Errorf("found %+v", found)
	}
}

// However large the limit is, all tools that match are found.
func TestSearchWithoutLimit(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(nil)
	for i := range 40 {
		must(t, r.Register(define(fmt.Sprint("list", i), "List parcels"), define(fmt.Sprint("other", i), "Do something")))
	}
	s := selection.New(r.Catalog(), selection.Config{})
	for _, limit := range []int{40, 1000, math.MaxInt} {
		if got := len(s.Search(selection.Request{Query: "parcels"}, limit)); got != 40 {
			t.Errorf("a limit of %d finds %d tools, want 40", limit, got)
		}
	}
}

// Half-known names find their tools, however many others fit better.
func TestHalfKnownNamesFind(t *testing.T) {
	r := office(t)
	for i := range 30 {
		must(t, r.Register(define(fmt.Sprint("jira_note_", i), "Create, create and create issues in jira")))
	}
	must(t, r.Register(define("jira_create_issue", "Open a ticket"), define("jiraCreateEpic", "Open an epic")))
	s := selection.New(r.Catalog(), choosing)
	for query, want := range map[string]string{
		"jira create": "jiraCreateEpic jira_create_issue", "jira_create_iss": "jira_create_issue", "create-issue": "jira_create_issue",
		"jira_create_issue": "jira_create_issue", "refu pay": "refund.payment", "invoi": "createInvoice", "JiraCreateE": "jiraCreateEpic", "zzz": "",
	} {
		var names []string
		for _, m := range s.Search(selection.Request{Query: query}, 5) {
			names = append(names, m.Definition.Name)
		}
		if got := strings.Join(names, " "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q finds %q, want %q first", query, got, want)
		}
	}
}

func TestSameInputSameOutput(t *testing.T) {
	s, again := selection.New(office(t).Catalog(), choosing), selection.New(office(t).Catalog(), choosing)
	req := selection.Request{Query: "mail and pods and customers 客户"}
	a, _ := json.Marshal(s.Select(req).Explain())
	b, _ := json.Marshal(again.Select(req).Explain())
	if string(a) != string(b) {
		t.Errorf("two explanations:\n%s\n%s", a, b)
	}
}

func TestSignature(t *testing.T) {
	d := tool.Definition{Name: "t", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"enum":["x",1]},"c":{"type":["string","null"]}},"required":["b"]}`)}
	if got, want := selection.Signature(d), `t(b: string, a?: "x"|1, c?: any)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := selection.Signature(tool.Definition{Name: "t", Parameters: json.RawMessage(`[`)}); got != "t()" {
		t.Errorf("a broken schema gives %s", got)
	}
	d.Parameters = json.RawMessage(`{"properties":{"a":{"enum":["<m>",null,1000000,0.1,true,{"k":[1]},"a\nb","中"]}}}`)
	if got, want := selection.Signature(d), `t(a?: "<m>"|null|1000000|0.1|true|{"k":[1]}|"a\nb"|"中")`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var wide []string
	for i := range 200 {
		wide = append(wide, fmt.Sprintf(`"p%03d\nCall it":{"type":"string"}`, i))
	}
	d.Parameters = json.RawMessage(`{"properties":{` + strings.Join(wide, ",") + `,"must":{"type":"string"}},"required":["must"]}`)
	if got := selection.Signature(d); len(got) > 520 || strings.Contains(got, "\n") || !strings.HasPrefix(got, "t(must: string, p000 Call it?: string, ") || !strings.HasSuffix(got, ", …)") {
		t.Errorf("a wide schema gives %q", got)
	}
}
