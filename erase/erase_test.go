package erase_test

import (
	"context"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// newEngine returns an engine with two agents, whose model repeats what it is told.
func newEngine(tb testing.TB, change func(*engine.Config)) *engine.Engine {
	m := repeater{}
	cfg := engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}, {Name: "other", Model: m}}}
	change(&cfg)
	g, err := engine.New(cfg)
	must(tb, err)
	return g
}

// repeater is a model that repeats what it is told.
type repeater struct{}

func (repeater) Info() model.Info { return model.Info{Name: "repeater"} }

func (repeater) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		said := r.Messages[len(r.Messages)-1].Text
		_ = yield(model.Event{Text: "you said " + said}, nil) && yield(model.Event{Stop: model.Done}, nil)
	}
}

// eraser returns what forgets the people of an engine.
func eraser(g *engine.Engine) *erase.Eraser {
	return erase.New(erase.Config{Engine: g, Parts: []erase.Part{g.Approvals().Grants, schedule.NewTasks(g)}, Local: []erase.Part{g}})
}

func say(t *testing.T, g *engine.Engine, m engine.Message) {
	t.Helper()
	for _, err := range g.Send(t.Context(), m) {
		must(t, err)
	}
}

func texts(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text + " ")
	}
	return strings.TrimSpace(b.String())
}

// TestForgetUserInTheInbox: what somebody wrote goes also where no turn has made it a part of
// a conversation.
func TestForgetUserInTheInbox(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	must(t, err)
	defer file.Close()
	for name, kept := range map[string]store.Store{"memory": &store.Memory{}, "sqlite": file} {
		for _, user := range []string{"web:ann", "web:bob"} {
			for _, state := range []store.State{store.Parked, store.Answered} {
				i, _, err := kept.Accept(t.Context(), store.Item{Session: "s", User: user, Message: []byte(`{"text":"secret"}`), Holder: "x"})
				must(t, err)
				if i.State = state; state == store.Answered {
					err = kept.Finish(t.Context(), store.End{ID: i.ID, Result: []byte(`{"done":{"reply":"secret"}}`), Deliver: true})
				} else {
					err = kept.Update(t.Context(), i)
				}
				must(t, err)
			}
		}
		g := newEngine(t, func(c *engine.Config) { c.Store = kept })
		if _, err := eraser(g).Erase(t.Context(), "web:ann"); err != nil {
			t.Fatal(err)
		}
		left, err := kept.Items(t.Context(), store.ItemFilter{})
		must(t, err)
		if len(left) != 2 || left[0].User != "web:bob" || left[1].User != "web:bob" {
			t.Errorf("%s: the inbox has %+v", name, left)
		}
	}
}

// TestForgetUser: a person's own sessions go, and what they said among others; the rest
// stays, and goes on.
func TestForgetUser(t *testing.T) {
	store := &store.Memory{}
	g := newEngine(t, func(c *engine.Config) { c.Store = store })
	say(t, g, engine.Message{Text: "own", Channel: "web", User: "ann"})
	say(t, g, engine.Message{Text: "named", Channel: "web", User: "ann", Session: "s"})
	say(t, g, engine.Message{Text: "bob's", Channel: "web", User: "bob"})
	for _, m := range []engine.Message{{Text: "from bob", User: "bob"}, {Text: "from ann", User: "ann"}, {Text: "more from bob", User: "bob"}} {
		m.Channel, m.Chat = "web", "team"
		say(t, g, m)
	}
	for _, peer := range []string{"ann", "ann b"} {
		key := route.Key(route.Place{Agent: "other", Channel: "web", Sender: identity.Sender{Channel: "web", ID: peer}}, route.Peer)
		must(t, store.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: "without an author"}))
	}

	f, err := eraser(g).Erase(t.Context(), "web:ann")
	must(t, err)
	none := map[string]int{"sessions": 0, "messages": 0, "turns": 0, "memories": 0, "tasks": 0, "approvals": 0}
	want := maps.Clone(none)
	want["sessions"], want["messages"] = 3, 2
	if f.User != "web:ann" || !maps.Equal(f.Count, want) {
		t.Errorf("forgotten: %+v, want %v", f, want)
	}
	left, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	if len(left) != 3 {
		t.Errorf("left are %+v; want bob's, the team's and one of somebody else", left)
	}
	for _, s := range left {
		c, err := store.Load(t.Context(), s.Key, 0)
		must(t, err)
		if got := texts(c.Messages); strings.Contains(got, "from ann") || len(s.Users) > 1 {
			t.Errorf("%s has %q of %q", s.Key, got, s.Users)
		}
	}
	if again, err := eraser(g).Erase(t.Context(), "web:ann"); err != nil || !maps.Equal(again.Count, none) {
		t.Errorf("again: %+v, %v", again, err)
	}
	say(t, g, engine.Message{Text: "and on", Channel: "web", Chat: "team", User: "bob"})
	if _, err := eraser(g).Erase(t.Context(), ""); err == nil {
		t.Error("nobody was forgotten")
	}
}

