package mcp_test

import (
	"context"
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

// TestElicitation: a client that can asks its person whether a call may run, and what a tool wants to
// know, unless the rules let others decide.
func TestElicitation(t *testing.T) {
	for name, c := range map[string]struct {
		action   string
		content  object
		deciding rules.Effect
		want     string
		asked    string
		ran      int
	}{
		"approved":        {"accept", object{"approve": true, "text": "blue"}, rules.Ask, "wiped in blue", "wipe needs an approval, risk destructive. May it run?\n{\"text\":\"sda\"}|Which colour?", 1},
		"not approved":    {"accept", object{"approve": false}, rules.Ask, "did not approve", "", 0},
		"declined":        {"decline", nil, rules.Ask, "did not approve", "", 0},
		"others decide":   {"accept", object{"approve": true}, rules.Deny, "do not let you decide", "", 0},
		"cannot be asked": {"", nil, rules.Ask, "approval", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			ran, r := 0, catalog.NewRegistry(nil)
			if err := r.Register(tool.Func(tool.Definition{Name: "wipe", Risk: tool.Destructive}, func(ctx context.Context, _ said) (string, error) {
				reply, _ := tool.Asks(ctx)
				if reply == nil {
					return "", &tool.Question{Text: "Which colour?", Choices: []string{"blue", "red"}, Resume: "1"}
				}
				ran++
				return "wiped in " + reply.Text, nil
			})); err != nil {
				t.Fatal(err)
			}
			e, err := engine.New(engine.Config{
				Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}},
				Approvers: func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: c.deciding} },
				Turn: turn.Config{Approvals: true, Decide: func(context.Context, rules.Attempt) rules.Decision {
					return rules.Decision{Effect: rules.Ask}
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(server.New(e, server.Config{}))
			defer web.Close()
			var asked []string
			options := &mcp.ClientOptions{}
			if c.action != "" {
				options.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, r.Params.Message)
					content := object{}
					schema, _ := r.Params.RequestedSchema.(map[string]any)
					fields, _ := schema["properties"].(map[string]any)
					for field := range fields {
						content[field] = c.content[field]
					}
					return &mcp.ElicitResult{Action: c.action, Content: content}, nil
				}
			}
			s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			text, _ := call(t, s, "call_tool", object{"name": "wipe", "arguments": object{"text": "sda"}})
			if !strings.Contains(text, c.want) || ran != c.ran {
				t.Errorf("it ran %d times: %s", ran, text)
			}
			if got := strings.Join(asked, "|"); c.asked != "" && got != c.asked {
				t.Errorf("the person reads %q", got)
			}
		})
	}
}
