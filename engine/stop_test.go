package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// ended runs a message and returns how it ended.
func ended(g *engine.Engine, ctx context.Context, m engine.Message) (done turn.Done, err error) {
	for e, failed := range g.Send(ctx, m) {
		if e.Done != nil {
			done = *e.Done
		}
		err = failed
	}
	return done, err
}

// hanging registers a tool that runs until its call is cancelled, and closes began.
func hanging(began chan struct{}) func(c *engine.Config) {
	return func(c *engine.Config) {
		_ = c.Registry.Register(tool.Func(tool.Definition{Name: "wipe", Description: "Wipe a disk"}, func(ctx context.Context, _ struct{}) (string, error) {
			close(began)
			<-ctx.Done()
			return "", ctx.Err()
		}))
	}
}

// A message that stops the running turn is answered before that turn would have ended,
// and the turn ends with what it did: a call that changes something and was in flight has
// an unknown outcome.
func TestStopRunningTurn(t *testing.T) {
	t.Parallel()
	kept, began := &store.Memory{}, make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; hanging(began)(c) },
		fake.Step{Calls: []chat.Call{fake.Call("1", "echo", `{"word":"hi"}`), fake.Call("2", "wipe", `{}`), fake.Call("3", "get_weather", `{}`)}},
		fake.Step{Text: "after"})
	var first turn.Done
	var failed error
	var sender sync.WaitGroup
	sender.Go(func() { first, failed = ended(g, t.Context(), engine.Message{Text: "wipe it"}) })
	<-began
	stop, err := ended(g, t.Context(), engine.Message{Text: engine.Stop})
	if err != nil || stop.Reply != "Stopped." {
		t.Errorf("/stop: %q, %v", stop.Reply, err)
	}
	sender.Wait()
	want := "(stopped; done before: echo; interrupted, so that it is unknown what it did: wipe; not begun: get_weather)"
	if failed != nil || first.Reply != want || !first.Stopped {
		t.Errorf("the stopped turn: %+v, %v", first, failed)
	}
	s := load(t, kept)
	if last := s.Messages[len(s.Messages)-1]; last.Text != want || s.Turn.ID != "" {
		t.Errorf("the conversation ends with %+v, open turn %q", last, s.Turn.ID)
	}
	if again, err := ended(g, t.Context(), engine.Message{Text: engine.Stop}); err != nil || again.Reply != "Nothing is running." {
		t.Errorf("a second /stop: %q, %v", again.Reply, err)
	}
	if next, err := ended(g, t.Context(), engine.Message{Text: "go on"}); err != nil || next.Reply != "after" {
		t.Errorf("the next message: %q, %v", next.Reply, err)
	}
	if left := items(t, kept, store.Waiting); len(left) > 0 {
		t.Errorf("%d messages wait", len(left))
	}
}

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
	if stopped, err := g.StopTurn(t.Context(), key); !stopped || err != nil {
		t.Errorf("StopTurn: %v, %v", stopped, err)
	}
	sender.Wait()
	s, err := kept.Load(t.Context(), key, 0)
	must(t, err)
	if last := s.Messages[len(s.Messages)-1]; !strings.HasSuffix(last.Text, "(stopped)") {
		t.Errorf("the conversation ends with %q", last.Text)
	}
	if stopped, err := g.StopTurn(t.Context(), key); stopped || err != nil {
		t.Errorf("a second StopTurn: %v, %v", stopped, err)
	}
}

