package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/postgrestest"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/usage"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// die makes the database forget a process, as when its lease has ended, until another one
// has claimed a session. A process that lives comes back.
func die(t *testing.T, url string, s, other *postgres.Store, key session.Key) {
	t.Helper()
	for {
		must(t, server.Exec(t.Context(), database(url), "DELETE FROM etui.replicas WHERE holder = '"+s.Holder()+"'"))
		err := other.Claim(t.Context(), store.Claim{Session: key, Try: true})
		if err == nil {
			return
		}
		if !errors.Is(err, store.ErrClaimed) {
			t.Fatal(err)
		}
	}
}

func database(url string) string {
	name, _, _ := strings.Cut(url[strings.LastIndex(url, "@/")+2:], "?")
	return name
}

// A process that counts as dead loses its session, and its writes change nothing.
func TestALostSessionIsFenced(t *testing.T) {
	url := server.Database(t)
	a, b := open(t, url), open(t, url)
	i, _, err := a.Accept(t.Context(), store.Item{Session: "s", Holder: a.Holder(), Message: []byte(`{}`)})
	must(t, err)
	must(t, a.Claim(t.Context(), store.Claim{Session: "s", Item: i.ID}))
	must(t, a.Append(t.Context(), "s", session.State{}, chat.Message{Role: chat.User, Text: "mine"}))
	if err := b.Claim(t.Context(), store.Claim{Session: "s", Try: true}); !errors.Is(err, store.ErrClaimed) {
		t.Fatalf("the session is claimed twice: %v", err)
	}
	if err := b.Append(t.Context(), "other", session.State{}); err != nil {
		t.Errorf("a session that nobody claimed: %v", err)
	}
	die(t, url, a, b, "s")
	for what, write := range map[string]func() error{
		"append": func() error {
			return a.Append(t.Context(), "s", session.State{}, chat.Message{Role: chat.Assistant, Text: "late"})
		},
		"finish": func() error {
			return a.Finish(t.Context(), store.End{ID: i.ID, Session: "s", Messages: []chat.Message{{Role: chat.Assistant, Text: "late"}}})
		},
		"update": func() error { return a.Update(t.Context(), i) },
		"delete": func() error { return a.Delete(t.Context(), "s") },
		"erase":  func() error { _, err := a.Erase(t.Context(), "s", session.State{}, ""); return err },
	} {
		if err := write(); !errors.Is(err, store.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.Release("s")
	if err := a.Append(t.Context(), "s", session.State{}); !errors.Is(err, store.ErrLost) {
		t.Errorf("after the other has released it: %v", err)
	}
	got, err := b.Load(t.Context(), "s", 0)
	must(t, err)
	waiting, err := b.Items(t.Context(), store.ItemFilter{State: store.Waiting})
	must(t, err)
	if len(got.Messages) != 1 || len(waiting) != 1 {
		t.Errorf("the session has %d messages and the inbox %d", len(got.Messages), len(waiting))
	}
	a.Release("s")
	must(t, a.Claim(t.Context(), store.Claim{Session: "s", Item: i.ID}))
	must(t, a.Append(t.Context(), "s", session.State{}))
}

// A session is claimed for its first item whose process is alive; releasing it wakes the
// next one, long before it would look again.
func TestClaimsComeInTheOrderOfTheMailbox(t *testing.T) {
	url := server.Database(t)
	a, b := open(t, url), open(t, url)
	accept := func(s *postgres.Store) int64 {
		i, _, err := s.Accept(t.Context(), store.Item{Session: "s", Holder: s.Holder(), Message: []byte(`{}`)})
		must(t, err)
		return i.ID
	}
	first, second := accept(a), accept(b)
	if err := b.Claim(t.Context(), store.Claim{Session: "s", Item: second, Try: true}); !errors.Is(err, store.ErrClaimed) {
		t.Fatalf("claimed for the second item: %v", err)
	}
	must(t, a.Claim(t.Context(), store.Claim{Session: "s", Item: first}))
	claimed := make(chan error, 2)
	var all sync.WaitGroup
	all.Go(func() { claimed <- b.Claim(t.Context(), store.Claim{Session: "s", Item: second}) })
	c := open(t, url)
	all.Go(func() { claimed <- c.Claim(t.Context(), store.Claim{Session: "s", Item: first}) })
	must(t, a.Finish(t.Context(), store.End{ID: first}))
	a.Release("s")
	all.Wait()
	one, two := <-claimed, <-claimed
	if got := errors.Join(one, two); !errors.Is(got, store.ErrEnded) || one != nil && two != nil {
		t.Errorf("the claims: %v, %v", one, two)
	}
}

// Two messages may wait at a process in another order than that of their numbers. One of
// another process between them does not make both processes wait for each other.
func TestClaimsDoNotWaitForEachOther(t *testing.T) {
	url := server.Database(t)
	a, b := open(t, url), open(t, url)
	var items []int64
	for _, s := range []*postgres.Store{a, b, a} {
		i, _, err := s.Accept(t.Context(), store.Item{Session: "s", Holder: s.Holder(), Message: []byte(`{}`)})
		must(t, err)
		items = append(items, i.ID)
	}
	if err := b.Claim(t.Context(), store.Claim{Session: "s", Item: items[1], Try: true}); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("the second: %v", err)
	}
	must(t, a.Claim(t.Context(), store.Claim{Session: "s", Item: items[2], Try: true}))
	must(t, a.Finish(t.Context(), store.End{ID: items[2]}))
	must(t, a.Finish(t.Context(), store.End{ID: items[0]}))
	a.Release("s")
	must(t, b.Claim(t.Context(), store.Claim{Session: "s", Item: items[1]}))
}

// An approval is found wherever it is answered, also while another process works on its session.
func TestApprovalsOfAllProcesses(t *testing.T) {
	url := server.Database(t)
	a, b := open(t, url), open(t, url)
	must(t, a.Append(t.Context(), "s", session.State{Awaits: []session.Await{{ID: "abc123", For: session.Approval}}}))
	must(t, a.Claim(t.Context(), store.Claim{Session: "s"}))
	defer a.Release("s")
	if keys, err := b.Open(t.Context()); err != nil || !slices.Equal(keys, []session.Key{"s"}) {
		t.Errorf("open: %q, %v", keys, err)
	}
}

// What a process leaves that ends is found by the others at once.
func TestWhatIsLeftIsFound(t *testing.T) {
	url := server.Database(t)
	a, b := open(t, url), open(t, url)
	_, _, err := a.Accept(t.Context(), store.Item{Session: "s", Holder: a.Holder(), Message: []byte(`{}`)})
	must(t, err)
	if keys, err := b.Mailboxes(t.Context(), b.Holder()); err != nil || len(keys) != 0 {
		t.Errorf("while it is alive: %q, %v", keys, err)
	}
	must(t, server.Exec(t.Context(), database(url), "DELETE FROM etui.replicas WHERE holder = '"+a.Holder()+"'"))
	for {
		<-b.Left()
		keys, err := b.Mailboxes(t.Context(), b.Holder())
		must(t, err)
		if slices.Equal(keys, []session.Key{"s"}) {
			break
		}
		must(t, server.Exec(t.Context(), database(url), "DELETE FROM etui.replicas WHERE holder = '"+a.Holder()+"'"))
	}
}

// A session whose process has ended is swept like any other.
func TestSweepAfterAProcessEnded(t *testing.T) {
	url := server.Database(t)
	a, b := open(t, url), open(t, url)
	must(t, a.Append(t.Context(), "s", session.State{}, chat.Message{Role: chat.User, Text: "hi"}))
	must(t, a.Claim(t.Context(), store.Claim{Session: "s"}))
	later := time.Now().Add(time.Hour)
	if n, err := b.Sweep(t.Context(), later, 10); n != 0 || err != nil {
		t.Errorf("while it works on it: %d, %v", n, err)
	}
	must(t, a.Close())
	if n, err := b.Sweep(t.Context(), later, 10); n != 1 || err != nil {
		t.Errorf("after its end: %d, %v", n, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	newer, foreign := server.Database(t), server.Database(t)
	s := open(t, newer)
	_ = s
	must(t, server.Exec(t.Context(), database(newer), "UPDATE etui.version SET version = 99"))
	must(t, server.Exec(t.Context(), database(foreign), "CREATE SCHEMA etui", "CREATE TABLE etui.orders (id int)"))
	for url, want := range map[string]string{
		newer: "newer etui", foreign: "another program",
		"postgres://ann:hidden@127.0.0.1:1/db":                         "cannot be reached",
		"postgres://ann:hidden@/db?host=/nowhere":                      "cannot be reached",
		"postgres://ann:hid den@[::1/db":                               "looks like postgres://",
		strings.Replace(newer, "/"+database(newer)+"?", "/absent?", 1): "createdb",
	} {
		_, err := postgres.Open(t.Context(), url, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hid") {
			t.Errorf("%s: %v, want one that says %q", url, err, want)
		}
	}
}

// Two processes that start at once on an empty database make its tables once.
func TestOpenTogether(t *testing.T) {
	url := server.Database(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { open(t, url) })
	}
	all.Wait()
}

// piecemeal is a model that says a word and waits before it goes on.
type piecemeal struct {
	first string
	goOn  <-chan struct{}
}

func (piecemeal) Info() model.Info { return model.Info{Name: "piecemeal"} }

func (p piecemeal) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if !yield(model.Event{Text: p.first}, nil) {
			return
		}
		select {
		case <-p.goOn:
		case <-ctx.Done():
			yield(model.Event{}, ctx.Err())
			return
		}
		if yield(model.Event{Text: " world"}, nil) {
			yield(model.Event{Stop: model.Done}, nil)
		}
	}
}

