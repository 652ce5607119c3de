package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
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
