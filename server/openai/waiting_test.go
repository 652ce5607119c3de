package openai_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// TestAnswersThatWait: each of several answers that wait says so, and the same request gets the rest of each.
func TestAnswersThatWait(t *testing.T) {
	r, ran := catalog.NewRegistry(nil), &atomic.Int32{}
	if err := r.Register(tool.Func(tool.Definition{Name: "act", Risk: tool.Write}, func(context.Context, struct{}) (string, error) {
		ran.Add(1)
		return "acted", nil
	})); err != nil {
		t.Fatal(err)
	}
	users, err := identity.New([]identity.User{{Name: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	call := fake.Step{Calls: []chat.Call{fake.Call("1", "act", `{}`)}}
	asks := func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Ask} }
	e, err := engine.New(engine.Config{
		Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New(call, call, fake.Step{Text: "One."}, fake.Step{Text: "Two."})}},
		Users:     func(*catalog.Catalog) *identity.Users { return users },
		Approvers: asks, Turn: turn.Config{Approvals: true, Decide: asks},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := openai.New(e, wire.NewModels(e, nil))
	ask := func() (said struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
		Etui wire.Extension `json:"etui"`
	}) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"model":"main","n":2,"messages":[{"role":"user","content":"go"}]}`))
		w := httptest.NewRecorder()
		a.Completions(w, r.WithContext(wire.WithCaller(r.Context(), wire.Caller{User: "ann", Key: "k"})))
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || w.Code != http.StatusOK || len(said.Choices) != 2 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return said
	}
	waiting := ask().Etui.Waiting
	if len(waiting) != 2 || waiting[0].ID == waiting[1].ID {
		t.Fatalf("%+v wait", waiting)
	}
	for _, one := range waiting {
		sender := engine.Message{Channel: "api", User: "ann"}
		sender.Agent, _ = one.Decide.Body["agent"].(string)
		sender.Session, _ = one.Decide.Body["session"].(string)
		if _, err := e.Answers().Give(t.Context(), sender, one.ID, session.Answer{Approved: true}, false); err != nil {
			t.Fatal(err)
		}
	}
	said := ask().Choices
	one, two := said[0].Message.Content, said[1].Message.Content // which turn goes on first does not matter
	if one+two != "One.Two." && one+two != "Two.One." || ran.Load() != 2 {
		t.Errorf("the answers are %q and %q, and act ran %d times", one, two, ran.Load())
	}
}
