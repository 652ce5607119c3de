package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/tool"
)

// TestElicitation: a call waits for the person as for an approval, goes on with each answer, and
// runs once; where nobody can be asked, the server learns it.
func TestElicitation(t *testing.T) {
	t.Parallel()
	for era, stateless := range map[string]bool{"2026-07-28": true, "2025-11-25": false} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			runs := 0
			s := newServer()
			wants := &sdk.ElicitParams{Message: "Which trip?", RequestedSchema: json.RawMessage(`{"type":"object","required":["to","days"],"properties":{"to":{"type":"string"},"days":{"type":"integer"}}}`)}
			s.AddTool(&sdk.Tool{Name: "book", Description: "Books it.", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					var answer *sdk.ElicitResult
					if given, ok := r.Params.InputResponses["trip"].(*sdk.ElicitResult); ok {
						answer = given
					} else if stateless {
						return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"trip": wants}}, nil
					} else if asked, err := r.Session.Elicit(ctx, wants); err == nil {
						answer = asked
					} else {
						return nil, err
					}
					runs++
					raw, err := json.Marshal(answer)
					return text(string(raw)), err
				})
			r := start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, stateless).URL})
			r.untilTools("mcp__srv__book")
			call := func(h tool.Host) (string, *tool.Question) {
				got, err := r.tool("mcp__srv__book").Call(tool.WithHost(t.Context(), h), json.RawMessage(`{}`))
				var q *tool.Question
				if err != nil && !errors.As(err, &q) {
					t.Fatal(err)
				}
				return got.Text, q
			}
			if said, q := call(tool.Host{}); q != nil || !strings.Contains(said, "cancel") {
				t.Errorf("nobody can be asked: %q, %v", said, q)
			}
			runs = 0
			_, first := call(tool.Host{Asks: true})
			if first == nil || !strings.Contains(first.Text, "The MCP server srv asks: Which trip?\nto") ||
				first.Lasts <= 27*time.Minute || first.Lasts > 28*time.Minute { // less than the server waits
				t.Fatalf("asked %+v", first)
			}
			_, second := call(tool.Host{Asks: true, Reply: &tool.Reply{Resume: first.Resume, Text: "Oslo", Given: true}})
			if second == nil || !strings.Contains(second.Text, "days") {
				t.Fatalf("asked %+v", second)
			}
			said, third := call(tool.Host{Asks: true, Reply: &tool.Reply{Resume: second.Resume, Text: "3", Given: true}})
			if third != nil || said != `{"action":"accept","content":{"days":3,"to":"Oslo"}}` || runs != 1 {
				t.Errorf("%q, %+v, %d runs", said, third, runs)
			}
			// An answer counts once, and one to what is not open runs nothing.
			_, err := r.tool("mcp__srv__book").Call(tool.WithHost(t.Context(), tool.Host{Asks: true, Reply: &tool.Reply{Resume: first.Resume, Given: true}}), json.RawMessage(`{}`))
			if err == nil || runs != 1 {
				t.Errorf("%v, %d runs", err, runs)
			}
		})
	}
}

// TestElicitationEnds: a server asks a person a few times during a call, and not again after a no.
func TestElicitationEnds(t *testing.T) {
	t.Parallel()
	s := newServer()
	wants := &sdk.ElicitParams{Message: "Once more?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
	s.AddTool(&sdk.Tool{Name: "nag", Description: "Asks.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var all []string
			for range 20 {
				answer, err := r.Session.Elicit(ctx, wants)
				if err != nil {
					return nil, err
				}
				all = append(all, answer.Action)
			}
			return text(strings.Join(all, " ")), nil
		})
	r := start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, false).URL})
	r.untilTools("mcp__srv__nag")
	for answer, want := range map[string]int{"yes": 4, "decline": 1} {
		host, asked := tool.Host{Asks: true}, 0
		for {
			got, err := r.tool("mcp__srv__nag").Call(tool.WithHost(t.Context(), host), json.RawMessage(`{}`))
			var q *tool.Question
			if !errors.As(err, &q) {
				if err != nil || asked != want || strings.Count(got.Text, "decline") < 16 {
					t.Errorf("%s: asked %d times, want %d: %q, %v", answer, asked, want, got.Text, err)
				}
				break
			}
			asked++
			host.Reply = &tool.Reply{Resume: q.Resume, Text: answer, Given: true}
		}
	}
}
