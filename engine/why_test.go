package engine_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
)

// TestWhy: what a message got is stored with it, told to operators, told to the
// caller without what the caller may not see, and never to the model.
func TestWhy(t *testing.T) {
	store := &session.MemoryStore{}
	unseen := func(r model.Request) error {
		if raw, err := json.Marshal(r); err != nil || strings.Contains(string(raw), "admin_only") || strings.Contains(string(raw), `"why"`) {
			t.Errorf("the model is told: %s (%v)", raw, err)
		}
		return nil
	}
	g, _ := newGateway(t, func(c *engine.Config) { c.Store, c.Selection.Direct = store, -1 }, fake.Step{Text: "1", Check: unseen}, fake.Step{Text: "2", Check: unseen})
	ann := engine.Message{User: "ann", Channel: "web"}
	for _, text := range []string{"restart everything", "what is the weather"} {
		m := ann
		m.Text = text
		_, err := send(g, t.Context(), m)
		must(t, err)
	}
	ask := func(l engine.Look) []engine.Turn {
		turns, err := g.Why(t.Context(), l)
		must(t, err)
		return turns
	}
	last := ask(engine.Look{Message: ann})
	if len(last) != 1 || last[0].Text != "what is the weather" || last[0].Selection.Announced[0].Tool != "get_weather" {
		t.Errorf("the last: %+v", last)
	}
	all := ask(engine.Look{Message: ann, Turns: 9})
	if len(all) != 2 || len(all[1].Selection.Near) != 1 || all[1].Selection.Near[0].Tool != "admin_only" || *all[1].Selection.Near[0].Stage != selection.Visibility {
		t.Errorf("all: %+v", all)
	}
	if own := ask(engine.Look{Message: ann, Turns: 9, Own: true}); len(own) != 2 || len(own[1].Selection.Near) != 0 || own[1].Selection.Dropped[selection.Visibility] != 0 || own[1].Selection.Tools != all[1].Selection.Tools-1 {
		t.Errorf("for the caller: %+v", own)
	}
	if none := ask(engine.Look{Message: engine.Message{User: "bob", Channel: "web"}}); none == nil || len(none) != 0 {
		t.Errorf("another's: %+v", none)
	}
	key := func() session.Key {
		list, err := store.List(t.Context(), 1)
		must(t, err)
		return list[0].Key
	}()
	must(t, store.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: "x", Why: []byte(`{"near":[{"stage":"of a newer etui"}]}`)}))
	if got := ask(engine.Look{Message: ann}); len(got) != 1 || got[0].Text != "what is the weather" {
		t.Errorf("after one that cannot be read: %+v", got)
	}
}

func TestSelectWithAlternatives(t *testing.T) {
	g, _ := newGateway(t, nil)
	server := httptest.NewServer(g.Handler())
	defer server.Close()
	resp, err := http.Post(server.URL+"/api/select", "application/json", strings.NewReader(`{"text":"restart everything","alternatives":true,"try":{"roles":["admin"]}}`))
	must(t, err)
	defer resp.Body.Close()
	var x selection.Explanation
	must(t, json.NewDecoder(resp.Body).Decode(&x))
	if len(x.Alternatives) != 2 || x.Alternatives[0].Change != "role" || x.Alternatives[0].Opens[0] != "admin_only" || x.Alternatives[1].Value != "talking" {
		t.Errorf("%+v", x.Alternatives)
	}
}
