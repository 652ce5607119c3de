package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
)

// A message that is sent again with its key gets its answer again, and is stored once.
// Its senders come to the session in any order.
func TestRepeatedMessage(t *testing.T) {
	t.Parallel()
	for range 100 {
		repeated(t)
	}
}

func repeated(t *testing.T) {
	t.Helper()
	kept := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "one"}, fake.Step{Text: "another's"})
	said := engine.Message{Text: "hello", User: "ann", IdempotencyKey: "k"}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if text, err := send(g, t.Context(), said); err != nil || text != "one" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	all.Wait()
	if n := len(m.Requests()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	other := said
	other.Text = "something else"
	if _, err := send(g, t.Context(), other); !errors.Is(err, message.ErrKeyReused) {
		t.Errorf("another message with the key: %v", err)
	}
	other = said
	other.User = "bob"
	if text, err := send(g, t.Context(), other); err != nil || text != "another's" {
		t.Errorf("another user with the key: %q, %v", text, err)
	}
}

// A message that failed gets its failure again, of the same kind.
func TestRepeatedFailure(t *testing.T) {
	t.Parallel()
	g, m := newEngine(t, nil, fake.Step{Err: &model.Error{Kind: model.ErrUnavailable}})
	for range 2 {
		if _, err := send(g, t.Context(), engine.Message{Text: "hello", IdempotencyKey: "k"}); !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if _, err := send(g, t.Context(), engine.Message{Text: "hello", IdempotencyKey: "unknown tool", Include: []string{"nope"}}); !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("got %v", err)
		}
	}
	if n := len(m.Requests()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
}

// The turn of a message with a key goes on when its sender has gone, and one without is
// cancelled.
func TestSenderGoes(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"k": "the answer", "": ""} {
		kept := &store.Memory{}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "the ", Pieces: []string{"answer"}})
		ctx, leave := context.WithCancel(t.Context())
		for e := range g.Send(ctx, engine.Message{Text: "hello", IdempotencyKey: key}) {
			if e.Text != "" {
				leave()
				break
			}
		}
		leave()
		idle(t, g)
		s := load(t, kept)
		last := s.Messages[len(s.Messages)-1]
		if got := map[bool]string{true: last.Text}[last.Role == chat.Assistant]; got != want {
			t.Errorf("key %q: the answer is %q, want %q", key, got, want)
		}
		if left := items(t, kept, store.Waiting); len(left) > 0 {
			t.Errorf("key %q: %d messages wait", key, len(left))
		}
	}
}

// What an engine accepted before it stopped is answered by the next one, in order and
// once; each sender learns that.
func TestStopKeepsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	kept, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	must(t, err)
	defer kept.Close()
	g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "never", Wait: make(chan struct{})})
	var senders sync.WaitGroup
	for i := range 4 {
		began := make(chan struct{})
		senders.Go(func() {
			_, err := send(g, t.Context(), engine.Message{Text: fmt.Sprint(i), IdempotencyKey: fmt.Sprint(i)})
			if !errors.Is(err, engine.ErrStopping) {
				t.Errorf("sender %d: %v", i, err)
			}
		})
		go func() { // the next one comes after this one
			defer close(began)
			for len(items(t, kept, store.Waiting)) <= i || len(m.Requests()) == 0 {
			}
		}()
		<-began
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	if left := g.Stop(stop); left != 4 {
		t.Errorf("%d messages are left, want 4", left)
	}
	senders.Wait()
	if _, err := send(g, t.Context(), engine.Message{Text: "late"}); !errors.Is(err, engine.ErrStopping) {
		t.Errorf("after the stop: %v", err)
	}
	next, again := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "a0"}, fake.Step{Text: "a1"}, fake.Step{Text: "a2"}, fake.Step{Text: "a3"})
	// One sender comes back before the engine has taken anything up.
	if text, err := send(next, t.Context(), engine.Message{Text: "2", IdempotencyKey: "2"}); err != nil || text != "a2" {
		t.Errorf("%q, %v", text, err)
	}
	must(t, next.Resume(t.Context()))
	if got := strings.Join(asked(load(t, kept)), " "); got != "0 1 2 3" {
		t.Errorf("the conversation is %q", got)
	}
	for i := range 4 {
		if text, err := send(next, t.Context(), engine.Message{Text: fmt.Sprint(i), IdempotencyKey: fmt.Sprint(i)}); err != nil || text != fmt.Sprint("a", i) {
			t.Errorf("message %d: %q, %v", i, text, err)
		}
	}
	if n := len(again.Requests()); n != 4 {
		t.Errorf("the model was asked %d times, want 4", n)
	}
}

