package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// questions returns the messages of the user in Ann's session.
func questions(t *testing.T, s store.Store) (texts []string) {
	t.Helper()
	list, err := s.List(t.Context(), session.Filter{})
	must(t, err)
	for _, found := range list {
		messages, err := s.Messages(t.Context(), found.Key, 0, 0)
		must(t, err)
		for _, m := range messages {
			if m.Role == chat.User {
				texts = append(texts, m.Text)
			}
		}
	}
	return texts
}

func never() bool  { return false }
func always() bool { return true }

// TestRepeatedRequest: a request that a program sends again without a key, because the
// connection broke, is one message. After an answer, the same text is another one.
func TestRepeatedRequest(t *testing.T) {
	for name, test := range map[string]func(t *testing.T){
		"while it runs":                                    repeatedWhileItRuns,
		"not of another guest":                             repeatedByAnotherGuest,
		"when its sender has gone":                         repeatedAfterItsSenderLeft,
		"when nobody comes back":                           nobodyComesBack,
		"when its sender has gone and asks something else": senderAsksSomethingElse,
		"when its answer was lost":                         repeatedAfterALostAnswer,
		"not after its conversation was removed":           repeatedAfterRemoval,
		"when its turn failed":                             repeatedAfterAFailure,
		"when its process ended":                           repeatedAfterTheProcess,
	} {
		t.Run(name, test)
	}
}

// paying is the request of these tests.
func paying(received func() bool) engine.Message {
	return engine.Message{Text: "pay", User: "ann", Channel: "api", Received: received}
}

func repeatedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, goOn := &store.Memory{}, make(chan struct{})
		g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Wait: goOn, Text: "paid"})
		var both sync.WaitGroup
		for n := range 2 {
			both.Go(func() {
				if text, err := send(g, t.Context(), paying(always)); text != "paid" || err != nil {
					t.Errorf("sender %d: %q, %v", n, text, err)
				}
			})
		}
		synctest.Wait()
		close(goOn)
		both.Wait()
		if got := questions(t, kept); !slices.Equal(got, []string{"pay"}) || len(m.Requests()) != 1 {
			t.Errorf("asked %q with %d requests", got, len(m.Requests()))
		}
	})
}

func repeatedByAnotherGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		g, m := newEngine(t, nil, fake.Step{Wait: goOn, Text: "1"}, fake.Step{Wait: goOn, Text: "2"})
		var both sync.WaitGroup
		texts := make([]string, 2)
		for n := range texts {
			both.Go(func() {
				texts[n], _ = send(g, t.Context(), engine.Message{Text: "mine?", Channel: "api", Received: never})
			})
		}
		synctest.Wait()
		close(goOn)
		both.Wait()
		if slices.Sort(texts); !slices.Equal(texts, []string{"1", "2"}) || m.Left() != 0 {
			t.Errorf("the guests read %q", texts)
		}
		m.Add(fake.Step{Text: "3"})
		if text, err := send(g, t.Context(), engine.Message{Text: "mine?", Channel: "api", Received: never, Repeated: true}); text != "3" || err != nil {
			t.Errorf("a third guest reads %q, %v", text, err)
		}
	})
}

func repeatedAfterItsSenderLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, goOn := &store.Memory{}, make(chan struct{})
		g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Wait: goOn, Text: "paid"})
		first, leave := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { _, _ = send(g, first, paying(never)) })
		synctest.Wait()
		leave()
		synctest.Wait()
		both.Go(func() {
			if text, err := send(g, t.Context(), paying(always)); text != "paid" || err != nil {
				t.Errorf("the second sender: %q, %v", text, err)
			}
		})
		synctest.Wait()
		close(goOn)
		both.Wait()
		if got := questions(t, kept); !slices.Equal(got, []string{"pay"}) || len(m.Requests()) != 1 {
			t.Errorf("asked %q with %d requests", got, len(m.Requests()))
		}
	})
}

func nobodyComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m := newEngine(t, nil, fake.Step{Wait: make(chan struct{})}, fake.Step{Text: "paid"})
		first, leave := context.WithCancel(t.Context())
		var gone error
		var one sync.WaitGroup
		one.Go(func() { _, gone = send(g, first, paying(never)) })
		synctest.Wait()
		leave()
		one.Wait() // ten seconds
		if !errors.Is(gone, context.Canceled) {
			t.Errorf("the turn of a sender who has gone ends with %v", gone)
		}
		if text, err := send(g, t.Context(), paying(always)); text != "paid" || err != nil || m.Left() != 0 {
			t.Errorf("asked anew: %q, %v", text, err)
		}
	})
}

func senderAsksSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newEngine(t, nil, fake.Step{Wait: make(chan struct{})}, fake.Step{Text: "other"})
		first, leave := context.WithCancel(t.Context())
		var one sync.WaitGroup
		one.Go(func() { _, _ = send(g, first, paying(never)) })
		synctest.Wait()
		leave()
		began, other := time.Now(), paying(always)
		other.Text = "something else"
		if text, err := send(g, t.Context(), other); text != "other" || err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("after %v: %q, %v", time.Since(began), text, err)
		}
		one.Wait()
	})
}

func repeatedAfterALostAnswer(t *testing.T) {
	kept := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"})
	for _, c := range []struct {
		received func() bool
		repeated bool
		user     string
		want     string
	}{
		{never, false, "ann", "1"}, {never, false, "ann", "1"}, {always, false, "ann", "1"}, // the same message
		{always, false, "ann", "2"}, {always, true, "ann", "2"}, // another one, and its client repeats it
		{never, false, "bob", "3"},
	} {
		again := paying(c.received)
		again.Repeated, again.User = c.repeated, c.user
		if text, err := send(g, t.Context(), again); text != c.want || err != nil {
			t.Errorf("%+v: %q, %v", c, text, err)
		}
	}
	if got := questions(t, kept); len(got) != 3 || m.Left() != 0 {
		t.Errorf("asked %q", got)
	}
}

func repeatedAfterRemoval(t *testing.T) {
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"})
	for _, want := range []string{"1", "2", "3"} {
		if text, err := send(g, t.Context(), paying(never)); text != want || err != nil {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
		if want == "1" {
			list, err := kept.List(t.Context(), session.Filter{})
			must(t, err)
			must(t, g.Sessions().Delete(t.Context(), list[0].Key))
		} else if _, err := eraser(g).Erase(t.Context(), "api:ann"); err != nil {
			t.Error(err)
		}
	}
}

func repeatedAfterAFailure(t *testing.T) {
	kept, ran := &store.Memory{}, 0
	g, m := newEngine(t, func(c *engine.Config) { c.Store = kept },
		fake.Step{Err: model.ErrUnavailable}, fake.Step{Calls: []chat.Call{fake.Call("1", "echo", `{"word":"x"}`)}}, fake.Step{Err: model.ErrUnavailable},
		fake.Step{Check: func(r model.Request) error {
			for _, m := range r.Messages {
				if m.Result != nil {
					ran++
				}
			}
			return nil
		}, Text: "paid"}, fake.Step{Text: "again"})
	for _, want := range []string{"", "", "paid", "again"} {
		text, err := send(g, t.Context(), paying(always))
		if text != want || (err == nil) != (want != "") {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
	if got := questions(t, kept); !slices.Equal(got, []string{"pay", "pay"}) || ran != 1 || m.Left() != 0 {
		t.Errorf("asked %q, results %d", got, ran)
	}
}

func repeatedAfterTheProcess(t *testing.T) {
	kept := &store.Memory{}
	var g *engine.Engine
	g, _ = newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Check: func(model.Request) error {
		now, cancel := context.WithCancel(t.Context())
		cancel()
		go g.Stop(now)
		return nil
	}, Wait: make(chan struct{})})
	if _, err := send(g, t.Context(), paying(never)); err == nil {
		t.Error("the process has answered")
	}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "paid"})
	if text, err := send(g, t.Context(), paying(always)); !strings.HasSuffix(text, "paid") || err != nil {
		t.Errorf("the next process: %q, %v", text, err)
	}
	if got := questions(t, kept); !slices.Equal(got, []string{"pay"}) || m.Left() != 0 {
		t.Errorf("asked %q", got)
	}
}

// ending is a store in which the first message ends while the second one is being accepted.
type ending struct {
	*store.Memory
	accepted int
	end      func()
}

func (e *ending) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	if e.accepted++; e.accepted == 2 {
		e.end()
	}
	return e.Memory.Accept(ctx, i)
}

// TestRepeatedAtTheEnd: a repeated request that is accepted just when the first one has ended gets its
// answer, too.
func TestRepeatedAtTheEnd(t *testing.T) {
	t.Parallel()
	goOn, begun, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	kept := &ending{Memory: &store.Memory{}, end: func() { close(goOn); <-ended }}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Check: func(model.Request) error { close(begun); return nil }, Wait: goOn, Text: "paid"}, fake.Step{Text: "paid again"})
	message := engine.Message{Text: "pay", User: "ann", Channel: "api", Received: never}
	go func() {
		defer close(ended)
		if _, err := send(g, t.Context(), message); err != nil {
			t.Error(err)
		}
	}()
	<-begun
	text, err := send(g, t.Context(), message)
	if text != "paid" || err != nil || len(m.Requests()) != 1 {
		t.Errorf("the repeated request gets %q, %v, with %d requests", text, err, len(m.Requests()))
	}
	if items, err := inspect.New(g).Inbox(t.Context(), 10); err != nil || len(items) != 0 {
		t.Errorf("left are %+v, %v", items, err)
	}
}
