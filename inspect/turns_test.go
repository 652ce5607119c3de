package inspect_test

import (
	"math"
	"slices"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// TestTurns: a conversation keeps what each message got and took, whatever the model said of it.
func TestTurns(t *testing.T) {
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept },
		fake.Step{Calls: []chat.Call{fake.Call("1", "echo", `{"word":"hi"}`)}, Usage: model.Tokens{Input: 100, Output: 5}},
		fake.Step{Text: "hi", Usage: model.Tokens{Input: 120, CacheRead: 90, Output: 7}},
		fake.Step{Text: "again", Usage: model.Tokens{Input: 130, CacheRead: 120, Output: 3}},
	)
	for _, text := range []string{"say a word", "once more"} {
		_, err := send(g, t.Context(), engine.Message{User: "ann", Channel: "web", Text: text})
		must(t, err)
	}
	turns, err := inspect.New(g).Turns(t.Context(), 10)
	must(t, err)
	if len(turns) != 2 {
		t.Fatalf("%d turns: %+v", len(turns), turns)
	}
	first := turns[slices.IndexFunc(turns, func(p inspect.PastTurn) bool { return p.Text == "say a word" })]
	if first.Agent != "main" || first.Channel != "web" || first.Requests != 2 || first.Input != 220 || first.Cached != 90 || first.Output != 12 {
		t.Errorf("the first turn: %+v", first)
	}
	if len(first.Calls) != 1 || first.Calls[0].Tool != "echo" || !slices.Equal(first.Broken, []string{"new_session"}) {
		t.Errorf("its calls %+v, its breaks %v", first.Calls, first.Broken)
	}
	if one, err := inspect.New(g).Turns(t.Context(), 1); err != nil || len(one) != 1 {
		t.Errorf("the latest turn: %+v, %v", one, err)
	}
}

// TestTurnsMoney: what was saved is worth what it would have cost, with the same part of it cached.
func TestTurnsMoney(t *testing.T) {
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
	spent := &chat.Expense{Input: 1000, CacheRead: 500, Output: 10, Cost: 0.25, Price: 2}
	must(t, kept.Append(t.Context(), "agent:main:person:ann", session.State{},
		chat.Message{Role: chat.User, Text: "hello", Why: []byte(`{"tools":9,"tokens_all":2100,"tokens_usable":0,"tokens_sent":100,"tokens_budget":0}`)},
		chat.Message{Role: chat.Assistant, Text: "hi", Spent: spent}))
	turns, err := inspect.New(g).Turns(t.Context(), 1)
	must(t, err)
	if len(turns) != 1 || turns[0].Saved != 2000 || turns[0].Cost != 0.25 || math.Abs(turns[0].Spared-2000*2*0.55/1e6) > 1e-9 {
		t.Errorf("%+v", turns)
	}
}
