package engine_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/tool"
)

// TestRunning: a turn is shown while it runs, with what it did so far and nothing of what was said.
func TestRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent engine.Message
		call chat.Call
	}{
		"stored":         {engine.Message{Text: "a private question", User: "ann", Channel: "web"}, fake.Call("1", "look", `{"at":"a secret"}`)},
		"of a client":    {engine.Message{Text: "a private question", User: "ann", Channel: "web", History: []chat.Message{}}, fake.Call("1", "look", `{"at":"a secret"}`)},
		"by another one": {engine.Message{Text: "a private question", User: "ann", Channel: "web"}, fake.Call("1", "call_tool", `{"name":"look","arguments":{"at":"a secret"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e *engine.Engine
			var seen [2][]live.Turn
			at := 0
			r := catalog.NewRegistry(nil)
			must(t, r.Register(tool.Func(tool.Definition{Name: "look", Description: "Look at a place"}, func(context.Context, struct {
				At string `json:"at"`
			}) (string, error) {
				seen[at] = e.RunningTurns()
				at++
				return "seen", nil
			})))
			second := c.call
			second.ID = "2"
			spent := model.Tokens{Input: 900, Output: 7}
			e, _ = newEngine(t, func(cfg *engine.Config) { cfg.Registry = r },
				fake.Step{Calls: []chat.Call{c.call}, Usage: spent}, fake.Step{Calls: []chat.Call{second}, Usage: spent}, fake.Step{Text: "done"})
			reply(t, e, c.sent)
			for i, turns := range seen {
				if len(turns) != 1 {
					t.Fatalf("call %d: %+v", i, turns)
				}
				now := turns[0]
				if now.Agent != "main" || now.User != "web:ann" || now.Channel != "web" || now.Running != "look" || now.Calls != i+1 ||
					!reflect.DeepEqual(now.Tools, []string{"look", "look"}[:i+1]) || (now.Item == 0) != (c.sent.History != nil) || now.Began.IsZero() {
					t.Errorf("call %d: %+v", i, now)
				}
				if text, _ := json.Marshal(now); strings.Contains(string(text), "private") || strings.Contains(string(text), "secret") {
					t.Errorf("it tells what was said: %s", text)
				}
			}
			if now := seen[1][0]; now.Input != 1800 || now.Output != 14 {
				t.Errorf("tokens after two answers: %+v", now)
			}
			if left := e.RunningTurns(); len(left) != 0 {
				t.Errorf("after the turn: %+v", left)
			}
		})
	}
}
