package engine_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/workflow"
)

// TestWorkflowGone: a run whose workflow is gone has failed and says so, and its conversation
// has the tools back that it had before.
func TestWorkflowGone(t *testing.T) {
	t.Parallel()
	for _, said := range []string{message.Run, "hello"} {
		m := fake.New(says(called("look", `{}`)), fake.Step{Err: &model.Error{Kind: model.ErrUnavailable}}, fake.Step{Text: "hi"}, fake.Step{Text: "hi"})
		r := catalog.NewRegistry(nil)
		must(t, r.Register(workshop()...))
		_, err := r.SetSkills(toolsets()...)
		must(t, err)
		set, err := workflow.Compile(work())
		must(t, err)
		flows, st := &workflow.Table{}, &store.Memory{}
		flows.Store(set)
		e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, Workflows: flows, Store: st})
		must(t, err)
		if o := flow(t, e, engine.Message{Workflow: "work", Text: "go", Session: "s"}); o.err == nil {
			t.Fatalf("%+v", o)
		}
		none, err := workflow.Compile()
		must(t, err)
		flows.Store(none)
		o := flow(t, e, engine.Message{Text: said, Session: "s"})
		if o.err != nil || !strings.Contains(o.done.Reply, "does not exist any more") {
			t.Errorf("%s: %q", said, o.done.Reply)
		}
		s, err := st.Load(t.Context(), keysOf(t, st)[0], 0)
		must(t, err)
		if n := len(m.Requests()); n != 2 {
			t.Errorf("%s: the model was asked %d times, want the two before", said, n)
		}
		if s.Skill != "" || s.Flow.Runs() || s.Flow.Outcome != workflow.Failed || len(s.Flow.Results) > 0 {
			t.Errorf("%s: afterwards the skill is %q, and the run %+v", said, s.Skill, s.Flow)
		}
	}
}

// TestAcceptedWorkflowGone: a message that names a workflow which is gone when its turn comes is
// not answered without the phases.
func TestAcceptedWorkflowGone(t *testing.T) {
	t.Parallel()
	m, st := fake.New(says(called("burn", `{}`)), fake.Step{Text: "burnt it all"}), &store.Memory{}
	_, _, err := st.Accept(t.Context(), store.Item{Session: mainKey, Message: []byte(`{"text":"go","workflow":"removed"}`), Holder: "an earlier process"})
	must(t, err)
	e := flowEngine(t, m, work(), toolsets(), st)
	must(t, e.Resume(t.Context()))
	if n := len(m.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	s := load(t, st)
	if s.Flow == nil || s.Flow.Outcome != workflow.Failed || s.Open() || len(s.Messages) == 0 || s.Messages[len(s.Messages)-1].Text != "The workflow removed ended: failed. The workflow removed does not exist any more." {
		t.Errorf("%+v, %+v", s.Flow, s.Messages)
	}
}
