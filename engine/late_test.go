package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// slow is a tool whose calls go on until the test finishes them.
type slow struct {
	mu       sync.Mutex
	finishes []func(chat.Result)
}

func (s *slow) tool() tool.Tool {
	return tool.Func(tool.Definition{Name: "slow", Description: "Work slowly"}, func(ctx context.Context, _ struct{}) (chat.Result, error) {
		finish, ok := tool.Defer(ctx)
		if ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.finishes = append(s.finishes, finish)
		}
		return chat.Result{Text: "It is running.", Pending: true}, nil
	})
}

func (s *slow) finish(i int, text string) {
	s.mu.Lock()
	finish := s.finishes[i]
	s.mu.Unlock()
	finish(tool.Text(text))
}

// An outcome that comes while an approval is awaited does not disturb it.
func TestOutcomeWhileApprovalIsAwaited(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		var s slow
		store := &store.Memory{}
		g, _ := newEngine(t, func(c *engine.Config) {
			must(t, c.Registry.Register(s.tool()))
			c.Store, c.Turn = store, askFor("get_weather")
		}, call("1", "slow"), call("2", "get_weather"), fake.Step{Text: "Done."}, fake.Step{Text: "Late."})
		for e, err := range g.Send(t.Context(), engine.Message{Text: "go", Wait: wait}) {
			must(t, err)
			if e.Done != nil && len(e.Done.Awaits) == 1 {
				for range 2 { // a tool that finishes twice
					s.finish(0, "the outcome")
				}
			}
		}
		idle(t, g)
		if phase := turn.PhaseOf(load(t, store)); phase != turn.Waiting {
			t.Fatalf("wait %v: the phase is %s", wait, phase)
		}
		text, err := send(g, t.Context(), engine.Message{Answers: []session.Answer{{Call: "2", Approved: true}}})
		if err != nil || text != "Done." {
			t.Errorf("wait %v: %q, %v", wait, text, err)
		}
		last := load(t, store)
		same(t, "notes of the outcome", notes(last, "the outcome"), 1)
		same(t, "left open", last.Open(), false)
	}
}

// Outcomes that come at once, twice, or after their session was deleted.
func TestOutcomesAtOnce(t *testing.T) {
	t.Parallel()
	var s slow
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) {
		must(t, c.Registry.Register(s.tool()))
		c.Store = store
	}, fake.Step{Calls: []chat.Call{fake.Call("1", "slow", "{}"), fake.Call("2", "slow", "{}"), fake.Call("3", "slow", "{}")}}, fake.Step{Text: "ok"})
	_, err := send(g, t.Context(), engine.Message{Text: "go"})
	must(t, err)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { s.finish(i/2, "outcome") })
	}
	idle(t, g) // while outcomes come
	all.Wait()
	idle(t, g)
	last := load(t, store)
	same(t, "notes of outcomes", notes(last, "outcome"), 2)
	if len(last.Awaits) != 1 {
		t.Fatalf("%d calls wait, want 1: %+v", len(last.Awaits), last.Awaits)
	}
	must(t, store.Delete(t.Context(), mainKey))
	s.finish(2, "outcome")
	idle(t, g)
	if n := len(load(t, store).Messages); n > 0 {
		t.Errorf("the deleted session is back with %d messages", n)
	}
}

// Resume tells no call as lost that goes on in this process.
func TestResumeWhileServing(t *testing.T) {
	t.Parallel()
	var s slow
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) {
		must(t, c.Registry.Register(s.tool()))
		c.Store = store
	}, call("1", "slow"), fake.Step{Text: "ok"})
	_, err := send(g, t.Context(), engine.Message{Text: "go"})
	must(t, err)
	must(t, g.Resume(t.Context()))
	s.finish(0, "outcome")
	idle(t, g)
	last := load(t, store)
	same(t, "notes of a lost call", notes(last, "unknown"), 0)
	same(t, "notes of outcomes", notes(last, "outcome"), 1)
	same(t, "left open", last.Open(), false)
}

// A lost outcome does not hide the calls of the open turn of its session.
func TestLostOutcomeOfAnOpenTurn(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = store }, fake.Step{Text: "done"})
	must(t, store.Append(t.Context(), mainKey, session.State{Turn: session.Turn{ID: "t", Request: []byte("{}")}, Awaits: []session.Await{{Call: "1", Tool: "slow", For: session.Outcome}}},
		chat.Message{Role: chat.User, Text: "go"},
		chat.Message{Role: chat.Assistant, Calls: []chat.Call{fake.Call("1", "slow", "{}")}}, chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: "1", Name: "slow", Text: "running", Pending: true}},
		chat.Message{Role: chat.Assistant, Calls: []chat.Call{fake.Call("2", "get_weather", "{}"), fake.Call("3", "echo", `{"word":"hi"}`)}}))
	must(t, g.Resume(t.Context()))
	sent := m.Requests()[0].Messages
	if len(sent) != 6 {
		t.Fatalf("%d messages were sent, want 6: %+v", len(sent), sent)
	}
	if !strings.Contains(sent[4].Result.Text, "unknown") {
		t.Errorf("the result of the call that ran is %q, want %q in it", sent[4].Result.Text, "unknown")
	}
	if sent[5].Result.Text != "hi" {
		t.Errorf("the last result is %q, want %q", sent[5].Result.Text, "hi")
	}
	last := load(t, store)
	same(t, "left open", last.Open(), false)
	same(t, "notes of the failure", notes(last, "slow, which was still running, has failed"), 1)
}

