package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// counting counts how often sessions are loaded.
type counting struct {
	*store.Memory
	loads int
}

func (c *counting) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	c.loads++
	return c.Memory.Load(ctx, key, limit)
}

// What waits is looked for only where something can: other open sessions are not read, and of
// those that wait, only the one that an ID names.
func TestApprovalsReadWhatWaits(t *testing.T) {
	t.Parallel()
	kept := &counting{Memory: &store.Memory{}}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; approving(c) })
	for i := range 300 {
		s := session.State{Turn: session.Turn{ID: "t"}}
		if i%100 == 0 {
			s.Awaits = []session.Await{{Call: "1", Tool: "get_weather", User: "ann", For: session.Approval, ID: fmt.Sprintf("aaaaa%d", 2+i/100)}}
		}
		must(t, kept.Append(t.Context(), session.Key(fmt.Sprint("agent:main:", i)), s, chat.Message{Role: chat.User, Text: "go"}))
	}
	list, err := g.Answers().For(t.Context(), engine.Message{User: "ann"})
	if err != nil || len(list) != 3 || kept.loads != 3 {
		t.Errorf("%d sessions were read for %+v, %v", kept.loads, list, err)
	}
	kept.loads = 0
	if a, err := g.Answers().Give(t.Context(), engine.Message{User: "bob"}, "aaaaa3", session.Answer{}, false); !errors.Is(err, approval.ErrNotYours) || a.Session != "agent:main:100" || kept.loads != 1 {
		t.Errorf("%d sessions were read for %+v, %v", kept.loads, a, err)
	}
}

// The answer of somebody else does not count, and says so; that of a person whom the rules
// name counts from another conversation, and so does an operator's.
func TestWhoMayApprove(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; approving(c) }, weather("one", "two")...)
	ann := engine.Message{Text: "weather?", User: "ann", Channel: "web", Chat: "room"}
	a := wait(t, g, ann)
	for _, m := range []engine.Message{{Text: "/approve", User: "bob", Channel: "web", Chat: "room"}, {Text: "/deny " + a.ID, User: "bob", Channel: "web"}} {
		if got := reply(t, g, m); !strings.Contains(got, "your answer does not count: only ann, who asked for it, or an operator decides about get_weather") && !strings.Contains(got, "only web:ann, who asked") {
			t.Errorf("%+v: %q", m, got)
		}
	}
	if _, err := g.Answers().Give(t.Context(), engine.Message{User: "bob", Channel: "web"}, a.ID, session.Answer{Approved: true}, false); !errors.Is(err, approval.ErrNotYours) {
		t.Errorf("bob over HTTP: %v", err)
	}
	if list, err := g.Answers().For(t.Context(), engine.Message{User: "bob", Channel: "web"}); err != nil || len(list) != 0 {
		t.Errorf("bob may answer %+v, %v", list, err)
	}
	if got := reply(t, g, engine.Message{Text: "/approve " + a.ID, User: "eve", Roles: []string{"admin"}}); got != "Approved; the conversation in which it was asked goes on." {
		t.Errorf("an admin elsewhere: %q", got)
	}
	idle(t, g)
	key := keyOf(t, g, ann)
	last := func() string {
		s, err := kept.Load(t.Context(), key, 0)
		must(t, err)
		return s.Messages[len(s.Messages)-1].Text
	}
	if last() != "one" {
		t.Errorf("the conversation ends with %q", last())
	}
	a = wait(t, g, ann)
	if _, err := g.Answers().Give(t.Context(), engine.Message{}, a.ID, session.Answer{Approved: true, By: "the operator"}, true); err != nil {
		t.Errorf("an operator: %v", err)
	}
	idle(t, g)
	if last() != "two" {
		t.Errorf("the conversation ends with %q", last())
	}
	if _, err := g.Answers().Give(t.Context(), engine.Message{}, a.ID, session.Answer{Approved: true}, true); !errors.Is(err, approval.ErrNone) {
		t.Errorf("a second answer: %v", err)
	}
}

