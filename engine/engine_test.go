package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

func TestRefusedMessages(t *testing.T) {
	g, _ := newEngine(t, func(c *engine.Config) { c.MaxMessage = 10 })
	for says, m := range map[string]engine.Message{
		"the message is empty":                               {},
		"the message is too long: 11 bytes, at most 10":      {Text: "12345678901"},
		`agent "mian": not found; did you mean "main"?`:      {Text: "x", Agent: "mian"},
		`skill "talkin": not found; did you mean "talking"?`: {Text: "x", Skill: "talkin"},
		`skill "nope": not found`:                            {Text: "x", IncludeSkills: []string{"nope"}},
		`tool "ecko": not found; did you mean "echo"?`:       {Text: "x", Include: []string{"ecko"}},
	} {
		if _, err := send(g, t.Context(), m); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want it to say %q", m, err, says)
		}
	}
}

func TestOneTurnAtATimeInOrder(t *testing.T) {
	const n = 20
	var steps []fake.Step
	var mu sync.Mutex
	running, order := 0, []string{}
	for range n {
		steps = append(steps, fake.Step{Text: "ok", Check: func(r model.Request) error {
			mu.Lock()
			defer mu.Unlock()
			if running++; running > 1 {
				return errors.New("two turns of one session run at once")
			}
			order = append(order, r.Messages[len(r.Messages)-1].Text)
			running--
			return nil
		}})
	}
	g, _ := newEngine(t, func(c *engine.Config) { c.MaxWaiting = n }, steps...)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if _, err := send(g, t.Context(), engine.Message{Text: fmt.Sprint(i), Session: "s"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(order) != n {
		t.Errorf("%d turns ran", len(order))
	}
}

// prompted returns the request that a message leads to.
func prompted(t *testing.T, m engine.Message) model.Request {
	t.Helper()
	g, asked := newEngine(t, nil, fake.Step{Text: "ok"})
	m.Text = "x"
	if _, err := send(g, t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return asked.Requests()[0]
}

// TestCustomStrategy: a message chooses what goes into its prompt.
func TestCustomStrategy(t *testing.T) {
	less := prompted(t, engine.Message{Strategy: new(prompt.Custom), NoRuntime: true, ExcludeSkills: []string{"talking"}, Exclude: []string{"echo"}})
	if strings.Contains(less.System, "talking") {
		t.Errorf("an excluded skill is in the prompt: %q", less.System)
	}
	if note := less.Messages[0].Note; note != "" {
		t.Errorf("the runtime facts are excluded, but the note is %q", note)
	}
	if got := declared(less); got != "get_weather" {
		t.Errorf("tools %q without echo", got)
	}
	more := prompted(t, engine.Message{Strategy: new(prompt.Custom), IncludeSkills: []string{"talking"}})
	if !strings.Contains(more.System, "talking") {
		t.Errorf("an included skill is not in the prompt: %q", more.System)
	}
	if more.Messages[0].Note == "" {
		t.Error("the runtime facts are missing")
	}
}

func TestLiteStrategy(t *testing.T) {
	if r := prompted(t, engine.Message{Strategy: new(prompt.Lite)}); strings.Contains(r.System, "talking") {
		t.Errorf("a skill is in the prompt: %q", r.System)
	}
}

func TestTooManyWaiting(t *testing.T) {
	hold := make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) { c.MaxWaiting = 1 }, fake.Step{Text: "1", Wait: hold}, fake.Step{Text: "2"})
	errs := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := send(g, t.Context(), engine.Message{Text: "x", Session: "s"})
			errs <- err
		}()
	}
	if err := <-errs; !errors.Is(err, engine.ErrBusy) {
		t.Errorf("the third message: %v", err)
	}
	close(hold)
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestTooManyTurns: as many turns wait as run, and at least 16 do either, whatever session they
// belong to.
func TestTooManyTurns(t *testing.T) {
	hold := make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) { c.MaxTurns = 1 }, append([]fake.Step{{Text: "first", Wait: hold}}, slices.Repeat([]fake.Step{{Text: "next"}}, 15)...)...)
	errs := make(chan error, 17)
	for i := range 17 {
		m := engine.Message{Text: "x", History: []chat.Message{}, Trusted: true}
		if i == 0 {
			m = engine.Message{Text: "x", Session: "s", Trusted: true}
		}
		go func() {
			_, err := send(g, t.Context(), m)
			errs <- err
		}()
	}
	if err := <-errs; !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "in all sessions") {
		t.Errorf("the last message: %v", err)
	}
	close(hold)
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestNothingIsStoredUnasked: a message whose sender has gone when its turn comes leaves
// nothing behind.
func TestNothingIsStoredUnasked(t *testing.T) {
	store := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = store })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // a select that chose at random would let about ten of them in
		if _, err := send(g, gone, engine.Message{Text: "hello"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("a sender who has gone gets %v", err)
		}
	}
	if got := len(load(t, store).Messages); got != 0 {
		t.Errorf("%d messages are stored", got)
	}
	if got := len(m.Requests()); got != 0 {
		t.Errorf("the model was asked %d times", got)
	}
}

