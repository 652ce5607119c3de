package turn_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// priced is a model with a prompt cache and its prices.
type priced struct {
	*fake.Model
	price model.Price
}

func (p priced) Info() model.Info {
	info := p.Model.Info()
	info.Price = p.price
	return info
}

// TestPhaseDelivery: a phase's tools are declared anew where the requests before were short,
// and announced where a long conversation would have to be read again. Each new front counts
// as a cache break; an announced one leaves the front as it was.
func TestPhaseDelivery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of what was found\n", 1200)
	for name, c := range map[string]struct {
		result   string
		life     time.Duration
		price    model.Price
		delivery string
		broken   bool
	}{
		"long, cheap cache":  {long, time.Hour, model.Price{}, "announced", false},
		"long, no cache":     {long, 0, model.Price{}, "declared", false},
		"short, no discount": {"found", time.Hour, model.Price{CacheRead: 1, CacheWrite: 1}, "declared", true},
		"long, dear writing": {long, time.Hour, model.Price{CacheWrite: 1.25}, "announced", false},
	} {
		var looks, mends []string
		var tools []tool.Tool
		add := func(list *[]string, n int, verb string) {
			for i := range n {
				d := tool.Definition{Name: fmt.Sprintf("%s_%d", verb, i), Description: verb + " the part number " + fmt.Sprint(i) + strings.Repeat(" with care", 20), Risk: tool.Read}
				*list = append(*list, d.Name)
				tools = append(tools, tool.Func(d, func(context.Context, struct{}) (chat.Result, error) { return tool.Text(c.result), nil }))
			}
		}
		add(&looks, 12, "look")
		add(&mends, 3, "mend")
		r := catalog.NewRegistry(nil)
		if err := r.Register(tools...); err != nil {
			t.Fatal(err)
		}
		if _, err := r.SetSkills(catalog.Skill{Name: "looking", Tools: looks}, catalog.Skill{Name: "mending", Tools: mends}); err != nil {
			t.Fatal(err)
		}
		set, err := workflow.Compile(workflow.Workflow{Name: "w", Phases: []workflow.Phase{
			{Name: "look", Skill: "looking", Instructions: "look at all parts", Next: []workflow.Next{{When: "calls > 0", To: "mend"}}},
			{Name: "mend", Skill: "mending", Instructions: "mend the parts", Next: []workflow.Next{{When: `reply != ""`, To: "done"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		plan, _ := set.Get("w")
		mend := fake.Call("2", "call_tool", `{"name":"mend_1"}`)
		m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "look_1", "{}")}}, fake.Step{Calls: []chat.Call{mend, fake.Call("3", "look_2", "{}")}}, fake.Step{Text: "mended"})
		m.CacheLife = c.life
		b := &bench{turn.New(priced{m, c.price}, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{}), m}
		in := turn.Input{Text: "mend the machine", Plan: plan, Session: session.Session{Key: "s"}}
		in.Session.Flow = plan.Begin(in.Text, "", nil)
		o := run(b, t.Context(), in)
		if o.err != nil || o.done == nil || o.done.Flow.Outcome != workflow.Done {
			t.Fatalf("%s: %v, %+v", name, o.err, o.done)
		}
		last := o.done.Flow.Path[1]
		if last.Delivery != c.delivery || last.Tools != 3 || last.FullTokens == 0 || last.ToolTokens == 0 {
			t.Errorf("%s: %+v, want %s", name, last, c.delivery)
		}
		if n := b.CacheBreaks()[turn.PhaseSwitch]; (n == 1) != c.broken {
			t.Errorf("%s: %d cache breaks by a phase", name, n)
		}
		before, after := m.Requests()[0], m.Requests()[1]
		if same := fmt.Sprint(names(before.Tools)) == fmt.Sprint(names(after.Tools)) && before.System == after.System; same != (c.delivery == "announced") {
			t.Errorf("%s: the front was %v and is %v", name, names(before.Tools), names(after.Tools))
		}
		results := o.results()
		if results[1].Failed || !results[2].Failed || !strings.Contains(results[2].Text, "not among the tools of the phase mend") {
			t.Errorf("%s: in the phase mend, mend_1: %+v; look_2: %+v", name, results[1].Failed, results[2])
		}
	}
}

func names(list []tool.Definition) (names []string) {
	for _, d := range list {
		names = append(names, d.Name)
	}
	return names
}

// TestNothingGoesOnBehindAPhase: while a workflow runs, a tool finishes before it returns, so
// that the phase is judged by the outcome, and a sub-agent that was started is no result yet.
func TestNothingGoesOnBehindAPhase(t *testing.T) {
	t.Parallel()
	r := catalog.NewRegistry(nil)
	deploy := tool.Func(tool.Definition{Name: "deploy"}, func(ctx context.Context, _ struct{}) (chat.Result, error) {
		if finish, ok := tool.Defer(ctx); ok {
			finish(tool.Failure("no room"))
			return chat.Result{Text: "deploying", Pending: true}, nil
		}
		return tool.Failure("no room"), nil
	})
	spawn := tool.Func(tool.Definition{Name: "spawn"}, func(context.Context, struct{}) (chat.Result, error) {
		return chat.Result{Text: "begun", Pending: true, Session: "s/sub"}, nil
	})
	if err := r.Register(deploy, spawn); err != nil {
		t.Fatal(err)
	}
	set, err := workflow.Compile(workflow.Workflow{Name: "w", Phases: []workflow.Phase{{Name: "deploy", Next: []workflow.Next{
		{When: "!results.deploy.failed || results.spawn.count > 0", To: workflow.Done}, {When: "calls == 2", To: workflow.Failed},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	plan, _ := set.Get("w")
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "spawn", "{}"), fake.Call("2", "deploy", "{}")}})
	b := &bench{turn.New(m, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{}), m}
	in := turn.Input{Text: "deploy", Plan: plan, Session: session.Session{Key: "s"}, Late: func(chat.Call, chat.Result) { t.Error("a call went on after the turn") }}
	in.Session.Flow = plan.Begin(in.Text, "", nil)
	o := run(b, t.Context(), in)
	if o.err != nil || o.done == nil || o.done.Flow.Outcome != workflow.Failed {
		t.Fatalf("%v, %+v", o.err, o.done)
	}
	if awaits := o.steps[len(o.steps)-1].State.Awaits; len(awaits) != 1 || awaits[0].For != session.SubAgent {
		t.Errorf("the session awaits %+v", awaits)
	}
}

// TestBrokenCondition: a condition that cannot be judged is told to the operator once, and ends its
// phase instead of burning the rounds of it; one that reads what is not there yet does not.
func TestBrokenCondition(t *testing.T) {
	t.Parallel()
	cover := tool.Func(tool.Definition{Name: "cover", Risk: tool.Read}, func(context.Context, struct {
		Try int `json:"try"`
	}) (chat.Result, error) {
		return tool.Text(`{"branch": "81", "line": 90}`), nil
	})
	call := func(n int) fake.Step {
		return fake.Step{Calls: []chat.Call{fake.Call(fmt.Sprint("c", n), "cover", fmt.Sprintf(`{"try":%d}`, n))}}
	}
	plain := tool.Func(tool.Definition{Name: "plain", Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return "81 %", nil })
	finish := fake.Step{Calls: []chat.Call{fake.Call("f", "finish_phase", `{"summary":"it is 81 %"}`)}}
	reply := fake.Step{Text: "It is 81 %."}
	for name, c := range map[string]struct {
		when, otherwise  string
		steps            []fake.Step
		outcome, reason  string
		asked, errorsLog int
	}{
		"a reply ends it":        {"results.cover.data.branch > 80", "", []fake.Step{call(1), reply, reply}, workflow.Failed, "no such overload", 2, 1},
		"finish_phase ends it":   {"results.cover.data.brunch > 80", "", []fake.Step{call(1), finish, reply}, workflow.Failed, "no such key: brunch", 2, 1},
		"a text without data":    {"results.plain.data.line > 80", "", []fake.Step{{Calls: []chat.Call{fake.Call("p", "plain", "{}")}}, reply, reply}, workflow.Failed, "no such key: data", 2, 1},
		"only when finished":     {"finished && results.cover.data.branch > 80", "", []fake.Step{call(1), finish, reply}, workflow.Failed, "no such overload", 2, 1},
		"three rounds of calls":  {"results.cover.data.branch > 80", "", []fake.Step{call(1), call(2), call(3), call(4)}, workflow.Failed, "no such overload", 3, 1},
		"otherwise is the way":   {"results.cover.data.branch > 80", "report", []fake.Step{call(1), reply, {Text: "reported"}}, workflow.Done, "", 3, 1},
		"a reply before it":      {"results.cover.data.branch > 80", "", []fake.Step{reply, call(1), {Text: "again"}}, workflow.Failed, "no such overload", 3, 1},
		"not there yet":          {"results.cover.data.line > 80", "", []fake.Step{reply, call(1)}, workflow.Done, "", 2, 0},
		"not there, and a limit": {"results.other.data.line > 80", "", []fake.Step{reply, reply, reply, reply, reply}, workflow.Limit, "may have 5 rounds", 5, 0},
	} {
		r := catalog.NewRegistry(nil)
		if err := r.Register(cover, plain); err != nil {
			t.Fatal(err)
		}
		set, err := workflow.Compile(workflow.Workflow{Name: "w", Phases: []workflow.Phase{
			{Name: "measure", Next: []workflow.Next{{When: c.when, To: "done"}}, Otherwise: c.otherwise, Limits: workflow.Limits{Rounds: 5}},
			{Name: "report", Next: []workflow.Next{{When: `reply != ""`, To: "done"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		plan, _ := set.Get("w")
		m := fake.New(c.steps...)
		var log strings.Builder
		cfg := turn.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}
		b := &bench{turn.New(m, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), cfg), m}
		in := turn.Input{Text: "measure", Plan: plan, Session: session.Session{Key: "s"}}
		in.Session.Flow = plan.Begin(in.Text, "", nil)
		o := run(b, t.Context(), in)
		if o.err != nil || o.done == nil {
			t.Fatalf("%s: %v", name, o.err)
		}
		f := o.done.Flow
		told := strings.Count(log.String(), "a condition of a workflow fails")
		if f.Outcome != c.outcome || !strings.Contains(f.Reason, c.reason) || len(m.Requests()) != c.asked || told != c.errorsLog {
			t.Errorf("%s: %s (%s) after %d answers, told %d times\n%s", name, f.Outcome, f.Reason, len(m.Requests()), told, o.done.Reply)
		}
		if c.outcome == workflow.Failed && !strings.Contains(o.done.Reply, c.reason) {
			t.Errorf("%s: the reply does not say why: %s", name, o.done.Reply)
		}
	}
}