func newEngine(t *testing.T, s store.Store, m model.Model, change ...func(*engine.Config)) *engine.Engine {
	t.Helper()
	c := engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}}, Store: s, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	e, err := engine.New(c)
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var resuming sync.WaitGroup
	resuming.Go(func() { _ = e.Resume(ctx) })
	t.Cleanup(func() {
		stop()
		resuming.Wait()
		e.Stop(ctx) // what it does in the background is over before the store is closed
	})
	return e
}

// A client that repeats its message at another process sees what the first one streams,
// from the beginning, and gets each word once.
func TestStreamOfAnotherProcess(t *testing.T) {
	url := server.Database(t)
	goOn := make(chan struct{})
	m := piecemeal{"hello", goOn}
	a, b := newEngine(t, open(t, url), m), newEngine(t, open(t, url), m)
	message := engine.Message{Text: "hi", User: "ann", IdempotencyKey: "k"}
	begun := make(chan struct{}, 8)
	texts := make([]string, 2)
	var both sync.WaitGroup
	read := func(n int, e *engine.Engine) {
		for event, err := range e.Send(t.Context(), message) {
			if err != nil {
				t.Error(err)
			}
			if texts[n] += event.Text; event.Text == "hello" {
				begun <- struct{}{}
			}
		}
	}
	both.Go(func() { read(0, a) })
	<-begun
	both.Go(func() { read(1, b) })
	<-begun // before the turn has ended
	close(goOn)
	both.Wait()
	if texts[0] != "hello world" || texts[1] != "hello world" {
		t.Errorf("the clients read %q", texts)
	}
}

