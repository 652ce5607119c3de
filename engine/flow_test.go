package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// work is a workflow of three phases: look until something is found, mend it until the
// check passes, and report.
func work() workflow.Workflow {
	return workflow.Workflow{Name: "work", Phases: []workflow.Phase{
		{Name: "look", Skill: "looking", Instructions: "Find what is broken.", Next: []workflow.Next{{When: "finished && results.look.count > 0", To: "mend"}}},
		{Name: "mend", Skill: "mending", Instructions: "Mend it, and check.", Limits: workflow.Limits{Rounds: 6}, Otherwise: "report", Next: []workflow.Next{{When: "results.check.data.ok", To: "report"}}},
		{Name: "report", Skill: "looking", Next: []workflow.Next{{When: `reply != ""`, To: workflow.Done}}},
	}}
}

func toolsets() []catalog.Skill {
	return []catalog.Skill{{Name: "looking", Tools: []string{"look"}}, {Name: "mending", Tools: []string{"look", "mend", "check"}}}
}

// workshop has the tools of work. The check passes once something was mended twice.
func workshop() []tool.Tool {
	mended := 0
	return []tool.Tool{
		tool.Func(tool.Definition{Name: "look", Description: "Look", Risk: tool.Read}, func(context.Context, struct{}) (chat.Result, error) { return tool.Text("a crack"), nil }),
		tool.Func(tool.Definition{Name: "mend", Description: "Mend", Risk: tool.Write}, func(context.Context, struct{}) (chat.Result, error) {
			mended++
			return tool.Text("mended"), nil
		}),
		tool.Func(tool.Definition{Name: "check", Description: "Check", Risk: tool.Read}, func(context.Context, struct{}) (chat.Result, error) {
			return tool.Text(fmt.Sprintf(`{"ok": %v}`, mended > 1)), nil
		}),
		tool.Func(tool.Definition{Name: "burn", Description: "Burn it down", Risk: tool.Destructive}, func(context.Context, struct{}) (chat.Result, error) {
			return tool.Text("burnt"), nil
		}),
	}
}

func says(calls ...chat.Call) fake.Step {
	return fake.Step{Calls: calls, Usage: model.Tokens{Input: 100, Output: 10}}
}

func called(name, args string) chat.Call { return fake.Call("", name, args) }

// flowed runs a message through an engine, and returns the phases, the results and the end.
type flowed struct {
	phases   []string
	results  []string
	warnings []string
	done     *turn.End
	err      error
}

func flow(t *testing.T, e *engine.Engine, m engine.Message) (o flowed) {
	t.Helper()
	for ev, err := range e.Send(t.Context(), m) {
		switch {
		case err != nil:
			o.err = err
		case ev.Phase != nil:
			if n := ev.Phase.Name; len(o.phases) == 0 || o.phases[len(o.phases)-1] != n {
				o.phases = append(o.phases, n)
			}
			if w := ev.Phase.Warning; w != "" && !slices.Contains(o.warnings, w) {
				o.warnings = append(o.warnings, w)
			}
		case ev.Result != nil:
			o.results = append(o.results, ev.Result.Text)
		case ev.Done != nil:
			o.done = ev.Done
		}
	}
	return o
}

func flowEngine(t *testing.T, m model.Model, w workflow.Workflow, skills []catalog.Skill, s store.Store) *engine.Engine {
	t.Helper()
	r := catalog.NewRegistry(nil)
	must(t, r.Register(workshop()...))
	if _, err := r.SetSkills(skills...); err != nil {
		t.Fatal(err)
	}
	set, err := workflow.Compile(w)
	must(t, err)
	flows := &workflow.Table{}
	flows.Store(set)
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, Workflows: flows, Store: s})
	must(t, err)
	return e
}