// Answers that fit no waiting call change nothing.
func TestAnswersRefused(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store, c.Turn = store, askFor("get_weather") }, call("1", "get_weather"), fake.Step{Text: "Done."})
	_, err := send(g, t.Context(), engine.Message{Text: "go"})
	must(t, err)
	before := load(t, store)
	for range 5 { // more often than a turn is resumed
		for _, c := range []struct {
			m    engine.Message
			want error
		}{
			{engine.Message{Answers: []session.Answer{}}, engine.ErrEmpty},
			{engine.Message{Answers: []session.Answer{{Call: "2", Approved: true}}}, message.ErrNothingAwaited},
			{engine.Message{Answers: []session.Answer{{Call: "1", Approved: true}, {Call: "2"}}}, message.ErrNothingAwaited},
			{engine.Message{Answers: []session.Answer{{Call: "1", Approved: true}, {Call: "1"}}}, nil},
			{engine.Message{Text: "yes", Answers: []session.Answer{{Call: "1", Approved: true}}}, nil},
			{engine.Message{Answers: []session.Answer{{Call: "1", Approved: true}}, History: []chat.Message{}}, message.ErrNothingAwaited},
		} {
			if _, err := send(g, t.Context(), c.m); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%+v: %v, want %v", c.m, err, c.want)
			}
		}
	}
	after := load(t, store)
	if len(after.Messages) != len(before.Messages) {
		t.Fatalf("%d messages after the answers, want %d: %+v", len(after.Messages), len(before.Messages), after.Messages)
	}
	if after.Turn.Resumed != 0 {
		t.Errorf("the turn was resumed %d times", after.Turn.Resumed)
	}
	if turn.PhaseOf(after) != turn.Waiting {
		t.Errorf("the phase is %v, want %v", turn.PhaseOf(after), turn.Waiting)
	}
	if text, err := send(g, t.Context(), engine.Message{Answers: []session.Answer{{Call: "1", Approved: true}}}); err != nil || text != "Done." {
		t.Errorf("%q, %v", text, err)
	}
}

// TestOutcomeBehindManyMessages: an outcome is stored, however many messages wait.
func TestOutcomeBehindManyMessages(t *testing.T) {
	t.Parallel()
	var s slow
	store := &store.Memory{}
	hold := make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) {
		must(t, c.Registry.Register(s.tool()))
		c.Store, c.MaxWaiting = store, 1
	}, call("1", "slow"), fake.Step{Text: "Running."}, fake.Step{Text: "2", Wait: hold}, fake.Step{Text: "3"})
	_, err := send(g, t.Context(), engine.Message{Text: "go"})
	must(t, err)
	errs := make(chan error, 3)
	for range 3 { // one runs, one waits, one is refused
		go func() {
			_, err := send(g, t.Context(), engine.Message{Text: "more"})
			errs <- err
		}()
	}
	if err := <-errs; !errors.Is(err, engine.ErrBusy) {
		t.Fatalf("the third message: %v", err)
	}
	s.finish(0, "the outcome")
	close(hold)
	must(t, <-errs)
	must(t, <-errs)
	idle(t, g)
	if got := notes(load(t, store), "the outcome"); got != 1 {
		t.Errorf("the outcome is stored %d times", got)
	}
}

// TestOutcomeOfACallerWhoLeft: an outcome that is handed to a caller who leaves is
// stored.
func TestOutcomeOfACallerWhoLeft(t *testing.T) {
	t.Parallel()
	var s slow
	store := &store.Memory{}
	hold := make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) {
		must(t, c.Registry.Register(s.tool()))
		c.Store = store
	}, call("1", "slow"), fake.Step{Text: "Running."}, fake.Step{Text: "other", Wait: hold})
	ctx, leave := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	replied := make(chan struct{})
	go func() {
		var failed error
		for e, err := range g.Send(ctx, engine.Message{Text: "go", Wait: true}) {
			if e.Done != nil {
				close(replied)
			}
			failed = errors.Join(failed, err)
		}
		waited <- failed
	}()
	<-replied
	other := make(chan error, 1)
	began := make(chan struct{})
	go func() { // has the session while the outcome comes
		var failed error
		for e, err := range g.Send(t.Context(), engine.Message{Text: "other"}) {
			if e.Selection != nil {
				close(began)
			}
			failed = errors.Join(failed, err)
		}
		other <- failed
	}()
	<-began
	s.finish(0, "the outcome")
	leave()
	<-waited
	close(hold)
	must(t, <-other)
	idle(t, g)
	if got := notes(load(t, store), "the outcome"); got != 1 {
		t.Errorf("the outcome is stored %d times", got)
	}
}

// An outcome that cannot be stored at once is stored when the database is back.
func TestOutcomeIsStoredLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, s := &away{Store: &store.Memory{}}, &slow{}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; must(t, c.Registry.Register(s.tool())) }, call("1", "slow"), fake.Step{Text: "It is running."})
		if _, err := send(g, t.Context(), engine.Message{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		kept.is.Store(true)
		s.finish(0, "42")
		time.Sleep(5 * time.Second) // of the test's clock
		kept.is.Store(false)
		idle(t, g)
		if s := load(t, kept); s.Open() || notes(s, "42") != 1 {
			t.Errorf("the conversation awaits %+v and has %+v", s.Awaits, s.Messages)
		}
	})
}