// No message is left behind, and those of a session stay in order, while many end and
// come at once.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	must(t, err)
	defer file.Close()
	for name, kept := range map[string]store.Store{"memory": &store.Memory{}, "sqlite": file} {
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Store, c.Agents[0].Model = kept, scripted(func(model.Request) fake.Step { return fake.Step{Text: "yes"} })
		})
		const sessions, each = 4, 20
		var all sync.WaitGroup
		for n := range sessions {
			for range 2 { // two senders each
				all.Go(func() {
					for range each {
						if text, err := send(g, t.Context(), engine.Message{Text: "x", Session: fmt.Sprint(n)}); err != nil || text != "yes" {
							t.Errorf("%s: %q, %v", name, text, err)
						}
					}
				})
			}
		}
		all.Wait()
		if left := items(t, kept, ""); len(left) > 0 {
			t.Errorf("%s: %d messages are left", name, len(left))
		}
		list, err := kept.List(t.Context(), session.Filter{})
		must(t, err)
		for _, s := range list {
			if s.Messages != 2*2*each {
				t.Errorf("%s: %s has %d messages, want %d", name, s.Key, s.Messages, 2*2*each)
			}
		}
	}
}

// Of many that wait, people come before the clock, and of people the ones with the fewest
// running turns.
func TestFairness(t *testing.T) {
	t.Parallel()
	hold, began := make(chan struct{}), make(chan string, 6)
	g, _ := newEngine(t, func(c *engine.Config) {
		c.MaxTurns = 3
		c.Agents[0].Model = asking(func(text string) {
			began <- text
			<-hold
		})
	})
	var all sync.WaitGroup
	waits := 0
	for _, m := range []engine.Message{
		{Text: "1", User: "ann"}, {Text: "2", User: "ann"}, {Text: "3", User: "ann"}, {Text: "clock", User: "zoe", Background: true}, {Text: "4", User: "ann"}, {Text: "bob", User: "bob"},
	} {
		m.Session = m.Text
		all.Go(func() {
			if _, err := send(g, t.Context(), m); err != nil {
				t.Errorf("%s: %v", m.Text, err)
			}
		})
		for waits++; waiting(t, g) < waits && !t.Failed(); { // the next one comes after this one
		}
	}
	for range 3 {
		<-began
	}
	for _, want := range []string{"bob", "4", "clock"} {
		hold <- struct{}{}
		if got := <-began; got != want {
			t.Errorf("%s began, want %s", got, want)
		}
	}
	close(hold)
	all.Wait()
}

