package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
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
	done     *turn.Done
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

func TestWorkflow(t *testing.T) {
	t.Parallel()
	m := fake.New(
		says(called("finish_phase", `{"summary":"all well"}`)), // refused: nothing was looked at
		says(called("look", `{}`)),
		says(called("mend", `{}`)), // refused: not in this phase
		says(called("finish_phase", `{"summary":"a crack"}`)),
		says(called("mend", `{}`)),
		says(called("check", `{}`)),
		fake.Step{Text: "It is fine now."}, // it is not
		says(called("mend", `{}`), called("check", `{}`)),
		fake.Step{Text: "Mended in two goes."},
	)
	st := &store.Memory{}
	e := flowEngine(t, m, work(), toolsets(), st)
	o := flow(t, e, engine.Message{Workflow: "work", Text: "the bridge", Session: "s"})
	if o.err != nil || o.done == nil {
		t.Fatalf("%+v", o)
	}
	if want := []string{"look", "mend", "report"}; !slices.Equal(o.phases, want) {
		t.Errorf("phases %v, want %v", o.phases, want)
	}
	if !strings.Contains(o.results[0], "The phase look is not finished") || !strings.Contains(o.results[2], "not among the tools of the phase look") || !strings.Contains(o.results[3], "is finished. Next: mend") {
		t.Errorf("results %q", o.results)
	}
	if f := o.done.Flow; f == nil || f.Outcome != workflow.Done || o.done.Reply != "Mended in two goes." || f.Rounds != 9 {
		t.Errorf("end %+v, reply %q", o.done.Flow, o.done.Reply)
	}
	var s session.Session
	for _, key := range keysOf(t, st) {
		s, _ = st.Load(t.Context(), key, 0)
	}
	if s.Skill != "" || s.Flow.Runs() || s.Turn.ID != "" {
		t.Errorf("after the run: skill %q, %+v", s.Skill, s.Flow)
	}
}

func keysOf(t *testing.T, st store.Store) (keys []session.Key) {
	t.Helper()
	list, err := st.List(t.Context(), session.Filter{})
	must(t, err)
	for _, s := range list {
		keys = append(keys, s.Key)
	}
	return keys
}