// Messages of one session that come to two processes are answered once and in order.
func TestOneSessionOnTwoProcesses(t *testing.T) {
	url := server.Database(t)
	goOn := make(chan struct{})
	close(goOn)
	m := piecemeal{"hello", goOn}
	stores := []*postgres.Store{open(t, url), open(t, url)}
	engines := []*engine.Engine{newEngine(t, stores[0], m), newEngine(t, stores[1], m)}
	const senders, each = 4, 10
	var all sync.WaitGroup
	for n := range senders {
		all.Go(func() {
			for i := range each {
				for event, err := range engines[(n+i)%2].Send(t.Context(), engine.Message{Text: fmt.Sprintf("%d.%d", n, i), User: "ann", Session: "s"}) {
					if err != nil {
						t.Error(err)
					}
					_ = event
				}
			}
		})
	}
	all.Wait()
	list, err := stores[0].List(t.Context(), session.Filter{})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%d sessions", len(list))
	}
	s, err := stores[0].Load(t.Context(), list[0].Key, 0)
	must(t, err)
	next := map[string]int{}
	for n, m := range s.Messages {
		if role := []chat.Role{chat.User, chat.Assistant}[n%2]; m.Role != role {
			t.Fatalf("message %d is of %s, want %s: two turns ran at once", n, m.Role, role)
		}
		if m.Role == chat.User {
			who, i, _ := strings.Cut(m.Text, ".")
			if i != fmt.Sprint(next[who]) {
				t.Errorf("sender %s: %s came when %d was next", who, i, next[who])
			}
			next[who]++
		}
	}
	if len(s.Messages) != 2*senders*each {
		t.Errorf("%d messages, want %d", len(s.Messages), 2*senders*each)
	}
}

