package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// failing is a store whose nth Append fails, before or after it has stored.
type failing struct {
	store.Store
	mu     sync.Mutex
	at, n  int
	stores bool
}

func (f *failing) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n != f.at {
		return f.Store.Append(ctx, key, state, messages...)
	}
	if f.stores {
		return errors.Join(errStore, f.Store.Append(ctx, key, state, messages...))
	}
	return errStore
}

// Whichever write fails, the next message goes on from what is stored, and no call that
// must not run twice does.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 6; at++ {
		for _, stores := range []bool{false, true} {
			ran := 0
			store := &failing{Store: &store.Memory{}, at: at, stores: stores}
			g, _ := newEngine(t, func(c *engine.Config) {
				must(t, c.Registry.Register(tool.Func(tool.Definition{Name: "act", Description: "Act"}, func(context.Context, struct{}) (string, error) { ran++; return "acted", nil })))
				c.Agents[0].Model = scripted(acting)
				c.Store = store
			})
			_, first := send(g, t.Context(), engine.Message{Text: "go"})
			if (first != nil) != (at <= 4) || first != nil && !errors.Is(first, errStore) {
				t.Errorf("write %d: %v", at, first)
			}
			text, err := send(g, t.Context(), engine.Message{Text: "go"})
			if errors.Is(err, errStore) {
				text, err = send(g, t.Context(), engine.Message{Text: "go"})
			}
			if err != nil || text != "done" {
				t.Errorf("write %d, stored %v: %q, %v", at, stores, text, err)
			}
			s := load(t, store)
			results := map[string]int{}
			for _, m := range s.Messages {
				if m.Result != nil {
					results[m.Result.CallID]++
					if results[m.Result.CallID] > 1 {
						t.Errorf("write %d, stored %v: call %s has several results", at, stores, m.Result.CallID)
					}
				}
			}
			if ran > len(results) {
				t.Errorf("%v calls ran, want at most %v", ran, len(results))
			}
			if s.Open() {
				t.Error("something is left open")
			}
		}
	}
}

func (f *failing) Finish(ctx context.Context, e store.End) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n != f.at {
		return f.Store.Finish(ctx, e)
	}
	if f.stores {
		return errors.Join(errStore, f.Store.Finish(ctx, e))
	}
	return errStore
}

// acting calls act and is done when it reads a result.
func acting(req model.Request) fake.Step {
	if req.Messages[len(req.Messages)-1].Role == chat.Tool {
		return fake.Step{Text: "done"}
	}
	return fake.Step{Calls: []chat.Call{fake.Call("", "act", "{}")}}
}

// A turn that nobody can take up is closed, and the next message is answered.
func TestTurnOfNobody(t *testing.T) {
	t.Parallel()
	strategy := prompt.Strategy(7)
	unknown, err := json.Marshal(engine.Message{Strategy: &strategy})
	must(t, err)
	for _, request := range []string{`{"agent":"gone"}`, `{"agent":`, ``, string(unknown)} {
		store := &store.Memory{}
		g, m := newEngine(t, func(c *engine.Config) { c.Store = store }, fake.Step{Text: "hello"})
		must(t, store.Append(t.Context(), mainKey, session.State{Turn: session.Turn{ID: "t", Request: []byte(request)}},
			chat.Message{Role: chat.User, Text: "go"}, chat.Message{Role: chat.Assistant, Calls: []chat.Call{fake.Call("1", "get_weather", "{}"), fake.Call("2", "echo", "{}")}}))
		if text, err := send(g, t.Context(), engine.Message{Text: "hi"}); err != nil || text != "hello" {
			t.Errorf("%s: %q, %v", request, text, err)
		}
		sent := m.Requests()[0].Messages
		if len(sent) != 5 {
			t.Fatalf("%d messages were sent, want 5: %+v", len(sent), sent)
		}
		if !strings.Contains(sent[2].Result.Text, "unknown") {
			t.Errorf("the first result is %q, want %q in it", sent[2].Result.Text, "unknown")
		}
		if !strings.Contains(sent[3].Result.Text, "not run") {
			t.Errorf("the second result is %q, want %q in it", sent[3].Result.Text, "not run")
		}
		if last := load(t, store); last.Open() {
			t.Errorf("%s: %+v", request, last.State)
		}
	}
}

// A message whose session has an open turn that fails is answered all the same.
func TestOpenTurnFails(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = store }, fake.Step{Err: errors.New("the model is away")}, fake.Step{Text: "hello"})
	must(t, store.Append(t.Context(), mainKey, session.State{Turn: session.Turn{ID: "t", Request: []byte("{}")}}, chat.Message{Role: chat.User, Text: "go"}))
	if text, err := send(g, t.Context(), engine.Message{Text: "hi"}); err != nil || text != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}

