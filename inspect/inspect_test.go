package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/chooser"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

type word struct {
	Word string `json:"word"`
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func registry(tb testing.TB) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	must(tb, r.Register(
		tool.Func(tool.Definition{Name: "echo", Description: "Say a word again", Groups: []string{"talk"}, Risk: tool.Read}, func(_ context.Context, w word) (string, error) { return w.Word, nil }),
		tool.Func(tool.Definition{Name: "get_weather", Description: "Tell the weather", Groups: []string{"world"}}, func(context.Context, struct{}) (string, error) { return "sunny", nil }),
	))
	must(tb, r.RegisterWithFilter(tool.Func(tool.Definition{Name: "admin_only", Description: "Restart everything"}, func(context.Context, struct{}) (string, error) { return "done", nil }),
		func(f chat.Facts) bool { return f.HasRole("admin") }))
	_, err := r.SetSkills(catalog.Skill{Name: "talking", Description: "Only talk", Tools: []string{"echo"}})
	must(tb, err)
	return r
}

func newEngine(tb testing.TB, change func(*engine.Config), steps ...fake.Step) (*engine.Engine, *fake.Model) {
	m := fake.New(steps...)
	cfg := engine.Config{Registry: registry(tb), Agents: []engine.Agent{{Name: "main", Model: m}, {Name: "other", Model: m, Groups: "world"}}}
	if change != nil {
		change(&cfg)
	}
	g, err := engine.New(cfg)
	must(tb, err)
	return g, m
}

func send(g *engine.Engine, ctx context.Context, m engine.Message) (text string, err error) {
	for e, failure := range g.Send(ctx, m) {
		text += e.Text
		if failure != nil {
			err = failure
		}
	}
	return text, err
}

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
	ask := func(m engine.Message, n int, own bool) []inspect.Turn {
		turns, err := inspect.New(g).Why(t.Context(), m, n, own)
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
	for text, want := range map[string]string{"restart": "restart everything", "weather": "what is the weather", "other": ""} {
		m := ann
		m.Text = text
		got, err := inspect.New(g).WhyOf(t.Context(), m, all[1].Time)
		must(t, err)
		if (got == nil) != (want == "") || want != "" && strings.Contains(string(got), `"get_weather"`) != (text == "weather") {
			t.Errorf("the message with %s, %q, got %s", text, want, got)
		}
	}
	early := ann
	early.Text = "restart"
	if late, err := inspect.New(g).WhyOf(t.Context(), early, all[1].Time.Add(1)); late != nil || err != nil {
		t.Errorf("a message before the time: %+v, %v", late, err)
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
				if _, err := inspect.New(g).Why(t.Context(), engine.Message{User: "ann", Channel: "web"}, 1, false); err != nil {
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

// TestFewLookForAll: one caller who looks at conversations again and again does not keep
// others from it.
func TestFewLookForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &held{Store: &store.Memory{}, hold: make(chan struct{})}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
		for range 200 {
			go func() {
				if _, err := inspect.New(g).Why(t.Context(), engine.Message{User: "eve", Channel: "web"}, 1, true); err != nil && !errors.Is(err, engine.ErrBusy) {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		looked := make(chan error, 1)
		go func() {
			_, err := inspect.New(g).Why(t.Context(), engine.Message{User: "ann", Channel: "web"}, 1, true)
			looked <- err
		}()
		synctest.Wait()
		close(kept.hold)
		if err := <-looked; err != nil {
			t.Errorf("ann: %v", err)
		}
		synctest.Wait()
	})
}

// slowModel answers when it may, and counts who asks.
type slowModel struct {
	asked *atomic.Int32
	hold  chan struct{}
}

func (slowModel) Info() model.Info { return model.Info{Name: "slow"} }
func (m slowModel) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		m.asked.Add(1)
		select {
		case <-m.hold:
		case <-ctx.Done():
		}
		_ = yield(model.Event{Text: "none"}, nil) && yield(model.Event{Stop: model.Done}, nil)
	}
}

// TestSelectionsTakePlaces: a question what a message would get may ask the model that
// chooses among close candidates, so it takes a place, too.
func TestSelectionsTakePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := slowModel{&atomic.Int32{}, make(chan struct{})}
		g, _ := newEngine(t, func(c *engine.Config) {
			_, err := c.Registry.SetSkills(catalog.Skill{Name: "a", Description: "Weather"}, catalog.Skill{Name: "b", Description: "Weather"})
			must(t, err)
			c.MaxTurns, c.Turn.Chooser = 32, chooser.New(m, time.Minute, nil)
			c.Selection = selection.Config{Direct: -1, Recommend: selection.Recommend{On: true}}
		})
		for i := range 100 {
			go func() {
				_, _ = inspect.New(g).Select(t.Context(), engine.Message{User: "eve", Channel: "api", Client: "laptop", Text: fmt.Sprint("the weather? ", i)})
			}()
		}
		synctest.Wait()
		if n := m.asked.Load(); n != 16 {
			t.Errorf("%d questions of one sender ask the model at once, want 16", n)
		}
		close(m.hold)
		synctest.Wait()
	})
}

// TestFewAreToldAtOnce: long conversations are in memory for a few callers at a time, also of
// those who ask which tools there are, or what would become of a call.
func TestFewAreToldAtOnce(t *testing.T) {
	m := engine.Message{User: "eve", Channel: "api", Client: "laptop", Session: "long"}
	for name, ask := range map[string]func(ctx context.Context, g *engine.Engine) error{
		"tools": func(ctx context.Context, g *engine.Engine) error { _, err := inspect.New(g).SeenBy(ctx, m); return err },
		"judge": func(ctx context.Context, g *engine.Engine) error {
			_, err := inspect.New(g).Judge(ctx, m, "echo", nil)
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			kept := &held{Store: &store.Memory{}, hold: make(chan struct{})}
			g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
			for range 50 {
				go func() {
					if err := ask(t.Context(), g); err != nil && !errors.Is(err, engine.ErrBusy) {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
			if n := kept.loads.Load(); n != 4 {
				t.Errorf("%s: %d load at once, want 4", name, n)
			}
			close(kept.hold)
			synctest.Wait()
		})
	}
}

// TestSessionShowsWhatIsUnknown: a call without a result leaves the turn open, and a broken
// argument does not break the answer.
func TestSessionShowsWhatIsUnknown(t *testing.T) {
	store := &store.Memory{}
	must(t, store.Append(t.Context(), "k", session.State{Turn: session.Turn{ID: "t"}, Summary: "before", Sent: 2},
		chat.Message{Role: chat.User, Text: "early"}, chat.Message{Role: chat.User, Text: "go"},
		chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "echo", Arguments: []byte(`{"wor`)}}}))
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = store })
	c, err := inspect.New(g).Session(t.Context(), "k", -1, 2)
	must(t, err)
	if c.Phase != turn.Calling {
		t.Errorf("phase %s, want calling", c.Phase)
	}
	if c.Skip != 1 || len(c.Said) != 2 {
		t.Errorf("%d messages after %d, want the newest 2 of 3", len(c.Said), c.Skip)
	}
	if got := string(c.Said[1].Calls[0].Arguments); got != `"{\"wor"` {
		t.Errorf("arguments %s", got)
	}
	if c.Summarised != "before" || c.Sent != 2 {
		t.Errorf("the summary %q is before the newest %d", c.Summarised, c.Sent)
	}
	if _, err := inspect.New(g).Session(t.Context(), "none", -1, 2); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
}
