package learning_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/usage"
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

// turns is a usage log in memory.
type turns struct {
	mu   sync.Mutex
	list []usage.Turn
}

func (l *turns) Add(_ context.Context, t usage.Turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, t)
	return nil
}

func (l *turns) List(_ context.Context, f usage.Filter) ([]usage.Turn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.list), func(t usage.Turn) bool {
		return f.Agent != "" && t.Agent != f.Agent || f.User != "" && t.User != f.User
	}), nil
}

func (l *turns) Erase(_ context.Context, user string, everybody bool) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(t usage.Turn) bool { return everybody || t.User == user })
	return before - len(l.list), nil
}

// learnt runs a turn of alice in which one tool succeeds and one fails, and returns
// what another question finds after that.
func learnt(t *testing.T, u learning.Config, m engine.Message) (g *engine.Engine, found string) {
	t.Helper()
	g, _ = newEngine(t, func(c *engine.Config) {
		c.Learning, c.Selection = u, selection.Config{Direct: -1}
	}, fake.Step{Calls: []chat.Call{fake.Call("1", "call_tool", `{"name":"get_weather","arguments":{}}`)}},
		fake.Step{Calls: []chat.Call{fake.Call("2", "echo", `{"word":{}}`)}}, fake.Step{Text: "sunny"})
	_, err := send(g, t.Context(), engine.Message{Text: "shall my aunt bring her parasol, 4711?", User: "alice"})
	must(t, err)
	g.Wait(t.Context())
	return g, finds(t, g, m)
}

func finds(t *testing.T, g *engine.Engine, m engine.Message) (found string) {
	t.Helper()
	sel, err := inspect.New(g).Select(t.Context(), m)
	must(t, err)
	for _, m := range sel.Ranked {
		found += m.Definition.Name
	}
	return found
}

func TestTurnsAreKeptAndVote(t *testing.T) {
	log := &turns{}
	again := engine.Message{Text: "the parasol of my aunt", User: "bob"}
	g, found := learnt(t, learning.Config{Log: log, Keep: true, Vote: true}, again)
	if found != "get_weather" {
		t.Errorf("finds %q, want what answered a similar question", found)
	}
	want := "[main alice shall my aunt bring her parasol, ? [get_weather] [echo]]"
	if len(log.list) != 1 {
		t.Fatalf("kept %+v", log.list)
	}
	if k := log.list[0]; fmt.Sprint([]any{k.Agent, k.User, k.Text, k.Tools, k.Failed}) != want {
		t.Errorf("kept %+v, want %s", k, want)
	}
	if found := finds(t, g, engine.Message{Text: again.Text, Agent: "other"}); found != "" {
		t.Errorf("another agent finds %q", found)
	}
	for user, want := range map[string]int{"bob": 0, "alice": 1} {
		past, err := g.Learner().Record(t.Context(), usage.Filter{User: user})
		must(t, err)
		if len(past.Turns) != want {
			t.Errorf("%s has %d past turns, want %d", user, len(past.Turns), want)
		}
		if n, err := g.Learner().Forget(t.Context(), user, false); n != want || err != nil {
			t.Errorf("%d turns of %s erased (%v), want %d", n, user, err, want)
		}
	}
	if found := finds(t, g, again); found != "" {
		t.Errorf("what was erased still finds %q", found)
	}
}

func TestUsageIsAChoice(t *testing.T) {
	again := engine.Message{Text: "the parasol of my aunt", User: "bob"}
	own := again // in her session, where both tools were called
	own.User = "alice"
	for name, c := range map[string]struct {
		usage learning.Config
		ask   engine.Message
		kept  int
		found string
	}{
		"nothing is kept":   {learning.Config{Vote: true}, again, 0, ""},
		"nothing votes":     {learning.Config{Keep: true}, again, 1, ""},
		"not for others":    {learning.Config{Keep: true, Vote: true, OwnOnly: true}, again, 1, ""},
		"for the user only": {learning.Config{Keep: true, Vote: true, OwnOnly: true}, own, 1, "get_weatherecho"},
	} {
		log := &turns{}
		c.usage.Log = log
		if _, found := learnt(t, c.usage, c.ask); found != c.found {
			t.Errorf("%s: finds %q, want %q", name, found, c.found)
		}
		if len(log.list) != c.kept {
			t.Errorf("%s: %d turns kept, want %d", name, len(log.list), c.kept)
		}
	}
}