// While the server is away, a message is refused with the reason; one that was accepted
// waits, and is answered when the server is back. Nothing is opened anew.
func TestServerIsAwayAndComesBack(t *testing.T) {
	own := postgrestest.For(t)
	goOn := make(chan struct{})
	kept := open(t, own.URL("postgres"))
	e := newEngine(t, kept, piecemeal{"hello", goOn})
	var accepted error
	for event, err := range e.Send(t.Context(), engine.Message{Text: "hi", User: "ann", IdempotencyKey: "k"}) {
		if event.Text == "hello" {
			own.Stop(syscall.SIGQUIT)
			close(goOn)
		}
		accepted = err
	}
	if !errors.Is(accepted, engine.ErrStore) {
		t.Errorf("the accepted message: %v", accepted)
	}
	for _, err := range e.Send(t.Context(), engine.Message{Text: "more", User: "bob"}) {
		if !errors.Is(err, engine.ErrStore) {
			t.Errorf("a new message: %v", err)
		}
	}
	if _, err := schedule.NewTasks(e).Add(t.Context(), schedule.Task{When: "@daily", Text: "look"}); !errors.Is(err, engine.ErrStore) {
		t.Errorf("a new task: %v", err)
	}
	must(t, own.Run())
	var text string
	for began := time.Now(); text == "" && time.Since(began) < time.Minute; {
		for event := range e.Send(t.Context(), engine.Message{Text: "hi", User: "ann", IdempotencyKey: "k"}) {
			text += event.Text
		}
	}
	if text != "hello world" {
		t.Errorf("the answer is %q", text)
	}
}

// handing is a model that hands a task over and tells what comes back. As the sub-agent it
// says that it has begun and waits.
type handing struct {
	begun chan<- struct{}
	goOn  <-chan struct{}
}

func (handing) Info() model.Info { return model.Info{Name: "handing"} }

func (h handing) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		next := model.Event{Text: "begun"}
		switch {
		case strings.HasPrefix(r.Messages[0].Text, "Task: "):
			select {
			case h.begun <- struct{}{}:
			default:
			}
			select {
			case <-h.goOn:
			case <-ctx.Done():
				yield(model.Event{}, ctx.Err())
				return
			}
			next.Text = "done"
			if last.Text != "" { // a step, at which it looks whether it is still wanted
				next = model.Event{Call: &chat.Call{ID: "1", Name: "act", Arguments: []byte(`{}`)}}
			}
		case strings.Contains(last.Note, "[system: the sub-agent"):
			next.Text = "told"
		case last.Text != "":
			next = model.Event{Call: &chat.Call{ID: last.Text, Name: agent.SpawnTool, Arguments: []byte(`{}`)}}
		}
		_ = yield(next, nil) && yield(model.Event{Stop: model.Done}, nil)
	}
}