// People without a name are not one person: only the conversation that asked answers, and
// that of the operator at another terminal for one of the operator's.
func TestGuestsApproveOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	g, _ := newEngine(t, approving, weather("shop", "terminal")...)
	shop, terminal := engine.Message{Text: "weather?", Channel: "shop", Session: "1"}, engine.Message{Text: "weather?", Channel: "cli", Session: "1"}
	others := []engine.Message{{Channel: "shop", Session: "2"}, {Channel: "shop"}, {Channel: "web", Session: "1"}}
	for _, asked := range []engine.Message{shop, terminal} {
		a := wait(t, g, asked)
		for _, m := range others {
			if list, err := g.Answers().For(t.Context(), m); err != nil || len(list) != 0 {
				t.Errorf("%+v may answer %+v, %v", m, list, err)
			}
			if _, err := g.Answers().Give(t.Context(), m, a.ID, session.Answer{Approved: true}, false); !errors.Is(err, approval.ErrNotYours) {
				t.Errorf("%+v over HTTP: %v", m, err)
			}
			m.Text = "/approve " + a.ID
			if got := reply(t, g, m); !strings.Contains(got, "your answer does not count") {
				t.Errorf("%+v: %q", m, got)
			}
		}
		asked.Text = "/approve " + a.ID
		want := "shop"
		if asked.Channel == "cli" {
			asked.Session, want = "2", "Approved; the conversation in which it was asked goes on."
		}
		if got := reply(t, g, asked); got != want {
			t.Errorf("%+v: %q, want %q", asked, got, want)
		}
	}
}