// A message whose turn panics is tried again some times. Then its turn is closed, or, where
// nothing of that is stored yet, the message is parked; the messages behind it are answered.
func TestPoison(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []string
		parked int
	}{"new session": {nil, 0}, "old session": {[]string{"hello"}, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			kept := &store.Memory{}
			g, _ := newEngine(t, func(c *engine.Config) {
				c.Store = kept
				c.Agents[0].Model = asking(func(text string) {
					if text == "poison" {
						tries.Add(1)
						panic("it is poisonous")
					}
				})
			})
			for _, text := range c.before {
				if said, err := send(g, t.Context(), engine.Message{Text: text}); err != nil || said != "yes" {
					t.Fatalf("%q, %v", said, err)
				}
			}
			if _, err := send(g, t.Context(), engine.Message{Text: "poison"}); err == nil {
				t.Error("the sender learns nothing")
			}
			if text, err := send(g, t.Context(), engine.Message{Text: "and then?"}); err != nil || text != "yes" {
				t.Errorf("the next message: %q, %v", text, err)
			}
			if n := tries.Load(); n != 4 {
				t.Errorf("it was tried %d times, not 4", n)
			}
			if left := items(t, kept, store.Waiting); len(left) > 0 {
				t.Errorf("%d messages wait", len(left))
			}
			if parked := items(t, kept, store.Parked); len(parked) != c.parked {
				t.Errorf("%d messages are parked", len(parked))
			}
			var b strings.Builder
			must(t, g.Metrics(t.Context(), &b))
			if want := "\netui_retries_total{cause=\"panic\"} "; !strings.Contains(b.String(), want) {
				t.Errorf("the metrics lack %q", want)
			}
			if want := fmt.Sprintf("\netui_panics_total{} %d\n", tries.Load()); !strings.Contains(b.String(), want) {
				t.Errorf("the metrics lack %q", want)
			}
		})
	}
}

// The question of an old session is stored with the first step of its turn. Until then it
// waits, for people to see; when the process ends, the next one answers it, once.
func TestQuestionWaits(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Store = kept
		c.Agents[0].Model = asking(func(text string) {
			if text == "second" {
				close(asked)
				<-answer
			}
		})
	})
	if _, err := send(g, t.Context(), engine.Message{Text: "first", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := send(g, t.Context(), engine.Message{Text: "second", Session: "s"})
		done <- err
	}()
	<-asked
	waiting := items(t, kept, store.Waiting)
	if len(waiting) != 1 {
		t.Fatalf("%d messages wait", len(waiting))
	}
	key := waiting[0].Session
	c, err := inspect.New(g).Session(t.Context(), key, -1, 10)
	must(t, err)
	if len(c.Said) != 2 || len(c.Waiting) != 1 || c.Waiting[0].Text != "second" {
		t.Errorf("while it is answered: %d messages, %+v wait", len(c.Said), c.Waiting)
	}
	// Another process that finds what this one left: it asks anew, and stores the question once.
	left, err := kept.Load(t.Context(), key, 10)
	must(t, err)
	copied := &store.Memory{}
	must(t, copied.Append(t.Context(), key, left.State, left.Messages...))
	_, _, err = copied.Accept(t.Context(), waiting[0])
	must(t, err)
	next, _ := newEngine(t, func(c *engine.Config) {
		c.Store = copied
		c.Agents[0].Model = asking(func(string) {})
	})
	must(t, next.Resume(t.Context()))
	close(answer)
	must(t, <-done)
	for name, s := range map[string]*store.Memory{"this process": kept, "the next": copied} {
		now, err := s.Load(t.Context(), key, 10)
		must(t, err)
		var said []string
		for _, m := range now.Messages {
			said = append(said, m.Text)
		}
		if want := []string{"first", "yes", "second", "yes"}; !slices.Equal(said, want) {
			t.Errorf("%s has %q, not %q", name, said, want)
		}
		if left := items(t, s, store.Waiting); len(left) > 0 {
			t.Errorf("%s: %d messages wait", name, len(left))
		}
	}
}

// away is a store that can be away for a while.
type away struct {
	store.Store
	is atomic.Bool
}

func (a *away) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	if a.is.Load() {
		return i, false, errStore
	}
	return a.Store.Accept(ctx, i)
}

func (a *away) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	if a.is.Load() {
		return errStore
	}
	return a.Store.Append(ctx, key, state, messages...)
}

func (a *away) Finish(ctx context.Context, e store.End) error {
	if a.is.Load() {
		return errStore
	}
	return a.Store.Finish(ctx, e)
}