// TestWorkflowFallback: a phase whose toolset is missing, or names a tool that is, has all
// tools, and says so.
func TestWorkflowFallback(t *testing.T) {
	t.Parallel()
	for want, skills := range map[string][]catalog.Skill{
		"names the skill looking, which does not exist":        {{Name: "mending", Tools: []string{"mend", "check"}}},
		"the skill looking of the phase look names tools that": {{Name: "looking", Tools: []string{"look", "telescope"}}, {Name: "mending", Tools: []string{"mend", "check"}}},
	} {
		m := fake.New(says(called("burn", `{}`)), says(called("look", `{}`)), says(called("finish_phase", `{}`)), says(called("mend", `{}`), called("mend", `{}`), called("check", `{}`)), fake.Step{Text: "ok"})
		o := flow(t, flowEngine(t, m, work(), skills, nil), engine.Message{Workflow: "work", Text: "go"})
		if o.err != nil || len(o.warnings) == 0 || !strings.Contains(o.warnings[0], want) || o.results[0] != "burnt" || o.done.Flow.Outcome != workflow.Done {
			t.Errorf("%s: %+v", want, o)
		}
	}
	// A tool of an MCP server that is away is not missing: the phase has what is there.
	for _, there := range [][]string{{}, {"look"}} {
		m := fake.New(says(called("burn", `{}`)), says(called("look", `{}`)), says(called("finish_phase", `{}`)), says(called("mend", `{}`), called("mend", `{}`), called("check", `{}`)), fake.Step{Text: "ok"})
		o := flow(t, flowEngine(t, m, work(), []catalog.Skill{{Name: "looking", Tools: append(there, "mcp__far__telescope")}, {Name: "mending", Tools: []string{"mend", "check"}}}, nil), engine.Message{Workflow: "work", Text: "go"})
		if want := map[int]string{0: "has no tools", 1: "lacks tools that are not available now: mcp__far__telescope"}[len(there)]; len(o.warnings) == 0 || !strings.Contains(o.warnings[0], want) {
			t.Errorf("with %q: warnings %q", there, o.warnings)
		}
		if o.results[0] == "burnt" || strings.Contains(o.results[1], "is not among the tools") == (len(there) > 0) {
			t.Errorf("with %q: results %q", there, o.results)
		}
	}
	// A class name of another program is the tool.
	class := []catalog.Skill{{Name: "looking", Tools: []string{"lookTool"}}, {Name: "mending", Tools: []string{"mend", "checkTool"}}}
	m := fake.New(says(called("burn", `{}`)), says(called("look", `{}`)), says(called("finish_phase", `{}`)), says(called("mend", `{}`), called("mend", `{}`), called("check", `{}`)), fake.Step{Text: "ok"})
	o := flow(t, flowEngine(t, m, work(), class, nil), engine.Message{Workflow: "work", Text: "go"})
	if len(o.warnings) != 0 || o.results[0] == "burnt" || o.done.Flow.Outcome != workflow.Done {
		t.Errorf("%+v", o)
	}
}

// keeping is a store that shows what it is given to keep.
type keeping struct {
	*store.Memory
	kept []string
}

func (k *keeping) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	k.kept = append(k.kept, string(i.Message))
	return k.Memory.Accept(ctx, i)
}

// TestTargetWithoutWorkflow: what only a workflow reads is not kept without one, where nothing
// hides the secrets in it.
func TestTargetWithoutWorkflow(t *testing.T) {
	t.Parallel()
	kept := &keeping{Memory: &store.Memory{}}
	e := flowEngine(t, fake.New(fake.Step{Text: "hi"}), work(), toolsets(), kept)
	if o := flow(t, e, engine.Message{Text: "hello", Target: "the-target", Params: map[string]string{"key": "the-param"}}); o.err != nil {
		t.Fatal(o.err)
	}
	if got := strings.Join(kept.kept, "\n"); got == "" || strings.Contains(got, "the-target") || strings.Contains(got, "the-param") {
		t.Errorf("kept is %s", got)
	}
}

// TestNoWorkflow: what does not begin a workflow is as without any.
func TestNoWorkflow(t *testing.T) {
	t.Parallel()
	requests := func(ws ...workflow.Workflow) []model.Request {
		m := fake.New(says(called("look", `{}`)), fake.Step{Text: "a crack"}, fake.Step{Text: "hm"})
		r := catalog.NewRegistry(nil)
		must(t, r.Register(workshop()...))
		_, err := r.SetSkills(toolsets()...)
		must(t, err)
		set, err := workflow.Compile(ws...)
		must(t, err)
		flows := &workflow.Table{}
		flows.Store(set)
		e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, Workflows: flows, Now: func() time.Time { return time.Unix(1e9, 0) }})
		must(t, err)
		flow(t, e, engine.Message{Text: "look", Session: "s"})
		if len(ws) == 0 {
			flow(t, e, engine.Message{Text: "/run work", Session: "s"}) // only a text
		} else {
			flow(t, e, engine.Message{Text: "no workflow", Session: "s"})
		}
		return m.Requests()
	}
	with, without := requests(work()), requests()
	if len(with) != 3 || len(without) != 3 {
		t.Fatalf("%d and %d requests", len(with), len(without))
	}
	for i := range 2 {
		a, err := json.Marshal(with[i])
		must(t, err)
		b, err := json.Marshal(without[i])
		must(t, err)
		if string(a) != string(b) {
			t.Errorf("request %d differs:\n%s\n%s", i, a, b)
		}
	}
	if last := without[2].Messages[len(without[2].Messages)-1]; last.Text != "/run work" {
		t.Errorf("the model read %q", last.Text)
	}
	e := flowEngine(t, fake.New(), work(), toolsets(), nil)
	for _, text := range []string{"/run wor", "/run nothing"} {
		if o := flow(t, e, engine.Message{Text: text}); o.err == nil || !strings.Contains(o.err.Error(), "work") {
			t.Errorf("%s: %v", text, o.err)
		}
	}
	if o := flow(t, e, engine.Message{Workflow: "work", History: []chat.Message{}}); o.err == nil {
		t.Error("a run in a conversation that nobody stores")
	}
}