// A sub-agent goes on in another process, and its result comes back there. It ends when its
// conversation is stopped in another process.
func TestSubAgentsOnTwoProcesses(t *testing.T) {
	url := server.Database(t)
	first, err := postgres.Open(t.Context(), url, nil)
	must(t, err)
	second := open(t, url)
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	acted := make(chan struct{}, 9)
	start := func(s store.Store, h handing) *engine.Engine {
		var e *engine.Engine
		r := catalog.NewRegistry(nil)
		must(t, r.Register(
			tool.Func(tool.Definition{Name: agent.SpawnTool, Description: "Start", Risk: tool.Write, Replay: tool.Keyed}, func(ctx context.Context, _ struct{}) (chat.Result, error) {
				return e.SubAgents().Start(ctx, subagent.Assignment{Task: "work"})
			}),
			tool.Func(tool.Definition{Name: "act", Description: "Act"}, func(context.Context, struct{}) (string, error) { acted <- struct{}{}; return "acted", nil })))
		e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: h, Spawn: agent.Spawn{AtOnce: 1}}}, Store: s})
		must(t, err)
		return e
	}
	a, b := start(first, handing{begun, nil}), start(second, handing{begun, goOn})
	say := func(e *engine.Engine, text string) (reply string) {
		for event, err := range e.Send(t.Context(), engine.Message{Text: text, User: "ann"}) {
			must(t, err)
			reply += event.Text
		}
		return reply
	}
	ended := func(kept store.Store, want string) {
		t.Helper()
		for began := time.Now(); time.Since(began) < time.Minute; {
			s, err := kept.Load(t.Context(), "agent:main:peer:ann", 1)
			must(t, err)
			open, err := kept.Open(t.Context())
			must(t, err)
			left, err := kept.Items(t.Context(), store.ItemFilter{State: store.Waiting})
			must(t, err)
			if last := s.Messages[0]; len(open)+len(left) == 0 && strings.Contains(last.Text+last.Note, want) {
				return
			}
		}
		t.Fatalf("the conversation does not end with %q", want)
	}
	if got := say(a, "one"); got != "begun" {
		t.Errorf("the reply is %q", got)
	}
	<-begun
	now, cancel := context.WithCancel(t.Context())
	cancel()
	a.Stop(now)
	must(t, first.Close())
	ctx, stop := context.WithCancel(t.Context())
	var resuming sync.WaitGroup
	resuming.Go(func() { _ = b.Resume(ctx) })
	t.Cleanup(func() { stop(); resuming.Wait() })
	goOn <- struct{}{}
	goOn <- struct{}{}
	<-acted
	ended(second, "told")

	third := open(t, url)
	c := start(third, handing{begun, nil})
	for len(begun) > 0 {
		<-begun
	}
	if got := say(b, "two"); got != "begun" {
		t.Errorf("the reply is %q", got)
	}
	<-begun
	if got := say(c, message.Stop); !strings.Contains(got, "stopped: 1") {
		t.Errorf("/stop in another process: %q", got)
	}
	ended(second, "stopped before they had a result: 1")
	if len(acted) > 0 {
		t.Error("a sub-agent that was stopped acted")
	}
	c.Wait(t.Context())
	b.Wait(t.Context())
}

// A turn is stopped through another process, which answers when it has ended. Where nothing
// runs, it says so.
func TestStopAtAnotherProcess(t *testing.T) {
	url := server.Database(t)
	m := piecemeal{"hello", nil}
	a, b := newEngine(t, open(t, url), m), newEngine(t, open(t, url), m)
	stop := func(idle bool) (said string) {
		var asked sync.WaitGroup
		begun := make(chan struct{})
		if idle {
			close(begun)
		} else {
			asked.Go(func() {
				var last turn.Event
				for event, err := range a.Send(t.Context(), engine.Message{Text: "hi", User: "ann"}) {
					if err != nil && !errors.Is(err, turn.ErrStopped) {
						t.Error(err)
					}
					if last = event; event.Text == "hello" {
						close(begun)
					}
				}
				if last.Done == nil || !last.Done.Stopped {
					t.Errorf("the turn ended with %+v", last)
				}
			})
		}
		<-begun
		for event, err := range b.Send(t.Context(), engine.Message{Text: message.Stop, User: "ann"}) {
			must(t, err)
			said += event.Text
		}
		asked.Wait()
		return said
	}
	// On a busy machine the first process may not be heard for so long that it counts as dead. Then the
	// turn is stopped all the same, before the answer looks at it.
	said := ""
	for range 3 {
		if said = stop(false); said == "Stopped." {
			break
		}
	}
	if said != "Stopped." {
		t.Errorf("while a turn runs: %q", said)
	}
	if said := stop(true); said != "Nothing is running." {
		t.Errorf("idle: %q", said)
	}
}

// A request that a program repeats without a key, and that a balancer hands to another process
// the second time, is one message.
func TestRepeatedElsewhere(t *testing.T) {
	url, goOn := server.Database(t), make(chan struct{})
	m := piecemeal{"hello", goOn}
	kept := open(t, url)
	a, b := newEngine(t, kept, m), newEngine(t, open(t, url), m)
	message := engine.Message{Text: "hi", User: "ann", Received: func() bool { return false }}
	first, leave := context.WithCancel(t.Context())
	var both sync.WaitGroup
	begun := make(chan struct{}, 2)
	read := func(ctx context.Context, e *engine.Engine, text *string) error {
		for event, err := range e.Send(ctx, message) {
			if err != nil {
				return err
			}
			if *text += event.Text; event.Text == "hello" {
				begun <- struct{}{}
			}
		}
		return nil
	}
	var texts [2]string
	both.Go(func() { _ = read(first, a, &texts[0]) })
	<-begun
	leave()
	both.Go(func() {
		if err := read(t.Context(), b, &texts[1]); err != nil {
			t.Error(err)
		}
	})
	<-begun
	close(goOn)
	both.Wait()
	list, err := kept.List(t.Context(), session.Filter{})
	must(t, err)
	if texts[1] != "hello world" || len(list) != 1 || list[0].Messages != 2 {
		t.Errorf("the second process gives %q, and the sessions are %+v", texts[1], list)
	}
}

