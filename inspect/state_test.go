package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// TestSessionHidesState: nobody reads what a provider wants back.
func TestSessionHidesState(t *testing.T) {
	kept := &store.Memory{}
	must(t, kept.Append(t.Context(), "k", session.State{}, chat.Message{Role: chat.User, Text: "go"},
		chat.Message{Role: chat.Assistant, State: []byte(`{"reasoning_content":"secret"}`), StateOf: "m", Calls: []chat.Call{{ID: "1", Name: "echo", Arguments: []byte(`{}`), State: []byte(`{"a":"secret"}`)}}}))
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept })
	for _, skip := range []int{-1, 0} {
		c, err := inspect.New(g).Session(t.Context(), "k", skip, 5)
		must(t, err)
		if raw, _ := json.Marshal(c); strings.Contains(string(raw), "secret") {
			t.Errorf("%s", raw)
		}
	}
}
