package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
)

// What the model had said before the stop is part of the conversation.
func TestStopWhileTheModelSpeaks(t *testing.T) {
	t.Parallel()
	kept, spoke := &store.Memory{}, make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "half ", Wait: make(chan struct{})})
	var sender sync.WaitGroup
	sender.Go(func() {
		for e, err := range g.Send(t.Context(), engine.Message{Text: "hello", Session: "s"}) {
			if err != nil {
				t.Error(err)
			}
			if e.Selection != nil {
				close(spoke)
			}
		}
	})
	<-spoke
	key := keyOf(t, g, engine.Message{Session: "s"})
	if stopped, err := g.Sessions().Stop(t.Context(), key); !stopped || err != nil {
		t.Errorf("StopTurn: %v, %v", stopped, err)
	}
	sender.Wait()
	s, err := kept.Load(t.Context(), key, 0)
	must(t, err)
	if last := s.Messages[len(s.Messages)-1]; !strings.HasSuffix(last.Text, "(stopped)") {
		t.Errorf("the conversation ends with %q", last.Text)
	}
	if stopped, err := g.Sessions().Stop(t.Context(), key); stopped || err != nil {
		t.Errorf("a second StopTurn: %v, %v", stopped, err)
	}
}

// A turn that waits for an approval can be stopped, too: its calls were not run.
func TestStopWaitingTurn(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; asks(c) }, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{}`)}})
	_, err := ended(g, t.Context(), engine.Message{Text: "go"})
	must(t, err)
	_, err = g.Sessions().Stop(t.Context(), keyOf(t, g, engine.Message{}))
	must(t, err)
	s := load(t, kept)
	if last := s.Messages[len(s.Messages)-1]; last.Text != "(stopped; not begun: get_weather)" || s.Open() {
		t.Errorf("the conversation ends with %q; open: %v", last.Text, s.Open())
	}
}

// full is a store that cannot end items for some time.
type full struct {
	*store.Memory
	failures atomic.Int32
}

func (f *full) Finish(ctx context.Context, e store.End) error {
	if f.failures.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return f.Memory.Finish(ctx, e)
}

// A reply that could not be written is written later: the model is not asked again.
func TestReplyIsWrittenLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &full{Memory: &store.Memory{}}
		kept.failures.Store(3)
		g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "the reply"}, fake.Step{Text: "again"})
		if text, err := send(g, t.Context(), engine.Message{Text: "hello", IdempotencyKey: "k"}); !errors.Is(err, engine.ErrStore) {
			t.Errorf("got %q, %v", text, err)
		}
		idle(t, g)
		if text, err := send(g, t.Context(), engine.Message{Text: "hello", IdempotencyKey: "k"}); err != nil || text != "the reply" {
			t.Errorf("the repeated message: %q, %v", text, err)
		}
		if n := len(m.Requests()); n != 1 {
			t.Errorf("the model was asked %d times, want once", n)
		}
		if s := load(t, kept.Memory); len(s.Messages) != 2 {
			t.Errorf("the conversation has %d messages, want 2", len(s.Messages))
		}
	})
}

// What an agent says before its reply is delivered later if the database is away just then.
func TestPostIsWrittenLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &full{Memory: &store.Memory{}}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
		kept.failures.Store(1)
		for range 2 { // the same once more
			if err := g.Outbox().Post(t.Context(), mainKey, json.RawMessage(`{"to": "ann"}`), "I have begun.", "k"); err != nil {
				t.Error(err)
			}
		}
		idle(t, g)
		letters, err := g.Outbox().Letters(t.Context(), 0, 10)
		must(t, err)
		if len(letters) != 1 || letters[0].Text != "I have begun." {
			t.Errorf("the letters are %+v", letters)
		}
	})
}