// What people change of an agent is in effect at every process, and after a restart.
func TestControlsAreShared(t *testing.T) {
	url := server.Database(t)
	kept := open(t, url)
	m := piecemeal{}
	a, b := newEngine(t, open(t, url), m), newEngine(t, kept, m)
	must(t, a.Agents().Roster.Change(t.Context(), "main", roster.Change{Skills: []string{catalog.None}}))
	for now := (agent.Status{}); len(now.Skills) == 0; {
		_, err := kept.Records(t.Context(), "agent") // meanwhile b hears of the change
		must(t, err)
		now, err = b.Agents().Status("main")
		must(t, err)
	}
	now, err := newEngine(t, open(t, url), m).Agents().Status("main")
	must(t, err)
	if !slices.Equal(now.Skills, []string{catalog.None}) {
		t.Errorf("a new process has the skills %q", now.Skills)
	}
}

// eraser returns what forgets the people of an engine, also when another process asks for it.
func eraser(t *testing.T, e *engine.Engine) *erase.Eraser {
	t.Helper()
	s := erase.New(erase.Config{Engine: e, Local: []erase.Part{e}})
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { s.Follow(ctx) })
	t.Cleanup(func() {
		stop()
		following.Wait()
	})
	return s
}

// A person who is forgotten at one process is forgotten at the others, too: what each keeps
// by itself is gone when the first one answers, and so is the request.
func TestForgetAtAllProcesses(t *testing.T) {
	url := server.Database(t)
	past, err := sqlite.OpenUsage(t.Context(), filepath.Join(t.TempDir(), "usage.db"), sqlite.Limits{})
	must(t, err)
	t.Cleanup(func() { must(t, past.Close()) })
	for _, user := range []string{"ann", "bob"} {
		must(t, past.Add(t.Context(), usage.Turn{Time: time.Now(), Agent: "main", User: user, Text: "hi"}))
	}
	kept := open(t, url)
	a := newEngine(t, kept, piecemeal{})
	eraser(t, newEngine(t, open(t, url), piecemeal{}, func(c *engine.Config) { c.Learning = learning.Config{Keep: true, Log: past} }))
	eraser(t, newEngine(t, open(t, url), piecemeal{}))
	f, err := eraser(t, a).Erase(t.Context(), "ann")
	must(t, err)
	left, err := past.List(t.Context(), usage.Filter{})
	must(t, err)
	if f.Count["turns"] != 1 || len(left) != 1 || left[0].User != "bob" {
		t.Errorf("%d turns were removed, left are %+v", f.Count["turns"], left)
	}
	asked, err := kept.Records(t.Context(), "forget")
	must(t, err)
	if len(asked) != 0 {
		t.Errorf("the request is still there: %+v", asked)
	}
}

// After the database was away, a process that comes back first does not take what another
// one works on: that one could not renew its lease either. Each lease ended meanwhile, or
// only that of the other one, which was renewed a little earlier.
func TestAnOutageIsNoDeath(t *testing.T) {
	for _, ended := range []struct{ mine, other string }{{"-6 s", "-7 s"}, {"500 ms", "-10 ms"}} {
		t.Run(ended.mine, func(t *testing.T) { outage(t, ended.mine, ended.other) })
	}
}