// rights are toolsets, rules and a request that a seed decides.
type rights struct {
	registry *catalog.Registry
	policy   *rules.Rules
	exclude  []string // by the request
}

// workTools are the tools of the workshop.
var workTools = []string{"look", "mend", "check", "burn"}

func newRights(t *testing.T, seed uint64) rights {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	some := func() (list []string) {
		for _, n := range workTools {
			if r.IntN(2) == 0 {
				list = append(list, n)
			}
		}
		return list
	}
	reg := catalog.NewRegistry(nil)
	must(t, reg.Register(workshop()...))
	_, err := reg.SetSkills(
		catalog.Skill{Name: "looking", Tools: append(some(), "look")},
		catalog.Skill{Name: "mending", Tools: append(some(), []string{"mend", "nothing"}[r.IntN(2)])},
	)
	must(t, err)
	deny := append(some(), []string{"burn", "skill:mending"}[r.IntN(2)])
	visible, err := rules.Compile(rules.Visibility, []rules.Rule{{Deny: deny, When: `user.id == "bob"`}}, nil)
	must(t, err)
	reg.SetRules(visible)
	policy, err := rules.Compile(rules.Policy, []rules.Rule{{Deny: append(some(), "nobody"), When: `user.id == "bob"`}}, nil)
	must(t, err)
	exclude := []string(nil)
	if r.IntN(2) == 0 && !slices.Contains(deny, "skill:mending") {
		exclude = []string{workTools[r.IntN(len(workTools))]}
	}
	return rights{reg, policy, existing(exclude, deny)}
}

// ran returns which tools a message runs, with a model and workflows.
func (r rights) ran(t *testing.T, message engine.Message, steps []fake.Step, ws ...workflow.Workflow) map[string]bool {
	t.Helper()
	set, err := workflow.Compile(ws...)
	must(t, err)
	flows := &workflow.Table{}
	flows.Store(set)
	e, err := engine.New(engine.Config{
		Registry: r.registry, Agents: []engine.Agent{{Name: "main", Model: fake.New(steps...)}}, Workflows: flows,
		Turn: turn.Config{Decide: r.policy.Decide},
	})
	must(t, err)
	message.Text, message.User, message.Exclude = "go", "bob", r.exclude
	done, err := ended(e, t.Context(), message)
	must(t, err)
	ran := map[string]bool{}
	for _, u := range done.Used {
		if !u.Failed {
			ran[u.Tool] = true
		}
	}
	return ran
}

// TestRightsInPhases: whatever the toolsets, the rules, the request and the model, no phase
// runs a tool that its caller could not run without a workflow.
func TestRightsInPhases(t *testing.T) {
	t.Parallel()
	// The model calls everything, in each phase, by name and by call_tool, and tries to
	// switch the skill.
	var everything []chat.Call
	for _, n := range workTools {
		everything = append(everything, called(n, `{}`), called("call_tool", `{"name":"`+n+`"}`))
	}
	all := append(slices.Clone(everything), called("use_skill", `{"name":"full"}`))
	all = append(all, everything...)
	w := work()
	for i := range w.Phases {
		w.Phases[i].Next = []workflow.Next{{When: "round > 1", To: []string{"mend", "report", "done"}[i]}}
	}
	calls := 0
	for seed := range uint64(60) {
		r := newRights(t, seed)
		may := r.ran(t, engine.Message{Skill: catalog.Full}, []fake.Step{says(all...), {Text: "end"}})
		did := r.ran(t, engine.Message{Workflow: "work"}, slices.Repeat([]fake.Step{says(all...)}, 9), w)
		calls += len(did)
		for tool := range did {
			if !may[tool] {
				t.Errorf("seed %d: %s ran in a phase; without a workflow only %v", seed, tool, may)
			}
		}
	}
	if calls < 20 {
		t.Errorf("only %d tools ran in phases: the test shows nothing", calls)
	}
}

// existing leaves out what a rule hides: naming it is a mistake.
func existing(list, hidden []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return slices.Contains(hidden, n) })
}
