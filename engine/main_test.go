package engine_test

// How to write a test here
//
// Tests of this package use the engine as a program does: they send messages and look at what
// comes back, at what the model was asked, and at what is stored. None of them looks inside.
//
// Most are stories: story_test.go says how to write one, and a story is the first choice. Write a
// test in Go for what a story cannot hold: races, kills at every write, a store that fails, a
// thousand messages, an API that no message reaches.
//
//	func TestEcho(t *testing.T) {
//		t.Parallel()
//		kept := &store.Memory{}
//		g, m := newEngine(t, func(c *engine.Config) { c.Store = kept },
//			call("1", "get_weather"), fake.Step{Text: "It is sunny."})
//		if got := reply(t, g, engine.Message{Text: "weather?", User: "ann"}); got != "It is sunny." {
//			t.Errorf("ann reads %q", got)
//		}
//		same(t, "requests to the model", len(m.Requests()), 2)
//	}
//
// newEngine makes an engine of two agents, main and other, with the tools and the skill of
// registry; the function changes its configuration first, and the steps are the model's script.
//
//   - Send a message with send (the text), reply (the text, no error allowed), ended (how it
//     ended) or wait (it has to wait for an approval). idle returns when nothing runs any more.
//   - The model is a script: fake.Step is an answer, and call one that calls a tool. asking and
//     scripted are models that compute their answers.
//   - asks, askFor and approving make calls wait for an approval.
//   - load, loadKey, asked, notes, items and keyOf read what is stored.
//   - A store that fails is a type that embeds one and fails in the methods that matter.
//
// A test depends on no clock: what takes time runs in a bubble of testing/synctest, where time
// passes at once. It does not sleep, and it waits for what has happened, not for a while. What it
// says when it fails names the thing and its value: "ann reads %q", not "got %v, want %v".

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// word are the arguments of echo.
type word struct {
	Word string `json:"word"`
}

// must ends a test that cannot go on.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// same fails a test where two values differ.
func same[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: %v, want %v", what, got, want)
	}
}

// registry has the tools echo, get_weather and admin_only, which only admins see, and the skill
// talking, which shows echo alone.
func registry(tb testing.TB) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	echo := tool.Definition{Name: "echo", Description: "Say a word again", Groups: []string{"talk"}, Risk: tool.Read}
	weather := tool.Definition{Name: "get_weather", Description: "Tell the weather", Groups: []string{"world"}}
	admin := tool.Definition{Name: "admin_only", Description: "Restart everything"}
	says := func(text string) func(context.Context, struct{}) (string, error) {
		return func(context.Context, struct{}) (string, error) { return text, nil }
	}
	must(tb, r.Register(
		tool.Func(echo, func(_ context.Context, w word) (string, error) { return w.Word, nil }),
		tool.Func(weather, says("sunny")),
	))
	must(tb, r.RegisterWithFilter(tool.Func(admin, says("done")), func(f chat.Facts) bool { return f.HasRole("admin") }))
	_, err := r.SetSkills(catalog.Skill{Name: "talking", Description: "Only talk", Tools: []string{"echo"}})
	must(tb, err)
	return r
}

// newEngine makes an engine whose model plays steps. Change may change all of it before.
func newEngine(tb testing.TB, change func(*engine.Config), steps ...fake.Step) (*engine.Engine, *fake.Model) {
	m := fake.New(steps...)
	agents := []engine.Agent{{Name: "main", Model: m}, {Name: "other", Model: m, Groups: "world"}}
	cfg := engine.Config{Registry: registry(tb), Agents: agents}
	if change != nil {
		change(&cfg)
	}
	g, err := engine.New(cfg)
	must(tb, err)
	return g, m
}

// send sends a message and returns what its sender reads.
func send(g *engine.Engine, ctx context.Context, m engine.Message) (text string, err error) {
	for e, failure := range g.Send(ctx, m) {
		text += e.Text
		if failure != nil {
			err = failure
		}
	}
	return text, err
}

// ended runs a message and returns how it ended.
func ended(g *engine.Engine, ctx context.Context, m engine.Message) (done turn.End, err error) {
	for e, failed := range g.Send(ctx, m) {
		if e.Done != nil {
			done = *e.Done
		}
		err = failed
	}
	return done, err
}

// reply sends a message that must not fail, and returns the reply.
func reply(t *testing.T, g *engine.Engine, m engine.Message) string {
	t.Helper()
	done, err := ended(g, t.Context(), m)
	must(t, err)
	return done.Reply
}

// idle returns when nothing runs any more.
func idle(t *testing.T, g *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	g.Wait(ctx)
	must(t, ctx.Err())
}