// While the database is away, new messages are refused and an accepted one waits; it is
// answered when the database is back, without a restart.
func TestDatabaseIsAwayAndComesBack(t *testing.T) {
	t.Parallel()
	kept := &away{Store: &store.Memory{}}
	var once sync.Once
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Store = kept
		c.Agents[0].Model = asking(func(string) { once.Do(func() { kept.is.Store(true) }) })
	})
	if _, err := send(g, t.Context(), engine.Message{Text: "one", IdempotencyKey: "1"}); !errors.Is(err, engine.ErrStore) || !strings.Contains(err.Error(), "is kept") {
		t.Errorf("a message whose reply cannot be stored: %v", err)
	}
	if _, err := send(g, t.Context(), engine.Message{Text: "two", Session: "other"}); !errors.Is(err, engine.ErrStore) || !strings.Contains(err.Error(), "not accepted") {
		t.Errorf("a new message: %v", err)
	}
	kept.is.Store(false)
	if text, err := send(g, t.Context(), engine.Message{Text: "one", IdempotencyKey: "1"}); err != nil || text != "yes" {
		t.Errorf("the accepted message, again: %q, %v", text, err)
	}
	idle(t, g)
	s := load(t, kept)
	if got := strings.Join(asked(s), " "); got != "one" || s.Open() {
		t.Errorf("the conversation is %q, open: %v", got, s.Open())
	}
}

// A parked message that is tried again has as many tries as before, and its sender is told each
// time that it is parked: once, also if the process ends in between.
func TestParkedAgainIsToldAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, asked := &unparking{Memory: &store.Memory{}}, 0
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Store, c.Agents[0].Model = kept, asking(func(text string) {
				if text == "poison" {
					asked++
					panic("it is poisonous")
				}
			})
		})
		for _, text := range []string{"hello", "poison"} {
			for _, err := range g.Send(t.Context(), engine.Message{Text: text, Reply: []byte(`{"chat":"7"}`)}) {
				_ = err
			}
		}
		idle(t, g)
		for range 2 {
			parked := items(t, kept, store.Parked)
			if len(parked) != 1 {
				t.Fatalf("parked are %+v", parked)
			}
			kept.parks.Store(true) // the first time that it is parked again, that is not stored
			must(t, g.Inbox().Retry(t.Context(), parked[0].ID))
			idle(t, g)
		}
		if asked != 4+2*(4+1) {
			t.Errorf("the model was asked %d times, want 14", asked)
		}
		letters, err := g.Outbox().Letters(t.Context(), 0, 10)
		must(t, err)
		told := 0
		for _, l := range letters {
			if strings.Contains(l.Text, "“poison”") {
				told++
			}
		}
		if told != 3 {
			t.Errorf("the sender was told %d times, want 3: %+v", told, letters)
		}
	})
}

// unparking is a store that loses that an item was parked, once for each time that it is told to.
type unparking struct {
	*store.Memory
	parks atomic.Bool
}

func (f *unparking) Update(ctx context.Context, i store.Item) error {
	if i.State == store.Parked && f.parks.Swap(false) {
		return errStore
	}
	return f.Memory.Update(ctx, i)
}

// gated answers each message with its text, after its gate was closed.
type gated map[string]chan struct{}

func (g gated) Info() model.Info { return model.Info{Name: "gated"} }

func (g gated) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for text, gate := range g {
			if strings.HasSuffix(r.Messages[len(r.Messages)-1].Text, text) {
				<-gate
				_ = yield(model.Event{Text: text}, nil) && yield(model.Event{Stop: model.Done}, nil)
			}
		}
	}
}

