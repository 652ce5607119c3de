package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// TestWhy: what a message got is stored with it. Operators see all of it, the caller
// only what the caller may see, and the model nothing.
func TestWhy(t *testing.T) {
	store := &store.Memory{}
	unseen := func(r model.Request) error {
		if raw, err := json.Marshal(r); err != nil || strings.Contains(string(raw), "admin_only") || strings.Contains(string(raw), `"why"`) {
			t.Errorf("the model received: %s (%v)", raw, err)
		}
		return nil
	}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store, c.Selection.Direct = store, -1 }, fake.Step{Text: "1", Check: unseen}, fake.Step{Text: "2", Check: unseen})
	ann := engine.Message{User: "ann", Channel: "web"}
	for _, text := range []string{"restart everything", "what is the weather"} {
		m := ann
		m.Text = text
		_, err := send(g, t.Context(), m)
		must(t, err)
	}
	ask := func(m engine.Message, n int, own bool) []engine.Turn {
		turns, err := g.Why(t.Context(), m, n, own)
		must(t, err)
		return turns
	}
	last := ask(ann, 0, false)
	if len(last) != 1 {
		t.Fatalf("len(last) = %v, want 1: %+v", len(last), last)
	}
	if last[0].Text != "what is the weather" {
		t.Fatalf("last[0].Text = %q, want %q", last[0].Text, "what is the weather")
	}
	if got := last[0].Selection.Announced[0].Tool; got != "get_weather" {
		t.Errorf("the last message was given %s", got)
	}
	all := ask(ann, 9, false)
	if len(all) != 2 {
		t.Fatalf("len(all) = %v, want 2: %+v", len(all), all)
	}
	if len(all[1].Selection.Near) != 1 {
		t.Fatalf("len(all[1].Selection.Near) = %v, want 1: %+v", len(all[1].Selection.Near), all[1].Selection.Near)
	}
	if near := all[1].Selection.Near[0]; near.Tool != "admin_only" || *near.Stage != selection.Visibility {
		t.Errorf("near: %+v", near)
	}
	own := ask(ann, 9, true)
	if len(own) != 2 {
		t.Fatalf("for the caller: %+v", own)
	}
	if near := own[1].Selection.Near; len(near) != 0 {
		t.Errorf("the caller sees near tools: %+v", near)
	}
	if n := own[1].Selection.Dropped[selection.Visibility]; n != 0 {
		t.Errorf("the caller sees that %d tools are hidden", n)
	}
	if got, want := own[1].Selection.Tools, all[1].Selection.Tools-1; got != want {
		t.Errorf("the caller sees %d tools, want %d", got, want)
	}
	none := ask(engine.Message{User: "bob", Channel: "web"}, 0, false)
	if none == nil {
		t.Errorf("none = %v, want another than nil", none)
	}
	if len(none) != 0 {
		t.Fatalf("len(none) = %v, want 0: %+v", len(none), none)
	}
	key := func() session.Key {
		list, err := store.List(t.Context(), session.Filter{Limit: 1})
		must(t, err)
		return list[0].Key
	}()
	must(t, store.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: "x", Why: []byte(`{"near":[{"stage":"of a newer etui"}]}`)}))
	if got := ask(ann, 0, false); len(got) != 1 || got[0].Text != "what is the weather" {
		t.Errorf("after one that cannot be read: %+v", got)
	}
}

// held is a store whose conversations are loaded when the test says so.
type held struct {
	store.Store
	loads atomic.Int32
	hold  chan struct{}
}

func (h *held) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	h.loads.Add(1)
	<-h.hold
	return h.Store.Load(ctx, key, limit)
}

// TestFewLookAtOnce: long conversations are in memory for a few callers at a time.
func TestFewLookAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &held{Store: &store.Memory{}, hold: make(chan struct{})}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
		for range 8 {
			go func() {
				if _, err := g.Why(t.Context(), engine.Message{User: "ann", Channel: "web"}, 1, false); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		if n := kept.loads.Load(); n != 4 {
			t.Errorf("%d load at once, want 4", n)
		}
		close(kept.hold)
		synctest.Wait()
		if n := kept.loads.Load(); n < 8 {
			t.Errorf("%d have loaded, want all", n)
		}
	})
}
