package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// TestWaits: a client that cannot ask its person reads what waits and how to decide, and the same call goes on
// with the decision, once.
func TestWaits(t *testing.T) {
	ran, r := 0, catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "wipe", Risk: tool.Destructive}, func(context.Context, said) (string, error) {
		ran++
		return "wiped", nil
	})); err != nil {
		t.Fatal(err)
	}
	asks := func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} }
	m := fake.New()
	e, err := engine.New(engine.Config{
		Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, Approvers: asks,
		Turn: turn.Config{Approvals: true, Decide: asks},
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.New(e, server.Config{}))
	defer web.Close()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wipe := func(what string) (text, id string, body object) {
		text, out := call(t, s, "call_tool", object{"name": "wipe", "arguments": object{"text": what}})
		raw, _ := json.Marshal(out.StructuredContent)
		var more struct {
			Etui struct {
				Waiting []struct {
					ID     string `json:"id"`
					Decide struct {
						Body object `json:"body"`
					} `json:"decide"`
				} `json:"waiting"`
			} `json:"etui"`
		}
		if json.Unmarshal(raw, &more) == nil && len(more.Etui.Waiting) == 1 {
			id, body = more.Etui.Waiting[0].ID, more.Etui.Waiting[0].Decide.Body
		}
		return text, id, body
	}
	decide := func(id string, body object, approved bool) {
		body["approved"] = approved
		raw, _ := json.Marshal(body)
		answered, err := http.Post(web.URL+"/api/approvals/"+id, "application/json", strings.NewReader(string(raw)))
		if err != nil || answered.StatusCode != http.StatusOK {
			why, _ := io.ReadAll(answered.Body)
			t.Fatalf("%s %s %v", raw, why, err)
		}
		_ = answered.Body.Close()
		for list, err := e.Approvals().List(t.Context()); len(list) > 0; list, err = e.Approvals().List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	text, id, body := wipe("sda")
	if id == "" || !strings.Contains(text, "POST /api/approvals/"+id) || ran != 0 {
		t.Fatalf("it ran %d times: %s", ran, text)
	}
	if _, again, _ := wipe("sda"); again != id {
		t.Errorf("the same call waits as %s and as %s", id, again)
	}
	decide(id, body, true)
	if text, other, its := wipe("sdb"); other == "" || other == id || ran != 0 {
		t.Errorf("another call: it ran %d times: %s", ran, text)
	} else {
		decide(other, its, false)
	}
	if text, _, _ := wipe("sda"); text != "wiped" || ran != 1 {
		t.Errorf("it ran %d times: %s", ran, text)
	}
	if text, id, _ := wipe("sdb"); id != "" || !strings.Contains(text, "declined") || ran != 1 {
		t.Errorf("declined: it ran %d times: %s", ran, text)
	}
	if text, other, _ := wipe("sda"); other == "" || other == id || ran != 1 {
		t.Errorf("once more: it ran %d times: %s", ran, text)
	}
	if n := len(m.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