// waiting is how many messages run or wait.
func waiting(t *testing.T, g *engine.Engine) (n int) {
	t.Helper()
	var b strings.Builder
	must(t, g.Metrics(t.Context(), &b))
	for line := range strings.Lines(b.String()) {
		var count int
		for _, name := range []string{"etui_turns_running", "etui_messages_waiting"} {
			if _, err := fmt.Sscanf(line, name+" %d", &count); err == nil {
				n += count
			}
		}
	}
	return n
}

// call is an answer that calls a tool without arguments.
func call(id, name string) fake.Step {
	return fake.Step{Calls: []chat.Call{fake.Call(id, name, "{}")}}
}

// asking is a model that tells what it is asked, and says nothing else.
type asking func(text string)

func (asking) Info() model.Info { return model.Info{Name: "asking"} }

func (a asking) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	a(req.Messages[len(req.Messages)-1].Text)
	return fake.New(fake.Step{Text: "yes"}).Stream(ctx, req)
}

// scripted is a model that answers a request with what a function makes of it.
type scripted func(model.Request) fake.Step

func (scripted) Info() model.Info { return model.Info{Name: "scripted", CacheLife: time.Hour} }

func (s scripted) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return fake.New(s(req)).Stream(ctx, req)
}

// declared names the tools of a request to the model, without those for searching
// and switching.
func declared(r model.Request) string {
	var names []string
	for _, d := range r.Tools {
		if !selection.Meta(d.Name) {
			names = append(names, d.Name)
		}
	}
	return strings.Join(names, " ")
}

// results returns what the model reads of its calls in a request.
func results(r model.Request) (list []string) {
	for _, m := range r.Messages {
		if m.Result != nil {
			list = append(list, m.Result.Text)
		}
	}
	return list
}

// asJSON is a value as it is stored.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

// asks makes all calls wait for an approval.
func asks(c *engine.Config) {
	c.Turn.Approvals = true
	c.Turn.Decide = func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} }
}

// askFor lets the calls of one tool wait for approval.
func askFor(name string) turn.Config {
	return turn.Config{Approvals: true, Decide: func(_ context.Context, a rules.Attempt) rules.Decision {
		if a.Entry != nil && a.Entry.Definition.Name == name {
			return rules.Decision{Effect: rules.Ask}
		}
		return rules.Decision{Effect: rules.Allow}
	}}
}

// approving lets the one who asked decide, and admins about everything.
func approving(c *engine.Config) {
	asks(c)
	c.Approvers = func(_ context.Context, a rules.Attempt) rules.Decision {
		if a.Facts.HasRole("admin") {
			return rules.Decision{Effect: rules.Allow}
		}
		return rules.Decision{Effect: rules.Ask}
	}
}

// wait sends a message whose call has to wait, and returns what it waits for.
func wait(t *testing.T, g *engine.Engine, m engine.Message) session.Await {
	t.Helper()
	done, err := ended(g, t.Context(), m)
	must(t, err)
	if len(done.Awaits) != 1 {
		t.Fatalf("the message ended with %+v", done)
	}
	return done.Awaits[0]
}

// weather makes a script of rounds that call get_weather and then say something.
func weather(rounds ...string) (steps []fake.Step) {
	for i, text := range rounds {
		steps = append(steps, call(string(rune('a'+i)), "get_weather"), fake.Step{Text: text})
	}
	return steps
}

// mainKey is the session of a message of nobody.
const mainKey = session.Key("agent:main:main")

// load returns that session.
func load(t *testing.T, store session.Store) session.Session {
	t.Helper()
	s, err := store.Load(t.Context(), mainKey, 0)
	must(t, err)
	return s
}

// notes counts a text in the notes of a session.
func notes(s session.Session, text string) int {
	n := 0
	for _, m := range s.Messages {
		n += strings.Count(m.Note, text)
	}
	return n
}

// loadKey returns a session.
func loadKey(t *testing.T, kept store.Store, key session.Key) session.Session {
	t.Helper()
	s, err := kept.Load(t.Context(), key, 0)
	must(t, err)
	return s
}

// keyOf returns the session of a message.
func keyOf(t *testing.T, g *engine.Engine, m engine.Message) session.Key {
	t.Helper()
	w, err := g.Agents().Whoami(m)
	must(t, err)
	return w.Session
}

// keysOf returns all sessions.
func keysOf(t *testing.T, st store.Store) (keys []session.Key) {
	t.Helper()
	list, err := st.List(t.Context(), session.Filter{})
	must(t, err)
	for _, s := range list {
		keys = append(keys, s.Key)
	}
	return keys
}

// asked is what the users of a session said, in order.
func asked(s session.Session) (texts []string) {
	for _, m := range s.Messages {
		if m.Role == chat.User {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// items returns what is in the inbox in a state.
func items(t *testing.T, s store.Store, state store.State) []store.Item {
	t.Helper()
	list, err := s.Items(t.Context(), store.ItemFilter{State: state})
	must(t, err)
	return list
}

// errStore is what a store says that fails.
var errStore = errors.New("the disk is full")