// A repeated message is answered with the first one, not after what came in between.
func TestRepeatDoesNotWaitForLaterMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := gated{"first": make(chan struct{}), "second": make(chan struct{})}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store, c.Agents[0].Model = &store.Memory{}, m })
		var all sync.WaitGroup
		ended := make(chan string, 3)
		for _, text := range []string{"first", "second", "first", "first"} {
			all.Go(func() {
				reply, err := send(g, t.Context(), engine.Message{Text: text, User: "ann", IdempotencyKey: text})
				if err != nil || reply != text {
					t.Errorf("%s: %q, %v", text, reply, err)
				}
				if text == "first" {
					ended <- reply
				}
			})
			synctest.Wait()
		}
		close(m["first"])
		synctest.Wait()
		if len(ended) != 3 {
			t.Errorf("%d of 3 senders of the first message have its reply while the second one is answered", len(ended))
		}
		close(m["second"])
		all.Wait()
	})
}

// A process that is stopped hands what it works on over, and nobody counts that as a crash,
// however often it happens. A crash counts, also when the sender repeats the message before
// Resume finds it, and too many of them park it.
func TestStopsAreNoCrashes(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	old, _ := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "hello"})
	if _, err := send(old, t.Context(), engine.Message{Text: "hello", User: "ann"}); err != nil {
		t.Fatal(err)
	}
	said := engine.Message{Text: "slow", User: "ann", IdempotencyKey: "k"}
	for i := range 6 {
		g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "never", Wait: make(chan struct{})})
		var works sync.WaitGroup
		works.Go(func() {
			if i%2 == 0 {
				if _, err := send(g, t.Context(), said); !errors.Is(err, engine.ErrStopping) {
					t.Errorf("stop %d: %v", i, err)
				}
			} else if err := g.Resume(t.Context()); err != nil {
				t.Errorf("stop %d: %v", i, err)
			}
		})
		for len(m.Requests()) == 0 {
			runtime.Gosched()
		}
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		g.Stop(stop)
		works.Wait()
		if left := items(t, kept, store.Waiting); len(left) != 1 || left[0].Tries != 0 {
			t.Fatalf("after stop %d: %+v", i, left)
		}
	}
	for crash := range 4 {
		left := items(t, kept, store.Waiting)
		left[0].Holder, left[0].Tries = "one that died", crash
		must(t, kept.Update(t.Context(), left[0]))
		g, m := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "never", Wait: make(chan struct{})})
		if crash == 3 {
			if _, err := send(g, t.Context(), said); !errors.Is(err, message.ErrParked) || len(m.Requests()) != 0 {
				t.Errorf("after 4 crashes: %v, the model was asked %d times", err, len(m.Requests()))
			}
			break
		}
		var works sync.WaitGroup
		works.Go(func() { _, _ = send(g, t.Context(), said) })
		for len(m.Requests()) == 0 {
			runtime.Gosched()
		}
		if now := items(t, kept, store.Waiting); len(now) != 1 || now[0].Tries != crash+1 {
			t.Errorf("after crash %d: %+v", crash+1, now)
		}
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		g.Stop(stop)
		works.Wait()
	}
}

// unread is a store whose sessions cannot be read for a while.
type unread struct {
	*store.Memory
	is atomic.Bool
}

func (u *unread) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	if u.is.Load() {
		return session.Session{}, errStore
	}
	return u.Memory.Load(ctx, key, limit)
}

// What an earlier process left is answered however long the database is away at the start; a
// session that stays unreadable keeps no others waiting.
func TestResumeWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &unread{Memory: &store.Memory{}}
		for i := range 20 { // more than are resumed at once
			_, _, err := kept.Accept(t.Context(), store.Item{Session: session.Key(fmt.Sprint("agent:main:", i)), Message: []byte(`{"text":"hello"}`), Holder: "an earlier process"})
			must(t, err)
		}
		var answered atomic.Int32
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Store, c.Agents[0].Model = kept, asking(func(string) { answered.Add(1) })
		})
		kept.is.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var resuming sync.WaitGroup
		resuming.Go(func() { _ = g.Resume(ctx) })
		time.Sleep(10 * time.Minute)
		kept.is.Store(false)
		time.Sleep(time.Minute)
		if n := answered.Load(); n != 20 {
			t.Errorf("%d of 20 messages are answered", n)
		}
		resuming.Wait() // all is done
	})
}
