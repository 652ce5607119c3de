package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// awayMemory is a shared memory that does not answer at first.
type awayMemory struct {
	store.Memories
	is atomic.Bool
}

func (a *awayMemory) Texts(ctx context.Context, owner string, names ...string) (map[string]string, error) {
	if a.is.Load() {
		return nil, errors.New("connection refused")
	}
	return a.Memories.Texts(ctx, owner, names...)
}

// A message whose turn cannot read the shared memory waits, and is answered when the
// memory is back.
func TestMemoryIsAwayAndComesBack(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	shared := &awayMemory{Memories: store.Memories{Records: kept, Agent: "main"}}
	shared.is.Store(true)
	g, m := newEngine(t, func(c *engine.Config) {
		c.Store = kept
		c.Agents[0].Memory = memory.New(memory.Config{Shared: shared})
	}, fake.Step{Text: "yes"})
	message := engine.Message{Text: "one", User: "ann", IdempotencyKey: "1"}
	if _, err := send(g, t.Context(), message); !errors.Is(err, engine.ErrStore) {
		t.Errorf("without the memory: %v", err)
	}
	shared.is.Store(false)
	if text, err := send(g, t.Context(), message); err != nil || text != "yes" {
		t.Errorf("with it: %q, %v", text, err)
	}
	idle(t, g)
	if n := len(m.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// The instructions stay with the model when the shared memory is away at the moment at which
// a phase begins.
func TestMemoryIsAwayAtASwitch(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	shared := &awayMemory{Memories: store.Memories{Records: kept, Agent: "main"}}
	r := catalog.NewRegistry(nil)
	must(t, r.Register(tool.Func(tool.Definition{Name: "look", Description: "Look", Risk: tool.Read}, func(context.Context, struct{}) (string, error) {
		shared.is.Store(true)
		return "a crack", nil
	})))
	set, err := workflow.Compile(workflow.Workflow{Name: "work", Phases: []workflow.Phase{
		{Name: "look", Next: []workflow.Next{{When: "calls > 0", To: "report"}}},
		{Name: "report", Next: []workflow.Next{{When: `reply != ""`, To: workflow.Done}}},
	}})
	must(t, err)
	flows := &workflow.Table{}
	flows.Store(set)
	m := fake.New(says(called("look", `{}`)), fake.Step{Text: "a crack"})
	e, err := engine.New(engine.Config{
		Registry: r, Workflows: flows, Store: kept,
		Agents: []engine.Agent{{Name: "main", Model: m, Instructions: "Never touch the red button.", Memory: memory.New(memory.Config{Shared: shared})}},
	})
	must(t, err)
	if o := flow(t, e, engine.Message{Workflow: "work", Text: "go", User: "ann"}); o.err != nil {
		t.Errorf("%+v", o)
	}
	requests := m.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, req := range requests {
		if !strings.Contains(req.System, "red button") {
			t.Errorf("request %d: the system prompt is %q", i, req.System)
		}
	}
}