// TestGuestsTeachNothing: a sender whom anybody could be is kept only if the operator says so.
func TestGuestsTeachNothing(t *testing.T) {
	for name, c := range map[string]struct {
		message engine.Message
		guests  bool
		kept    int
	}{
		"nobody over the API":   {engine.Message{Channel: "api"}, false, 0},
		"nobody, as configured": {engine.Message{Channel: "api"}, true, 1},
		"a guest of a page":     {engine.Message{Channel: "web", User: "guest-1", PlatformRoles: []string{"guest"}}, false, 0},
		"a peer":                {engine.Message{Channel: "web", User: "7"}, false, 1},
		"the operator":          {engine.Message{Channel: "cli"}, false, 1},
	} {
		log := &turns{}
		g, _ := newEngine(t, func(e *engine.Config) { e.Learning = learning.Config{Log: log, Keep: true, Guests: c.guests} },
			fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{}`)}}, fake.Step{Text: "sunny"})
		c.message.Text = "shall my aunt bring her parasol?"
		_, err := send(g, t.Context(), c.message)
		must(t, err)
		g.Wait(t.Context())
		if len(log.list) != c.kept {
			t.Errorf("%s: %d turns kept, want %d", name, len(log.list), c.kept)
		}
	}
}

// taught runs questions of alice in one conversation. Each has a model's answers.
func taught(t *testing.T, log *turns, answers ...fake.Step) *engine.Engine {
	t.Helper()
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Learning, c.Selection = learning.Config{Log: log, Keep: true, Vote: true}, selection.Config{Direct: -1}
	}, answers...)
	return g
}

// "No, the weather one" takes the vote of the tool that was called by mistake and gives
// it, on the request before, to the one that was meant.
func TestCorrectionsVote(t *testing.T) {
	log := &turns{}
	g := taught(t, log, calls("1", "echo", `{"word":"parasol"}`), fake.Step{Text: "parasol"}, calls("2", "get_weather", `{}`), fake.Step{Text: "sunny"})
	for i, text := range []string{"shall my aunt bring her parasol", "no, the other one"} {
		_, err := send(g, t.Context(), engine.Message{Text: text, User: "alice"})
		must(t, err)
		g.Wait(t.Context())
		if want := []string{"echo", "get_weather"}[i]; finds(t, g, engine.Message{Text: "the parasol of my aunt", User: "bob"}) != want {
			t.Errorf("after %q it does not find %s", text, want)
		}
	}
	if c := log.list[1].Corrects; c == nil || c.Text != "shall my aunt bring her parasol" || !slices.Equal(c.Tools, []string{"echo"}) {
		t.Errorf("kept %+v", log.list[1])
	}
	if found := finds(t, g, engine.Message{Text: "the other one", User: "bob"}); found != "" {
		t.Errorf("the words of a correction find %q", found)
	}
}

// A search votes for the tool that the model then called.
func TestSearchesVote(t *testing.T) {
	log := &turns{}
	g := taught(t, log, fake.Step{Calls: []chat.Call{fake.Call("1", "find_tools", `{"queries":["weather of the parasol kind","say a word 4711"]}`)}},
		calls("2", "get_weather", `{}`), fake.Step{Text: "sunny"})
	_, err := send(g, t.Context(), engine.Message{Text: "what about it", User: "alice"})
	must(t, err)
	g.Wait(t.Context())
	if s := log.list[0].Searches; fmt.Sprint(s) != "[{weather of the parasol kind get_weather}]" {
		t.Errorf("kept the searches %v", s)
	}
	if found := finds(t, g, engine.Message{Text: "a parasol of that kind", User: "bob"}); found != "get_weather" {
		t.Errorf("finds %q", found)
	}
}

// What answered before a tool changed does not count for the tool as it is now.
func TestVotesForgetChangedTools(t *testing.T) {
	log := &turns{}
	g := taught(t, log, calls("1", "get_weather", `{}`), fake.Step{Text: "sunny"})
	_, err := send(g, t.Context(), engine.Message{Text: "shall my aunt bring her parasol", User: "alice"})
	must(t, err)
	g.Wait(t.Context())
	log.list[0].Versions["get_weather"] = "as it was"
	changed := taught(t, log)
	for g, want := range map[*engine.Engine]string{g: "get_weather", changed: ""} {
		if found := finds(t, g, engine.Message{Text: "the parasol of my aunt", User: "bob"}); found != want {
			t.Errorf("finds %q, want %q", found, want)
		}
	}
}

// A thousand turns of one user do not put a tool before the one that others' questions
// led to.
func TestOneUserCannotSteerAnother(t *testing.T) {
	log := &turns{}
	for i := range 1000 {
		log.list = append(log.list, usage.Turn{Agent: "main", User: "mallory", Text: fmt.Sprint("the parasol of my aunt", []string{"", " please", " now"}[i%3]), Tools: []string{"echo"}})
	}
	g := taught(t, log)
	again := engine.Message{Text: "the parasol of my aunt", User: "bob"}
	if found := finds(t, g, again); found != "echo" {
		t.Errorf("finds %q: alone, even a stranger's questions vote", found)
	}
	for _, user := range []string{"bob", "carol"} {
		log.list = append(log.list, usage.Turn{Agent: "main", User: user, Text: "shall my aunt bring her parasol", Tools: []string{"get_weather"}})
	}
	if found := finds(t, taught(t, log), again); found != "get_weatherecho" {
		t.Errorf("finds %q, want what others asked first", found)
	}
}

func calls(id, name, arguments string) fake.Step {
	return fake.Step{Calls: []chat.Call{fake.Call(id, "call_tool", `{"name":"`+name+`","arguments":`+arguments+`}`)}}
}
