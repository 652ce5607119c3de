package turn_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// TestLongRun: in a run that outgrows the model's window, the phases before give way to a
// summary, not the results of the phase that goes on.
func TestLongRun(t *testing.T) {
	t.Parallel()
	const window, part = 8000, 4000
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "look", Description: "look", Risk: tool.Read}, func(_ context.Context, in struct{ At string }) (chat.Result, error) {
		return tool.Text("found at " + in.At + ": " + strings.Repeat("x", part)), nil
	})); err != nil {
		t.Fatal(err)
	}
	set, err := workflow.Compile(workflow.Workflow{Name: "w", Phases: []workflow.Phase{
		{Name: "one", Next: []workflow.Next{{When: "calls > 3", To: "two"}}},
		{Name: "two", Next: []workflow.Next{{When: "calls > 3", To: "three"}}},
		{Name: "three", Next: []workflow.Next{{When: `reply != ""`, To: "done"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	plan, _ := set.Get("w")
	var steps []fake.Step
	for i := range 10 {
		steps = append(steps, fake.Step{Calls: []chat.Call{fake.Call(fmt.Sprint("c", i), "look", fmt.Sprintf(`{"At":"place %d"}`, i))}})
	}
	m := fake.New(append(steps, fake.Step{Text: "all seen"})...)
	m.Window = window
	sums := fake.New(slices.Repeat([]fake.Step{{Text: "the summary"}}, 20)...)
	b := &bench{turn.New(m, selection.Follow(r, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{Summarizer: sums}), m}
	in := turn.Input{Text: "look everywhere", Plan: plan, Session: session.Session{Key: "s"}}
	in.Session.Flow = plan.Begin(in.Text, "", nil)
	o := run(b, t.Context(), in)
	if o.err != nil || o.done == nil || o.done.Flow.Outcome != workflow.Done {
		t.Fatalf("%v, %+v", o.err, o.done)
	}
	for i, req := range m.Requests() {
		size := len(req.System) + prompt.Size(req.Messages...)
		if size > window*prompt.BytesPerToken {
			t.Errorf("request %d has %d bytes", i, size)
		}
		last := req.Messages[len(req.Messages)-1]
		if last.Result != nil && len(last.Result.Text) < part {
			t.Errorf("request %d: of the newest result there are %d bytes", i, len(last.Result.Text))
		}
		calls := map[string]bool{}
		for _, m := range req.Messages {
			for _, c := range m.Calls {
				calls[c.ID] = true
			}
			if m.Result != nil && !calls[m.Result.CallID] {
				t.Errorf("request %d: a result without its call: %s", i, m.Result.CallID)
			}
		}
	}
	last := m.Requests()[len(m.Requests())-1]
	if !strings.Contains(last.System, "the summary") && !strings.Contains(fmt.Sprint(last.Messages[0]), "the summary") {
		t.Error("the last request has no summary of the phases before")
	}
	// What is stored of the session says what is sent, so that another process goes on so.
	stored, sent := 0, 0
	for _, s := range o.steps {
		stored += len(s.Messages)
		sent = s.State.Sent
	}
	if sent <= 0 || sent > stored {
		t.Errorf("%d of %d stored messages are sent", sent, stored)
	}
}

// TestSummaryOfAllBefore: when the results of a turn leave no room for anything that was said
// before, the model reads the summary of it.
func TestSummaryOfAllBefore(t *testing.T) {
	t.Parallel()
	const window, part = 8000, 6000
	b := newBench(t, turn.Config{Summarizer: fake.New(fake.Step{Text: "the summary"})}, selection.Config{}, []tool.Tool{
		tool.Func(tool.Definition{Name: "look", Description: "look", Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return strings.Repeat("x", part), nil }),
	}, fake.Step{Calls: []chat.Call{fake.Call("1", "look", "{}")}}, fake.Step{Calls: []chat.Call{fake.Call("2", "look", "{}")}}, fake.Step{Text: "done"})
	b.model.Window = window
	in := turn.Input{Text: "look twice", Session: session.Session{Key: "s", Messages: []chat.Message{
		{Role: chat.User, Text: "remember this: " + strings.Repeat("y", 9000)}, {Role: chat.Assistant, Text: "I do."},
	}}}
	if o := run(b, t.Context(), in); o.err != nil || o.done == nil {
		t.Fatalf("%+v", o.err)
	}
	requests := b.model.Requests()
	if first := requests[0].Messages; len(first) != 3 {
		t.Fatalf("the first request has %d messages, want what was said before, too", len(first))
	}
	last := requests[len(requests)-1].Messages
	if !strings.Contains(last[0].Note, "the summary") || last[0].Text != "look twice" || strings.Count(fmt.Sprint(last), "the summary") != 1 {
		t.Errorf("the last request begins with %.200q, %.200q", last[0].Note, last[0].Text)
	}
}