// A turn that waits for an approval can be stopped, too: its calls were not run.
func TestStopWaitingTurn(t *testing.T) {
	t.Parallel()
	for _, stop := range []func(g *engine.Engine) error{
		func(g *engine.Engine) error {
			_, err := ended(g, t.Context(), engine.Message{Text: engine.Stop})
			return err
		},
		func(g *engine.Engine) error {
			_, err := g.StopTurn(t.Context(), keyOf(t, g, engine.Message{}))
			return err
		},
	} {
		kept := &store.Memory{}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; asks(c) }, fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{}`)}})
		if _, err := ended(g, t.Context(), engine.Message{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		must(t, stop(g))
		s := load(t, kept)
		if last := s.Messages[len(s.Messages)-1]; last.Text != "(stopped; not begun: get_weather)" || s.Open() {
			t.Errorf("the conversation ends with %q; open: %v", last.Text, s.Open())
		}
	}
}

// asks makes all calls wait for an approval.
func asks(c *engine.Config) {
	c.Turn.Approvals = true
	c.Turn.Decide = func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} }
}

func keyOf(t *testing.T, g *engine.Engine, m engine.Message) session.Key {
	t.Helper()
	w, err := g.Whoami(m)
	must(t, err)
	return w.Session
}

// Where the agent allows it, a turn takes in what its sender writes meanwhile: each
// message is answered once, and its sender learns at once what became of it. A message of
// somebody else has a turn of its own.
func TestSteer(t *testing.T) {
	t.Parallel()
	for _, steer := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			kept, began, goOn := &store.Memory{}, make(chan struct{}), make(chan struct{})
			g, m := newEngine(t, func(c *engine.Config) {
				c.Store, c.Agents[0].Steer = kept, steer
				c.Tracer = noop.NewTracerProvider().Tracer("") // the spans are those of the senders
				must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "work", Description: "Work"}, func(context.Context, struct{}) (string, error) {
					close(began)
					<-goOn
					return "worked", nil
				})))
			}, fake.Step{Calls: []chat.Call{fake.Call("1", "work", `{}`)}}, fake.Step{Text: "one"}, fake.Step{Text: "two"}, fake.Step{Text: "three"}, fake.Step{Text: "four"})
			got := make([]turn.Done, 4)
			var senders sync.WaitGroup
			say := func(i int, m engine.Message) {
				m.Channel, m.Chat = "web", "room"
				senders.Go(func() {
					var err error
					ctx := span.Below(t.Context(), fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333%d-01", i))
					if got[i], err = ended(g, ctx, m); err != nil {
						t.Errorf("message %d: %v", i, err)
					}
				})
				synctest.Wait()
			}
			say(0, engine.Message{Text: "first", User: "ann"})
			<-began
			say(1, engine.Message{Text: "second", User: "ann", IdempotencyKey: "k"})
			say(2, engine.Message{Text: "third", User: "ann"})
			say(3, engine.Message{Text: "another's", User: "bob"})
			close(goOn)
			senders.Wait()
			want := [4]string{"one", "two", "three", "four"}
			if steer {
				want = [4]string{"one", "(taken into the answer that is being written)", "(taken into the answer that is being written)", "two"}
			}
			for i, done := range got {
				if done.Reply != want[i] || done.Taken != (steer && (i == 1 || i == 2)) {
					t.Errorf("steer %v, message %d: %+v, want %q", steer, i, done, want[i])
				}
			}
			s, err := kept.Load(t.Context(), keyOf(t, g, engine.Message{Channel: "web", Chat: "room", User: "ann"}), 0)
			must(t, err)
			if texts := strings.Join(asked(s), ", "); texts != "first, second, third, another's" {
				t.Errorf("steer %v: the conversation has %s", steer, texts)
			}
			if n := len(m.Requests()); n != map[bool]int{true: 3, false: 5}[steer] {
				t.Errorf("steer %v: the model was asked %d times", steer, n)
			}
			if again, err := ended(g, t.Context(), engine.Message{Text: "second", User: "ann", Channel: "web", Chat: "room", IdempotencyKey: "k"}); err != nil || again.Reply != want[1] {
				t.Errorf("steer %v: the repeated message: %+v, %v", steer, again, err)
			}
			if left := items(t, kept, store.Waiting); len(left) > 0 {
				t.Errorf("steer %v: %d messages wait", steer, len(left))
			}
		})
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
			if err := g.Post(t.Context(), mainKey, json.RawMessage(`{"to": "ann"}`), "I have begun.", "k"); err != nil {
				t.Error(err)
			}
		}
		idle(t, g)
		letters, err := g.Letters(t.Context(), 0, 10)
		must(t, err)
		if len(letters) != 1 || letters[0].Text != "I have begun." {
			t.Errorf("the letters are %+v", letters)
		}
	})
}
