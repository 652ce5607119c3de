package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/skilltest"
	"github.com/etui-run/etui/tool"
)

// toolSkill is the one tool that a server of the suite brings, as a skill.
type toolSkill struct{ tool.Tool }

func (t toolSkill) Name() string                      { return t.Definition().Name }
func (t toolSkill) Description() string               { return t.Definition().Description }
func (t toolSkill) Parameters() skill.ParameterSchema { return t.Definition().Parameters }

func (t toolSkill) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	result, err := t.Call(ctx, args)
	if err == nil && result.Failed {
		err = errors.New(result.Text)
	}
	return json.RawMessage(result.Text), err
}

func TestConformance(t *testing.T) {
	skilltest.Test(t, func(t *testing.T) skilltest.Harness {
		programs, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
		if err != nil {
			t.Fatal(err)
		}
		service := func(f func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) skill.Config {
			s := newServer()
			s.AddTool(&sdk.Tool{Name: "t", Description: "Does it.", InputSchema: json.RawMessage(`{"type":"object"}`)}, f)
			return skill.Config{
				Name: "srv", Endpoint: serve(t, s, true).URL,
				Headers: map[string]skill.Secret{"Authorization": skilltest.Secret}, Expanded: []skill.Secret{skilltest.Secret},
			}
		}
		over := make(chan struct{}) // the SDK's server does not notice that a client has gone
		slow := service(func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-over
			return nil, errors.New("too late")
		})
		t.Cleanup(func() { close(over) })
		header := service(func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			raw, err := json.Marshal(r.Extra.Header)
			return text(string(raw)), err
		})
		return skilltest.Harness{
			Provider: mcp.New(mcp.Config{Sandbox: programs, HTTP: http.DefaultClient}),
			Start:    startTool,
			Echo: service(func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return text(string(r.Params.Arguments)), nil
			}),
			Fails: service(func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return nil, errors.New("out of paper \x1b[31m")
			}),
			Slow:  slow,
			Leaks: []skill.Config{header},
			Bad:   map[string]skill.Config{"endpoint": {Name: "x"}, "timeout": {Name: "x", Endpoint: "http://x", Timeout: 1 << 40}},
		}
	})
}

// startTool starts a server and returns its tool.
func startTool(t *testing.T, loaded skill.Skill) skill.Skill {
	server := loaded.(*mcp.Server)
	ctx, cancel := context.WithCancel(context.Background())
	changed, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		server.Run(ctx, func() { changed <- struct{}{} })
	}()
	t.Cleanup(func() { cancel(); <-done })
	<-changed
	return toolSkill{server.Tools()[0]}
}
