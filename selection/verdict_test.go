package selection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
)

// verdicts explains a selection: the names of the tools that are sent, in order of the
// catalog, and the reason for each tool.
func verdicts(sel *selection.Selection) (sent []string, reasons map[string]string) {
	reasons = map[string]string{}
	for _, v := range sel.Explain().Tools {
		reasons[v.Tool] = v.Reason
		if v.Sent {
			sent = append(sent, v.Tool)
		}
	}
	slices.Sort(sent)
	return sent, reasons
}

func wantReasons(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, reason := range want {
		if got[name] != reason {
			t.Errorf("%s: %q, want %q", name, got[name], reason)
		}
	}
}

// When the front is made anew, a tool is there for what holds now: it was called, or it
// fits. That an earlier message announced it, or an earlier front had it, is no reason.
func TestReasonsOfANewFront(t *testing.T) {
	t.Parallel()
	s := selection.New(office(t).Catalog(), choosing)
	_, got := verdicts(s.Select(selection.Request{
		Query: "invoice", Began: selection.Preselect, Cold: true, Declared: []string{selection.FindTools, selection.CallTool, "createInvoice", "send_mail"},
		Announced: []string{"createInvoice"}, Called: []string{"get_weather", "createInvoice"},
	}))
	wantReasons(t, got, map[string]string{
		"get_weather": "called earlier in the session", "createInvoice": "rank 1", "send_mail": "no word of the question matches",
	})
}

// A front without a cache that has grown too large is made anew. What leaves it is not
// sent, and the explanation says so.
func TestOvergrownFrontIsExplained(t *testing.T) {
	t.Parallel()
	s := selection.New(office(t).Catalog(), selection.Config{Direct: -1, Limit: 1, Budget: 50})
	sel := s.Select(selection.Request{
		Query: "invoice", Uncached: true, Began: selection.Preselect,
		Declared: []string{selection.FindTools, selection.CallTool, "get_weather", "send_mail", "search_mail"}, Called: []string{"search_mail"},
	})
	if got := sent(sel); got != "find_tools call_tool search_mail createInvoice" {
		t.Fatalf("sends %s", got)
	}
	all, got := verdicts(sel)
	if want := []string{"createInvoice", "search_mail"}; !slices.Equal(all, want) {
		t.Errorf("the explanation says that %v are sent, want %v", all, want)
	}
	wantReasons(t, got, map[string]string{
		"search_mail": "called earlier in the session", "createInvoice": "rank 1", "send_mail": "no word of the question matches",
	})
	if c := sel.Compact(); c.Dropped[selection.Rank] != 6 {
		t.Errorf("%d tools are dropped by rank, want 6", c.Dropped[selection.Rank])
	}
}

// A tool that fits is left out when the question's own tools fill the announcements, and
// one that is too long is left out for that, however much was announced.
func TestReasonsOfFullAnnouncements(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(nil)
	for i := range 20 {
		must(t, r.Register(define(fmt.Sprint("old", i), "Deal with history")))
	}
	for i := range 6 {
		must(t, r.Register(define(fmt.Sprint("parcel", i), "Send a parcel")))
	}
	must(t, r.Register(define("parcel_long", "Send a parcel "+strings.Repeat("with care and attention ", 30))))
	s := selection.New(r.Catalog(), selection.Config{Direct: -1, Budget: 250})
	req := selection.Request{Query: "parcel", Began: selection.Preselect, Declared: []string{selection.FindTools, selection.CallTool}}
	tokens := func(name string) int {
		e, _ := r.Catalog().Get(name)
		return e.Tokens
	}
	announced := 0
	for i := range 20 {
		if announced+tokens("old0")+3*tokens("parcel0") > 3*250 {
			break
		}
		announced += tokens("old0")
		req.Announced = append(req.Announced, fmt.Sprint("old", i))
	}
	sel := s.Select(req)
	if len(sel.Announced)+len(sel.Named) >= 6 {
		t.Fatalf("%d tokens are announced, and none is left out", announced)
	}
	_, got := verdicts(sel)
	wantReasons(t, got, map[string]string{
		"parcel5":     "rank 6: the session's messages announce enough tools; find_tools finds it",
		"parcel_long": fmt.Sprintf("rank 7: its %d tokens do not fit what was left of 250", tokens("parcel_long")),
	})
}