func outage(t *testing.T, mine, other string) {
	url := server.Database(t)
	s, looks := open(t, url), open(t, url)
	alive := func(holder string) bool {
		holders, err := looks.Alive(t.Context())
		must(t, err)
		return slices.Contains(holders, holder)
	}
	must(t, server.Exec(t.Context(), database(url),
		`INSERT INTO etui.claims (session, holder, number) VALUES ('s', 'other', nextval('etui.claim_numbers'))`,
		`INSERT INTO etui.replicas VALUES ('dead', clock_timestamp() - interval '30 s')`,
		`WITH away AS (UPDATE etui.replicas SET expires = clock_timestamp() + interval '`+mine+`' WHERE holder = '`+s.Holder()+`')
			INSERT INTO etui.replicas VALUES ('other', clock_timestamp() + interval '`+other+`')`))
	for began := false; !began; began = alive("other") {
		if err := s.Claim(t.Context(), store.Claim{Session: "s", Try: true}); !errors.Is(err, store.ErrClaimed) {
			t.Fatalf("claiming what a process works on that could not renew its lease: %v", err)
		}
	}
	if !alive(s.Holder()) || alive("dead") {
		t.Errorf("this process is alive: %v, the one that was dead before: %v", alive(s.Holder()), alive("dead"))
	}
	must(t, server.Exec(t.Context(), database(url), `DELETE FROM etui.replicas WHERE holder = 'other'`))
	must(t, s.Claim(t.Context(), store.Claim{Session: "s", Try: true}))
}

// gated answers each message with its text and " done", after its gate was closed.
type gated map[string]chan struct{}

func (g gated) Info() model.Info { return piecemeal{}.Info() }

func (g gated) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		said := r.Messages[len(r.Messages)-1].Text
		for text, gate := range g {
			if !strings.HasSuffix(said, text) {
				continue
			}
			if !yield(model.Event{Text: text}, nil) {
				return
			}
			select {
			case <-gate:
			case <-ctx.Done():
				yield(model.Event{}, ctx.Err())
				return
			}
			if yield(model.Event{Text: " done"}, nil) {
				yield(model.Event{Stop: model.Done}, nil)
			}
		}
	}
}

// A repeated message is answered when its turn ends, whatever waits before it in the line of
// the process to which it was repeated.
func TestARepeatDoesNotWaitForLaterMessages(t *testing.T) {
	url := server.Database(t)
	m := gated{"first": make(chan struct{}), "second": make(chan struct{})}
	a, b := newEngine(t, open(t, url), m), newEngine(t, open(t, url), m)
	var all sync.WaitGroup
	begun, ended := make(chan string, 8), make(chan string, 8)
	say := func(e *engine.Engine, text string) {
		all.Go(func() {
			var read string
			for event, err := range e.Send(t.Context(), engine.Message{Text: text, User: "ann", IdempotencyKey: text, Accepted: func() { begun <- text }}) {
				if err != nil {
					t.Error(err)
				}
				if read += event.Text; read == text {
					begun <- text
				}
			}
			ended <- read
		})
	}
	wait := func(n int) {
		for range n {
			<-begun
		}
	}
	say(a, "first")
	wait(2) // it is accepted, and its turn runs
	say(b, "second")
	wait(1) // it is accepted, and first in the line of b
	say(b, "first")
	wait(1)
	close(m["first"])
	for range 2 {
		if read := <-ended; read != "first done" {
			t.Errorf("a client read %q", read)
		}
	}
	close(m["second"])
	all.Wait()
}

// What waits at a process that stops is taken over by another one while the turns of the
// first still run; the client learns that the first one stops, and gets the answer from the other.
func TestAStopLeavesWhatWaits(t *testing.T) {
	url := server.Database(t)
	m := gated{"first": make(chan struct{}), "second": make(chan struct{})}
	close(m["second"])
	a, b := newEngine(t, open(t, url), m, func(c *engine.Config) { c.MaxTurns = 1 }), newEngine(t, open(t, url), m)
	var all sync.WaitGroup
	ended := map[string]chan error{"first": make(chan error, 1), "second": make(chan error, 1)}
	say := func(text string, begun chan struct{}) {
		all.Go(func() {
			for event, err := range a.Send(t.Context(), engine.Message{Text: text, User: "ann", Session: text, IdempotencyKey: text, Accepted: func() { begun <- struct{}{} }}) {
				if event.Text == text {
					begun <- struct{}{}
				}
				if err != nil || event.Done != nil {
					ended[text] <- err
				}
			}
		})
	}
	begun := make(chan struct{}, 3)
	say("first", begun)
	<-begun
	<-begun // its turn runs
	say("second", begun)
	<-begun // it is accepted, and waits
	stopped := make(chan int, 1)
	go func() { stopped <- a.Stop(t.Context()) }()
	if err := <-ended["second"]; !errors.Is(err, engine.ErrStopping) {
		t.Errorf("the client that waits learns %v", err)
	}
	var text string
	for event, err := range b.Send(t.Context(), engine.Message{Text: "second", User: "ann", Session: "second", IdempotencyKey: "second"}) {
		if text += event.Text; err != nil {
			t.Error(err)
		}
	}
	if text != "second done" {
		t.Errorf("the other process answers %q", text)
	}
	close(m["first"])
	if err := <-ended["first"]; err != nil {
		t.Errorf("the turn that ran: %v", err)
	}
	all.Wait()
	<-stopped
}