func TestSkillSwitch(t *testing.T) {
	g, m := newEngine(t, nil, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"})
	ask := func(message engine.Message) string {
		message.Text = "x"
		if _, err := send(g, t.Context(), message); err != nil {
			t.Fatal(err)
		}
		requests := m.Requests()
		var names []string
		for _, d := range requests[len(requests)-1].Tools {
			names = append(names, d.Name)
		}
		return strings.Join(names, " ")
	}
	active := func() string {
		s, err := g.Agents().Status("main")
		must(t, err)
		return s.Skill
	}
	if got := active(); got != "full" {
		t.Errorf("at first %q is active", got)
	}
	if got := ask(engine.Message{Session: "a"}); got != "use_skill echo get_weather" {
		t.Errorf("full gets %q", got)
	}
	must(t, g.Agents().Roster.SetSkill(t.Context(), "", "talking"))
	if got := active(); got != "talking" {
		t.Errorf("after the switch %q is active", got)
	}
	if got := ask(engine.Message{Session: "a"}); got != "use_skill echo" {
		t.Errorf("after the switch a running session gets %q", got)
	}
	if got := ask(engine.Message{Session: "b", Skill: "full"}); got != "use_skill echo get_weather" {
		t.Errorf("a message with its own skill gets %q", got)
	}
	if g.Agents().Roster.SetSkill(t.Context(), "", "nope") == nil {
		t.Error("an unknown skill was set")
	}
}

// TestSkillsChangeWhileTurnsRun is for the race detector.
func TestSkillsChangeWhileTurnsRun(t *testing.T) {
	g, _ := newEngine(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if i%2 == 0 {
					if err := g.Agents().Roster.SetSkill(t.Context(), "main", []string{"full", "talking"}[i/2%2]); err != nil {
						t.Error(err)
					}
				} else if _, err := inspect.New(g).Select(t.Context(), engine.Message{Text: "echo"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestStatelessRequestsShareTheirBeginning: a client that sends its whole
// conversation gets the same tools in front each time.
func TestStatelessRequestsShareTheirBeginning(t *testing.T) {
	clock := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	g, m := newEngine(t, func(c *engine.Config) {
		c.Selection = selection.Config{Direct: -1, Limit: 1}
		c.Now = func() time.Time { return clock }
	}, fake.Step{Text: "a"}, fake.Step{Text: "b"})
	history := []chat.Message{}
	for _, text := range []string{"weather", "echo"} {
		reply, err := send(g, t.Context(), engine.Message{Text: text, History: history})
		must(t, err)
		clock = clock.Add(time.Hour)
		history = append(history, chat.Message{Role: chat.User, Text: text}, chat.Message{Role: chat.Assistant, Text: reply})
	}
	r := m.Requests()
	before, _ := json.Marshal(r[0].Tools)
	after, _ := json.Marshal(r[1].Tools)
	if first, again := r[0].Messages[0].Note, r[1].Messages[0].Note; first != again || !strings.Contains(first, "2026-03-01") {
		t.Errorf("the first question's note was %q and is %q", first, again)
	}
	if string(before) != string(after) {
		t.Errorf("tools before %s\nafter %s", before, after)
	}
	if note := r[1].Messages[2].Note; !strings.Contains(note, "echo(") {
		t.Errorf("the new note is %q", note)
	}
}

// TestWhatWasDoneIsStoredWhenTheCallerHasGone: the caller leaves while a call
// runs; its result is still stored.
func TestWhatWasDoneIsStoredWhenTheCallerHasGone(t *testing.T) {
	store := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = store },
		fake.Step{Calls: []chat.Call{fake.Call("1", "echo", `{"word":"a"}`), fake.Call("2", "get_weather", `{}`)}}, fake.Step{Text: "never asked"})
	for e, err := range g.Send(t.Context(), engine.Message{Text: "go"}) {
		must(t, err)
		if e.Result != nil {
			break
		}
	}
	list, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	s, err := store.Load(t.Context(), list[0].Key, 0)
	must(t, err)
	if len(s.Messages) != 4 {
		t.Fatalf("stored %+v, want four messages", s.Messages)
	}
	if got := s.Messages[2].Result.Text; got != "a" {
		t.Errorf("the result of the call is %q", got)
	}
	if got := s.Messages[3].Result.Text; !strings.Contains(got, "before this call was run") {
		t.Errorf("the result of the call that did not run is %q", got)
	}
	if n := len(m.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestStatelessRequestsDoNotWait for each other: they share nothing.
func TestStatelessRequestsDoNotWait(t *testing.T) {
	hold := make(chan struct{})
	g, _ := newEngine(t, func(c *engine.Config) { c.MaxWaiting = 1 }, fake.Step{Text: "1", Wait: hold}, fake.Step{Text: "2", Wait: hold}, fake.Step{Text: "3", Wait: hold})
	errs := make(chan error, 3)
	var began sync.WaitGroup
	began.Add(3)
	for range 3 {
		go func() {
			var err error
			for e, failure := range g.Send(t.Context(), engine.Message{Text: "x", History: []chat.Message{}}) {
				if e.Selection != nil {
					began.Done()
				}
				err = errors.Join(err, failure)
			}
			errs <- err
		}()
	}
	began.Wait() // all three run at once
	close(hold)
	for range 3 {
		must(t, <-errs)
	}
}

// TestCacheBreaks counts why prompt caches were broken.
func TestCacheBreaks(t *testing.T) {
	g, _ := newEngine(t, nil, fake.Step{Text: "1"}, fake.Step{Text: "2"}, fake.Step{Text: "3"})
	for _, skill := range []string{"", "", "talking"} {
		if _, err := send(g, t.Context(), engine.Message{Text: "x", Session: "s", Skill: skill}); err != nil {
			t.Fatal(err)
		}
	}
	for agent, want := range map[string]string{"main": "map[new_session:1 skill_switch:1]", "other": "map[]"} {
		s, err := g.Agents().Status(agent)
		must(t, err)
		if got := fmt.Sprint(s.CacheBreaks); got != want {
			t.Errorf("%s: breaks %s, want %s", agent, got, want)
		}
	}
}

// TestModeOfAgents: an agent's own mode overrides that of the selection.
func TestModeOfAgents(t *testing.T) {
	g, _ := newEngine(t, func(c *engine.Config) { c.Agents[1].Mode = selection.Bridge })
	for agent, want := range map[string]selection.Mode{"main": selection.Auto, "other": selection.Bridge} {
		s, err := g.Agents().Status(agent)
		must(t, err)
		if s.Mode != want {
			t.Errorf("%s: mode %s, want %s", agent, s.Mode, want)
		}
	}
}

// greet is a skill.
type greet struct{}

func (greet) Name() string                                          { return "greet" }
func (greet) Description() string                                   { return "Say hello" }
func (greet) Parameters() skill.ParameterSchema                     { return skill.ParameterSchema(`{"type":"object"}`) }
func (greet) Execute(context.Context, json.RawMessage) (any, error) { return "hello", nil }

// TestCallOfADisabledSkill: the error differs from that for an unknown name.
func TestCallOfADisabledSkill(t *testing.T) {
	table := skill.NewTable(nil)
	must(t, table.Register(greet{}))
	must(t, table.Disable("greet"))
	g, _ := newEngine(t, func(c *engine.Config) { c.Skills = table })
	if _, err := g.Call(t.Context(), engine.Message{}, "greet", nil); !errors.Is(err, skill.ErrDisabled) {
		t.Errorf("disabled: %v", err)
	}
	if _, err := g.Call(t.Context(), engine.Message{}, "nope", nil); !errors.Is(err, turn.ErrNoTool) {
		t.Errorf("unknown: %v", err)
	}
}

// A message to a session whose process ended takes the open turn up first.
func TestOpenTurnGoesFirst(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store = store }, fake.Step{Text: "one"}, fake.Step{Text: "two"})
	must(t, store.Append(t.Context(), "agent:main:main", session.State{Turn: session.Turn{ID: "t", Request: []byte("{}")}}, chat.Message{Role: chat.User, Text: "first"}))
	if text, err := send(g, t.Context(), engine.Message{Text: "second"}); err != nil || text != "two" {
		t.Fatalf("%q, %v", text, err)
	}
	var said []string
	for _, message := range m.Requests()[1].Messages {
		said = append(said, message.Text)
	}
	if got := strings.Join(said, " "); got != "first one second" {
		t.Errorf("the conversation is %q", got)
	}
}

// A call that needs approval waits in the store, and an answer resumes its turn.
func TestApproval(t *testing.T) {
	t.Parallel()
	ran := 0
	g, _ := newEngine(t, func(c *engine.Config) {
		asks(c)
		must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "wipe", Description: "Wipe everything"}, func(context.Context, struct{}) (string, error) {
			ran++
			return "wiped", nil
		})))
	}, call("1", "wipe"), fake.Step{Text: "Done."})
	a := wait(t, g, engine.Message{Text: "wipe it"})
	if a.Tool != "wipe" || ran != 0 {
		t.Fatalf("%s waits; it ran %d times", a.Tool, ran)
	}
	must(t, g.Resume(t.Context())) // a new process: the turn goes on waiting
	answer := engine.Message{Answers: []session.Answer{{Call: a.Call, Approved: true, By: "ann"}}}
	if got := reply(t, g, answer); got != "Done." || ran != 1 {
		t.Errorf("the reply is %q; it ran %d times", got, ran)
	}
	if _, err := send(g, t.Context(), answer); !errors.Is(err, message.ErrNothingAwaited) {
		t.Errorf("answered twice: %v", err)
	}
}
