package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// TestPhaseClosed: a phase whose toolset the caller may not use, or that nobody can use for
// now, has none of its tools, and no others in their place.
func TestPhaseClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		visible, policy []rules.Rule
		skills          []catalog.Skill
		away            string // a skill or tool that is not available
		has             []string
	}{
		"refused by the policy":    {policy: []rules.Rule{{Deny: []string{"skill:looking"}}}, skills: toolsets()},
		"asked about":              {policy: []rules.Rule{{Ask: []string{"skill:looking"}}}, skills: toolsets()},
		"hidden":                   {visible: []rules.Rule{{Deny: []string{"skill:looking"}}}, skills: toolsets()},
		"its tools are hidden":     {visible: []rules.Rule{{Deny: []string{"look"}}}, skills: toolsets()},
		"on other channels":        {skills: []catalog.Skill{{Name: "looking", Tools: []string{"look"}, Channels: []string{"slack"}}, toolsets()[1]}},
		"disabled":                 {skills: toolsets()[1:], away: "looking"},
		"a tool of it is disabled": {skills: []catalog.Skill{{Name: "looking", Tools: []string{"look", "telescope"}}, toolsets()[1]}, away: "telescope", has: []string{"look"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := catalog.NewRegistry(nil)
			must(t, r.Register(workshop()...))
			if c.away != "" {
				r.Supply("skill", catalog.Supply{Unavailable: []catalog.Unavailable{{Name: c.away, Reason: "disabled by ann"}}})
			}
			_, err := r.SetSkills(c.skills...)
			must(t, err)
			visible, err := rules.Compile(rules.Visibility, c.visible, nil)
			must(t, err)
			r.SetRules(visible)
			policy, err := rules.Compile(rules.Policy, c.policy, nil)
			must(t, err)
			w := work()
			w.Phases[0].Next = []workflow.Next{{When: "round > 0", To: workflow.Done}}
			set, err := workflow.Compile(w)
			must(t, err)
			flows := &workflow.Table{}
			flows.Store(set)
			calls := says(called("look", `{}`), called("mend", `{}`), called("check", `{}`), called("burn", `{}`), called("call_tool", `{"name":"burn"}`))
			m := fake.New(calls)
			e, err := engine.New(engine.Config{
				Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, Workflows: flows, Turn: turn.Config{Decide: policy.Decide},
			})
			must(t, err)
			o := flow(t, e, engine.Message{Workflow: "work", Text: "put it on fire, look and mend", Session: "s"})
			if o.err != nil || o.done == nil {
				t.Fatalf("%+v", o)
			}
			var ran []string
			for _, u := range o.done.Used {
				if !u.Failed {
					ran = append(ran, u.Tool)
				}
			}
			if !slices.Equal(ran, c.has) {
				t.Errorf("%v ran, want %v", ran, c.has)
			}
			request := m.Requests()[0]
			for _, d := range request.Tools {
				if slices.Contains([]string{"look", "mend", "check", "burn"}, d.Name) && !slices.Contains(c.has, d.Name) {
					t.Errorf("the model is shown %s", d.Name)
				}
			}
			last := request.Messages[len(request.Messages)-1]
			for _, name := range []string{"burn", "check"} {
				if strings.Contains(last.Note, name) || strings.Contains(request.System, name) {
					t.Errorf("the model reads of %s: %s", name, last.Note)
				}
			}
			if len(c.has) == 0 && !strings.Contains(last.Note, "No tools can be used in this phase.") {
				t.Errorf("the model is not told: %s", last.Note)
			}
			if len(o.warnings) == 0 {
				t.Error("no warning")
			}
		})
	}
}