// TestForgetClosesTheOpenTurn: a turn that waits for an answer to a forgotten question is
// closed, and that of somebody else still waits.
func TestForgetClosesTheOpenTurn(t *testing.T) {
	for user, open := range map[string]bool{"ann": false, "bob": true} {
		store := &store.Memory{}
		state := session.State{Summary: "ann said so", Turn: session.Turn{ID: "t", Request: []byte(`{}`)}, Awaits: []session.Await{{Call: "1", Tool: "echo", User: user, For: session.Approval}}}
		must(t, store.Append(t.Context(), "k", state,
			chat.Message{Role: chat.User, Text: "x", User: "bob"}, chat.Message{Role: chat.Assistant, Text: "y"},
			chat.Message{Role: chat.User, Text: "x", User: "ann"}, chat.Message{Role: chat.Assistant, Text: "y"},
			chat.Message{Role: chat.User, Text: "do it", User: user}, chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "echo"}}}))
		g := newEngine(t, func(c *engine.Config) { c.Store = store })
		_, err := eraser(g).Erase(t.Context(), "ann")
		must(t, err)
		s, err := store.Load(t.Context(), "k", 0)
		must(t, err)
		if s.Open() != open {
			t.Errorf("the turn of %s is open: %v, want %v: %+v", user, s.Open(), open, s.State)
		}
		if s.Summary != "" {
			t.Errorf("the summary still says %q", s.Summary)
		}
	}
}

// TestForgetPerson: a person of the configuration has several names, in sessions from before
// the configuration knew them, too.
func TestForgetPerson(t *testing.T) {
	users, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"telegram:42"}}})
	must(t, err)
	store := &store.Memory{}
	g := newEngine(t, func(c *engine.Config) {
		c.Store, c.Users = store, func(*catalog.Catalog) *identity.Users { return users }
	})
	must(t, store.Append(t.Context(), "agent:main:peer:telegram:42", session.State{}, chat.Message{Role: chat.User, Text: "earlier", User: "telegram:42"}))
	must(t, store.Append(t.Context(), "agent:main:peer:discord:42", session.State{}, chat.Message{Role: chat.User, Text: "another", User: "discord:42"}))
	say(t, g, engine.Message{Text: "hi", Channel: "telegram", User: "42"})
	say(t, g, engine.Message{Text: "hi", Channel: "cli", User: "ann", Session: "s"})
	f, err := eraser(g).Erase(t.Context(), "telegram:42")
	must(t, err)
	if f.Count["sessions"] != 3 {
		t.Errorf("%d sessions were removed, want 3", f.Count["sessions"])
	}
	left, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	if len(left) != 1 || left[0].Key != "agent:main:peer:discord:42" {
		t.Errorf("left are %+v, want the session of another", left)
	}
}

// A group in which one person has a name is not that person's: the others there may have none.
func TestGroupWithNamelessPeople(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	g := newEngine(t, func(c *engine.Config) { c.Store = kept })
	room := engine.Message{Channel: "web", Chat: "room"}
	for _, m := range []struct{ user, text string }{{"", "a word of somebody"}, {"ann", "a word of ann"}} {
		room.User, room.Text = m.user, m.text
		say(t, g, room)
	}
	list, err := kept.List(t.Context(), session.Filter{})
	must(t, err)
	names := g.Agents().Users().Names("web:ann")
	if len(list) != 1 || !slices.Equal(list[0].Users, names) {
		t.Fatalf("the sessions are %+v, want one of %v", list, names)
	}
	if route.Belongs(list[0], names) {
		t.Error("the group belongs to ann")
	}
	if f, err := eraser(g).Erase(t.Context(), "web:ann"); err != nil || f.Count["sessions"] != 0 || f.Count["messages"] == 0 {
		t.Errorf("forgotten: %+v, %v", f, err)
	}
	s, err := kept.Load(t.Context(), list[0].Key, 0)
	must(t, err)
	if len(s.Messages) != 2 || s.Messages[0].Text != "a word of somebody" {
		t.Errorf("left are %+v", s.Messages)
	}
}

func TestSweep(t *testing.T) {
	store := &store.Memory{}
	for i := range 250 {
		must(t, store.Append(t.Context(), session.Key(strings.Repeat("k", i+1)), session.State{}))
	}
	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 250}} {
		if n, err := erase.Sweep(t.Context(), store, c.before); n != c.want || err != nil {
			t.Errorf("%d were removed, %v; want %d", n, err, c.want)
		}
	}
}