// A skill that the model took up stays active when the turn is resumed, even if the
// message had named another one.
func TestResumedSkill(t *testing.T) {
	t.Parallel()
	store := &store.Memory{}
	g, m := newEngine(t, func(c *engine.Config) { c.Store, c.Turn = store, askFor("get_weather") },
		fake.Step{Calls: []chat.Call{fake.Call("2", "use_skill", `{"name":"full"}`), fake.Call("3", "get_weather", "{}")}}, fake.Step{Text: "done"})
	_, err := send(g, t.Context(), engine.Message{Text: "go", Skill: "talking"})
	must(t, err)
	if s := load(t, store); turn.PhaseOf(s) != turn.Waiting || s.Skill != "full" {
		t.Fatalf("%s, %q", turn.PhaseOf(s), s.Skill)
	}
	text, err := send(g, t.Context(), engine.Message{Answers: []session.Answer{{Call: "3", Approved: true}}})
	sent := m.Requests()[1].Messages
	if err != nil {
		t.Fatal(err)
	}
	if text != "done" {
		t.Errorf("the reply is %q, want %q", text, "done")
	}
	if sent[len(sent)-1].Result.Text != "sunny" {
		t.Errorf("the last result is %q, want %q", sent[len(sent)-1].Result.Text, "sunny")
	}
}

// Names that do not exist are refused, for messages and for agents.
func TestUnknownModeAndStrategy(t *testing.T) {
	t.Parallel()
	g, _ := newEngine(t, nil)
	negative, seven := prompt.Strategy(-1), prompt.Strategy(7)
	for says, m := range map[string]engine.Message{
		`unknown mode "preslect": it is one of`:           {Text: "x", Mode: "preslect"},
		`did you mean "preselect"?`:                       {Text: "x", Mode: "preslect"},
		`unknown strategy 7: it is full, lite or custom`:  {Text: "x", Strategy: &seven},
		`unknown strategy -1: it is full, lite or custom`: {Text: "x", Strategy: &negative},
	} {
		if _, err := send(g, t.Context(), m); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
		agent := engine.Agent{Name: "main", Model: fake.New(), Mode: m.Mode}
		if m.Strategy != nil {
			agent.Strategy = *m.Strategy
		}
		if _, err := engine.New(engine.Config{Registry: registry(t), Agents: []engine.Agent{agent}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

// sent writes what a provider caches of a request, in its order.
func sent(req model.Request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q", req.System)
	for _, d := range req.Tools {
		fmt.Fprintf(&b, "\ntool %s %q %s", d.Name, d.Description, d.Parameters)
	}
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "\n%s %q %q", m.Role, m.Note, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " %s %s %s", c.ID, c.Name, c.Arguments)
		}
		if m.Result != nil {
			fmt.Fprintf(&b, " %s %q", m.Result.CallID, m.Result.Text)
		}
	}
	return b.Bytes()
}

// Over 500 turns, in several processes, each request begins with the bytes of the one
// before, except when old messages are dropped.
func TestRequestsBeginAlike(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var last []byte
	requests, broken, counted := 0, 0, 0
	answer := func(req model.Request) fake.Step {
		if isSummary(req) {
			return fake.Step{Text: "They talked."}
		}
		next := sent(req)
		if requests++; !bytes.HasPrefix(next, last) {
			broken++
		}
		last = next
		m := req.Messages[len(req.Messages)-1]
		if m.Role == chat.Tool || strings.HasSuffix(m.Text, "0") {
			return fake.Step{Text: "That is <it> & all: " + strings.Repeat("so ", 40)}
		}
		return fake.Step{Text: "Let me see.", Calls: []chat.Call{fake.Call("1", "echo", `{ "word" : "<a&b> \u00e9" }`), fake.Call("1", "get_weather", ""), fake.Call("", "nope", "{")}}
	}
	for start := 0; start < 120; start += 40 {
		store, err := sqlite.Open(t.Context(), filepath.Join(dir, "etui.db"))
		must(t, err)
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Store, c.Now = store, func() time.Time { return now }
			c.Agents = []engine.Agent{{Name: "main", Model: scripted(answer), HistoryTokens: 8000}}
		})
		for i := start; i < start+40; i++ {
			now = now.Add(time.Second)
			for e, err := range g.Send(t.Context(), engine.Message{Text: fmt.Sprint("say it, number ", i)}) {
				must(t, err)
				if e.Done != nil && slices.Contains(e.Done.CacheBreaks, turn.Compaction) {
					counted++
				}
			}
		}
		must(t, store.Close())
	}
	if requests < 228 || broken == 0 || broken != counted || broken > 20 {
		t.Errorf("%d of %d requests begin otherwise; %d were told", broken, requests, counted)
	}
}