// What its own caller may not see is explained by that, also in a sub-agent whose
// starter may not see it either.
func TestReasonsOfBounds(t *testing.T) {
	t.Parallel()
	r := registry(t, define("open", "Open the door"))
	must(t, r.RegisterWithFilter(define("safe", "Open the safe"), func(f chat.Facts) bool { return f.User == "owner" }))
	must(t, r.RegisterWithFilter(define("till", "Open the till"), func(f chat.Facts) bool { return f.Agent == "helper" }))
	s := selection.New(r.Catalog(), selection.Config{})
	sel := s.Select(selection.Request{
		Query: "open", Facts: chat.Facts{User: "bob", Agent: "helper"}, Bounds: []selection.Bound{{Facts: chat.Facts{User: "bob", Agent: "main"}}},
	})
	_, got := verdicts(sel)
	wantReasons(t, got, map[string]string{
		"safe": "its filter hides it from this caller", "till": "not for the agent main, which started this sub-agent", "open": "all are sent: few enough to send all",
	})
}

// A front that goes on showing the tools of the phase before loses at once what the
// starter of a sub-agent may no longer see, and these are not counted as visible.
func TestHeldFrontOfBounds(t *testing.T) {
	t.Parallel()
	r := registry(t, define("open", "Open the door"), define("knock", "Knock at the door"))
	must(t, r.RegisterWithFilter(define("safe", "Open the safe"), func(f chat.Facts) bool { return f.Agent == "helper" }))
	_, err := r.SetSkills(catalog.Skill{Name: "quiet", Tools: []string{"open"}})
	must(t, err)
	s := selection.New(r.Catalog(), choosing)
	req := selection.Request{
		Query: "open", Began: selection.Preselect, Held: true, Declared: []string{selection.FindTools, selection.CallTool, "knock", "safe"},
		Facts: chat.Facts{Agent: "helper", Skill: "quiet"}, Bounds: []selection.Bound{{Facts: chat.Facts{Agent: "main"}}},
	}
	sel := s.Select(req)
	if got := sent(sel); got != "find_tools call_tool knock open" {
		t.Errorf("sends %s", got)
	}
	if n := sel.Counts().All; n != 2 {
		t.Errorf("the caller may see %d tools, want 2", n)
	}
	if _, stage := s.Admit(req, "safe"); stage != selection.Visibility {
		t.Errorf("a call gets to %v", stage)
	}
}

// Filters that panic are reported in the same order each time.
func TestFailedIsInOrder(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(nil)
	var want []string
	for i := range 8 {
		must(t, r.RegisterWithFilter(define(fmt.Sprint("tool", i), "Fail"), func(chat.Facts) bool { panic(i) }))
		want = append(want, fmt.Sprintf("its filter panicked: %d: tool tool%d failed unexpectedly", i, i))
	}
	var got []string
	for _, err := range selection.New(r.Catalog(), selection.Config{}).Select(selection.Request{}).Failed() {
		got = append(got, err.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Negative limits send nothing but what needs none.
func TestNegativeLimits(t *testing.T) {
	t.Parallel()
	for _, cfg := range []selection.Config{{Limit: -1}, {Direct: -1, Limit: -1}, {Direct: -1, Budget: -1}, {Limit: -1, Recommend: selection.Recommend{On: true}}} {
		s := selection.New(office(t).Catalog(), cfg)
		sel := s.Select(selection.Request{Query: "invoice", Preferred: []string{"send_mail"}})
		sel.Explain()
		if got := sent(sel); sel.Mode != selection.Direct && got != "find_tools call_tool" || len(sel.Ranked) > 0 {
			t.Errorf("%+v sends %s", cfg, got)
		}
	}
}

// A skill of a sub-agent is hidden when no tool of it is visible to both, the sub-agent
// and its starter, and shown when taking it up opens one to both.
func TestSkillsOfBounds(t *testing.T) {
	t.Parallel()
	r := registry(t, define("safe", "Open the safe"), define("till", "Open the till"), define("gate", "Open the gate"))
	_, err := r.SetSkills(catalog.Skill{Name: "keys", Tools: []string{"safe", "till"}}, catalog.Skill{Name: "garden", Tools: []string{"gate", "till"}})
	must(t, err)
	r.SetRules(compile(t, rules.Rule{Allow: []string{"gate"}, When: `skill == "garden"`}, rules.Rule{Allow: []string{"safe"}, When: `agent == "helper"`}, rules.Rule{Allow: []string{"till"}, When: `agent == "main"`}))
	s := selection.New(r.Catalog(), selection.Config{})
	req := selection.Request{Query: "open", Facts: chat.Facts{Agent: "helper"}, Bounds: []selection.Bound{{Facts: chat.Facts{Agent: "main"}}}}
	sel := s.Select(req)
	if got := slices.Collect(sel.OfferedSkills()); !slices.Equal(got, []string{"garden"}) {
		t.Errorf("offers %v", got)
	}
	if _, ok := s.AdmitSkill(req, "keys"); ok {
		t.Error("a skill without a tool may be taken up")
	}
}