// TestApprovalOfAnotherCall: an approval is for the call that was shown. Models use the IDs of
// calls again where the earlier ones are out of their sight: what was said to the first of them
// does not let the second one run. Somebody else who was too late is a client of the API, and reads
// nothing here: nobody has to be warned of that.
func TestApprovalOfAnotherCall(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	hold := make(chan struct{})
	call := fake.Step{Calls: []chat.Call{fake.Call("a", "get_weather", `{}`)}}
	working := make(chan struct{}, 4)
	busy := fake.Step{Text: "busy", Wait: hold, Check: func(model.Request) error { working <- struct{}{}; return nil }}
	g, m := newEngine(t, func(c *engine.Config) { c.MaxTurns, c.Log = 4, slog.New(slog.NewTextHandler(&log, nil)); approving(c) }, call, busy, busy, busy, busy, fake.Step{Text: "denied"}, call)
	ann := engine.Message{Text: "weather?", User: "ann"}
	first := wait(t, g, ann)
	var all sync.WaitGroup
	begin := func(m engine.Message) {
		accepted := make(chan struct{})
		m.Accepted = func() { close(accepted) }
		all.Go(func() {
			if _, err := send(g, t.Context(), m); err != nil {
				t.Error(err)
			}
		})
		select {
		case <-accepted:
		case <-t.Context().Done():
		}
	}
	answer := func(by engine.Message, approved bool) {
		_, err := g.Answers().Give(t.Context(), by, first.ID, session.Answer{Approved: approved}, false)
		must(t, err)
	}
	for i := range 4 { // what follows waits for them
		begin(engine.Message{Text: "work", User: fmt.Sprint("bob", i)})
	}
	for range 4 {
		<-working
	}
	answer(ann, false)
	answer(engine.Message{User: "eve", Roles: []string{"admin"}}, true)
	begin(engine.Message{Text: "and tomorrow?", User: "ann", NoHistory: true})
	answer(ann, true)
	close(hold)
	all.Wait()
	idle(t, g)
	if strings.Contains(log.String(), "not told") {
		t.Errorf("the log says %s", log.String())
	}
	list, err := g.Approvals().List(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Call != first.Call || list[0].ID == first.ID || len(m.Requests()) != 7 {
		t.Fatalf("%+v waits after %d requests: the answer to %+v let it run", list, len(m.Requests()), first)
	}
	_, err = send(g, t.Context(), engine.Message{User: "ann", Answers: []session.Answer{{Call: first.Call, ID: first.ID, Approved: true}}})
	if !errors.Is(err, message.ErrNothingAwaited) {
		t.Errorf("the answer to a request that is over: %v", err)
	}
}

// Of those without a name, only the operator can approve always: a nameless sender of a
// program could be anybody.
func TestNobodyApprovesAlways(t *testing.T) {
	t.Parallel()
	for channel, refused := range map[string]bool{"api": true, "web": true, "cli": false} {
		g, _ := newEngine(t, approving, weather("1", "2")...)
		m := engine.Message{Text: "weather?", Channel: channel, Session: "s"}
		wait(t, g, m)
		m.Text = "/approve always"
		done, err := ended(g, t.Context(), m)
		if said := done.Reply + fmt.Sprint(err); refused != strings.Contains(said, "has no name") {
			t.Errorf("%s: %s", channel, said)
		}
		list, err := g.Approvals().Grants.List(t.Context())
		must(t, err)
		if (len(list) == 0) != refused {
			t.Errorf("%s: lasting %+v", channel, list)
		}
	}
}

// leading is a tool whose paths lead elsewhere later, as through a link.
type leading struct {
	tool.Tool
	to *atomic.Value
}

func (l leading) Normalize(context.Context, json.RawMessage) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"word":%q}`, l.to.Load()))
}

// What a person has seen is what runs. A call whose arguments mean something else by then is
// asked about again.
func TestApprovedArgumentsRun(t *testing.T) {
	t.Parallel()
	var to atomic.Value
	var ran []string
	to.Store("notes.txt")
	write := tool.Func(tool.Definition{Name: "write", Description: "Write a file"}, func(_ context.Context, w word) (string, error) {
		ran = append(ran, w.Word)
		return "written", nil
	})
	g, _ := newEngine(t, func(c *engine.Config) {
		approving(c)
		must(t, c.Registry.Register(leading{write, &to}))
	}, fake.Step{Calls: []chat.Call{fake.Call("1", "write", `{"word":"notes.txt"}`)}}, fake.Step{Text: "done"})
	m := engine.Message{Text: "write it", User: "ann", Session: "s"}
	first := wait(t, g, m)
	to.Store("important.txt")
	m.Text = "/approve"
	second := wait(t, g, m)
	if second.ID == first.ID || !strings.Contains(second.Arguments, "important.txt") || len(ran) > 0 {
		t.Fatalf("asked %+v, and then %+v; ran with %q", first, second, ran)
	}
	if got := reply(t, g, m); got != "done" || len(ran) != 1 || ran[0] != "important.txt" {
		t.Errorf("%q, ran with %q", got, ran)
	}
}

// TestExpiryOfAnOldVersion: an etui from before answers named the request may have said that a
// call expires, in a message that did not end it. What expires after that still does.
func TestExpiryOfAnOldVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &store.Memory{}
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; approving(c); c.Turn.Expire = time.Hour }, call("1", "get_weather"), call("2", "get_weather"), fake.Step{Text: "too late"})
		a := wait(t, g, engine.Message{Text: "weather?", Session: "a"})
		list, err := g.Approvals().List(t.Context())
		must(t, err)
		hashed := func(value any) string {
			sum := sha256.Sum256([]byte(asJSON(t, value)))
			return hex.EncodeToString(sum[:])
		}
		said := engine.Message{Background: true, Answers: []session.Answer{{Call: a.Call, Reason: "nobody answered in time, so the request has expired"}}}
		i, _, err := kept.Accept(t.Context(), store.Item{
			Session: list[0].Session, Message: []byte(asJSON(t, said)), Holder: "gone",
			Key: hashed([]string{"", "", "", "", "", "", "expired-" + a.ID}), Digest: hashed(said),
		})
		must(t, err)
		must(t, kept.Finish(t.Context(), store.End{ID: i.ID, Result: []byte(`{"error":"its agent was away"}`)}))
		time.Sleep(time.Second) // the other one is later in the list
		wait(t, g, engine.Message{Text: "weather?", Session: "b"})
		time.Sleep(time.Hour + 2*time.Minute)
		must(t, g.Expire(t.Context()))
		idle(t, g)
		list, err = g.Approvals().List(t.Context())
		must(t, err)
		if len(list) != 1 || list[0].ID != a.ID {
			t.Errorf("these still wait: %+v", list)
		}
	})
}

// unput is a store that cannot keep records for a time.
type unput struct {
	*store.Memory
	failures atomic.Int32
}

func (u *unput) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	if kind == "approval" && u.failures.Add(-1) >= 0 {
		return errStore
	}
	return u.Memory.Put(ctx, kind, key, value)
}

// An approval that cannot be stored is stored later: it is not lost, and its sender is not
// shown what the database says.
func TestApprovalIsStoredLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &unput{Memory: &store.Memory{}}
		kept.failures.Store(2)
		g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; approving(c) }, weather("It is sunny.")...)
		wait(t, g, engine.Message{Text: "weather?", User: "ann"})
		if done, err := ended(g, t.Context(), engine.Message{Text: "/approve always", User: "ann"}); !errors.Is(err, engine.ErrStore) {
			t.Errorf("while the database is away: %q, %v", done.Reply, err)
		}
		idle(t, g)
		lasting, err := g.Approvals().Grants.List(t.Context())
		must(t, err)
		s, err := kept.Load(t.Context(), keyOf(t, g, engine.Message{User: "ann"}), 0)
		must(t, err)
		if len(lasting) != 1 || s.Open() || s.Messages[len(s.Messages)-1].Text != "It is sunny." {
			t.Errorf("the lasting approvals are %+v, the conversation %+v", lasting, s.Messages)
		}
	})
}