// A client whose process loses the conversation in the middle of an answer gets each word
// once, from the process that took it over.
func TestStreamGoesOnAfterALoss(t *testing.T) {
	url := server.Database(t)
	mine, theirs := gated{"hi": make(chan struct{})}, gated{"hi": make(chan struct{})}
	kept := open(t, url)
	a := newEngine(t, kept, mine)
	follows := make(chan struct{})
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "LISTEN etui")
	must(t, err)
	begun := make(chan struct{})
	var read string
	var all sync.WaitGroup
	all.Go(func() {
		for event, err := range a.Send(t.Context(), engine.Message{Text: "hi", User: "ann", IdempotencyKey: "k"}) {
			if err != nil {
				t.Error(err)
			}
			if read += event.Text; read == "hi" {
				close(begun)
			}
		}
	})
	<-begun
	asked := make(chan struct{}, 1)
	b := newEngine(t, open(t, url), noting{theirs, asked})
	for taken := false; !taken; {
		must(t, server.Exec(t.Context(), database(url), "DELETE FROM etui.replicas WHERE holder = '"+kept.Holder()+"'"))
		select {
		case <-asked:
			taken = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	var metrics strings.Builder
	must(t, b.Metrics(t.Context(), &metrics))
	if !strings.Contains(metrics.String(), "\netui_turns_running 1\n") {
		t.Errorf("the turn that was taken over does not run:\n%s", metrics.String())
	}
	all.Go(func() {
		defer close(follows)
		for {
			if n, err := conn.WaitForNotification(t.Context()); err != nil || strings.HasPrefix(n.Payload, "news ") {
				return // the follower has been told what was said
			}
		}
	})
	close(mine["hi"])
	<-follows
	close(theirs["hi"])
	all.Wait()
	if read != "hi done" {
		t.Errorf("the client read %q", read)
	}
}

// noting says when a model is asked.
type noting struct {
	gated
	asked chan struct{}
}

func (n noting) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	n.asked <- struct{}{}
	return n.gated.Stream(ctx, r)
}

// A client that leaves while it follows another process does not disturb the turn, if its
// own process takes that over.
func TestAFollowerLeaves(t *testing.T) {
	url := server.Database(t)
	theirs, mine := gated{"hi": make(chan struct{})}, gated{"hi": make(chan struct{})}
	close(mine["hi"])
	first := open(t, url)
	a := newEngine(t, first, theirs)
	asked := make(chan struct{}, 8)
	b := newEngine(t, open(t, url), noting{mine, asked})
	message := engine.Message{Text: "hi", User: "ann", IdempotencyKey: "k"}
	begun := make(chan struct{})
	texts := make([]string, 2)
	var all sync.WaitGroup
	read := func(n int, e *engine.Engine, until string) {
		for event, err := range e.Send(t.Context(), message) {
			if err != nil {
				t.Error(err)
			}
			if texts[n] += event.Text; event.Text == "hi" {
				begun <- struct{}{}
			}
			if texts[n] == until {
				break
			}
		}
	}
	all.Go(func() { read(0, a, "hi done") })
	<-begun
	left := make(chan struct{})
	go func() {
		defer close(left)
		read(1, b, "hi")
	}()
	<-begun
	for taken := false; !taken; {
		must(t, server.Exec(t.Context(), database(url), "DELETE FROM etui.replicas WHERE holder = '"+first.Holder()+"'"))
		select {
		case <-asked:
			taken = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	<-left
	close(theirs["hi"])
	all.Wait()
	if texts[0] != "hi done" || texts[1] != "hi" {
		t.Errorf("the clients read %q", texts)
	}
}
