package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
)

// An engine that stops lets running turns end and begins none: whoever waits for a turn learns
// at once that etui stops, and the message is left for the next process, as one that nobody
// has tried.
func TestStopBeginsNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, hold := &store.Memory{}, make(chan struct{})
		g, m := newEngine(t, func(c *engine.Config) { c.Store, c.MaxTurns = kept, 5 }, fake.Step{Text: "one", Wait: hold}, fake.Step{Text: "two", Wait: hold}, fake.Step{Text: "three", Wait: hold}, fake.Step{Text: "four", Wait: hold}, fake.Step{Text: "five", Wait: hold})
		var running, queued, background sync.WaitGroup
		for _, s := range []string{"a", "b", "c", "d", "e"} {
			running.Go(func() {
				if text, err := send(g, t.Context(), engine.Message{Text: "running", Session: s}); err != nil || text == "" {
					t.Errorf("the running turn: %q, %v", text, err)
				}
			})
		}
		synctest.Wait()
		_, _, err := kept.Accept(t.Context(), store.Item{Session: keyOf(t, g, engine.Message{Session: "a"}), Message: []byte(`{"text":"left"}`)})
		must(t, err)
		background.Go(func() { _ = g.Resume(t.Context()) })
		for _, message := range []engine.Message{
			{Text: "behind it", Session: "a"}, {Text: "with a key", Session: "a", IdempotencyKey: "k"}, {Text: "with a key", Session: "a", IdempotencyKey: "k"},
			{Text: "elsewhere", Session: "f"}, {Text: "kept by its client", History: []chat.Message{}},
		} {
			queued.Go(func() {
				if text, err := send(g, t.Context(), message); !errors.Is(err, engine.ErrStopping) || strings.Contains(err.Error(), "is kept") != (message.History == nil) {
					t.Errorf("%s: %q, %v", message.Text, text, err)
				}
			})
		}
		synctest.Wait()
		stopped := make(chan int, 1)
		go func() { stopped <- g.Stop(t.Context()) }()
		queued.Wait() // while the turns still run
		background.Wait()
		close(hold)
		running.Wait()
		if left := <-stopped; left != 4 {
			t.Errorf("%d messages are left, want 4", left)
		}
		if n := len(m.Requests()); n != 5 {
			t.Errorf("the model was asked %d times, want 5", n)
		}
		for _, i := range items(t, kept, store.Waiting) {
			if i.Tries != 0 || i.Holder != "" {
				t.Errorf("left is %+v", i)
			}
		}
		next, _ := newEngine(t, func(c *engine.Config) {
			c.Store, c.Agents[0].Model = kept, scripted(func(model.Request) fake.Step { return fake.Step{Text: "yes"} })
		})
		must(t, next.Resume(context.Background()))
		if left := items(t, kept, store.Waiting); len(left) > 0 {
			t.Errorf("the next process leaves %+v", left)
		}
	})
}
