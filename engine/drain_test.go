package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
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

// acted is a message whose turn has stored a call that must not run twice, and asks its model
// again.
func acted(t *testing.T, kept store.Store) func(ended string) (reply string) {
	t.Helper()
	var done atomic.Bool
	process := func() (*engine.Engine, chan struct{}) {
		asked := make(chan struct{}, 8)
		g, _ := newEngine(t, func(c *engine.Config) {
			must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "act", Description: "Act"}, func(context.Context, struct{}) (string, error) { return "acted", nil })))
			c.Store = kept
			c.Agents[0].Model = scripted(func(req model.Request) fake.Step {
				if req.Messages[len(req.Messages)-1].Result == nil {
					return call("1", "act")
				}
				if asked <- struct{}{}; done.Load() {
					return fake.Step{Text: "done"}
				}
				return fake.Step{Text: "never", Wait: make(chan struct{})}
			})
		})
		return g, asked
	}
	var g *engine.Engine
	message := engine.Message{Text: "go", IdempotencyKey: "k"}
	return func(ended string) (reply string) {
		var asked chan struct{}
		g, asked = process()
		if done.Store(ended == ""); ended == "" {
			must(t, g.Resume(t.Context()))
			reply, err := send(g, t.Context(), message)
			must(t, err)
			return reply
		}
		var works sync.WaitGroup
		works.Go(func() { _ = g.Resume(t.Context()) })
		works.Go(func() {
			for event := range g.Send(t.Context(), message) {
				reply += event.Text
			}
		})
		over := make(chan struct{})
		go func() { works.Wait(); close(over) }()
		select {
		case <-asked:
		case <-over: // the turn was closed
			return reply
		}
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		g.Stop(stop)
		works.Wait()
		if ended == "crash" { // as if nothing had been handed over
			left := items(t, kept, store.Waiting)
			left[0].Holder = "one that died"
			must(t, kept.Update(t.Context(), left[0]))
		}
		return ""
	}
}

// A turn that has stored steps is not closed because its process was stopped, however often;
// it is when its process crashed too often, with stops in between or not.
func TestOnlyCrashesCloseATurn(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	must(t, err)
	defer file.Close()
	for name, kept := range map[string]store.Store{"memory": &store.Memory{}, "sqlite": file} {
		run := acted(t, kept)
		for i := range 10 {
			if reply := run("stop"); reply != "" {
				t.Fatalf("%s: after %d stops it says %q", name, i, reply)
			}
		}
		if reply := run(""); reply != "done" {
			t.Errorf("%s: after 10 stops it says %q", name, reply)
		}
	}
	for _, stops := range []bool{false, true} {
		run, crashes, reply := acted(t, &store.Memory{}), 0, ""
		for ; reply == "" && crashes < 10; crashes++ {
			if stops {
				reply = run("stop")
			}
			if reply == "" {
				reply = run("crash")
			}
		}
		if !strings.Contains(reply, "the program ended 4 times") {
			t.Errorf("with stops %v, after %d crashes it says %q", stops, crashes, reply)
		}
	}
}

// crammed is a store that takes no results of calls while it is full, but all that is short.
type crammed struct {
	*store.Memory
	is atomic.Bool
}

func (f *crammed) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	if f.is.Load() && len(messages) > 0 && messages[0].Result != nil {
		return errStore
	}
	return f.Memory.Append(ctx, key, state, messages...)
}

// A turn whose step cannot be stored is tried again for as long as that takes. That its process
// did not end does not count as if it had.
func TestAFullDiskClosesNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &crammed{Memory: &store.Memory{}}
		g, _ := newEngine(t, func(c *engine.Config) {
			must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "act", Description: "Act"}, func(context.Context, struct{}) (string, error) { return "acted", nil })))
			c.Store, c.Agents[0].Model = kept, scripted(acting)
		})
		kept.is.Store(true)
		if _, err := send(g, t.Context(), engine.Message{Text: "go", IdempotencyKey: "k"}); !errors.Is(err, engine.ErrStore) {
			t.Errorf("the sender learns %v", err)
		}
		time.Sleep(time.Hour)
		kept.is.Store(false)
		if text, err := send(g, t.Context(), engine.Message{Text: "go", IdempotencyKey: "k"}); err != nil || text != "done" {
			t.Errorf("%q, %v", text, err)
		}
	})
}
