package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/tool/consult"
)

// TestSampling: a server asks the model of the agent that calls, if its file allows it, with its own words.
func TestSampling(t *testing.T) {
	t.Parallel()
	picture := &sdk.ImageContent{MIMEType: "image/png", Data: []byte("x")}
	for era, stateless := range map[string]bool{"2026-07-28": true, "2025-11-25": false} {
		for name, c := range map[string]struct {
			allowed, nobody bool
			content         sdk.Content
			says            string
		}{
			"allowed":     {allowed: true, content: &sdk.TextContent{Text: "Which colour?"}, says: "blue, of test, endTurn"},
			"not allowed": {content: &sdk.TextContent{Text: "Which colour?"}, says: "refused"},
			"no model":    {allowed: true, nobody: true, content: &sdk.TextContent{Text: "Which colour?"}, says: "refused"},
			"a picture":   {allowed: true, content: picture, says: "refused"},
		} {
			t.Run(era+" "+name, func(t *testing.T) {
				t.Parallel()
				s := newServer()
				wants := &sdk.CreateMessageParams{SystemPrompt: "One word.", MaxTokens: 7, Messages: []*sdk.SamplingMessage{{Role: "user", Content: c.content}}}
				s.AddTool(&sdk.Tool{Name: "paint", Description: "Paints it.", InputSchema: json.RawMessage(`{"type":"object"}`)},
					func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
						got, ok := r.Params.InputResponses["colour"].(*sdk.CreateMessageWithToolsResult)
						if stateless && !ok {
							return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"colour": wants}}, nil
						}
						if ok {
							return text(got.Content[0].(*sdk.TextContent).Text + ", of " + got.Model + ", " + got.StopReason), nil
						}
						answer, err := r.Session.CreateMessage(ctx, wants)
						if err != nil {
							return text("refused: " + err.Error()), nil //nolint:nilerr // a result for the test
						}
						return text(answer.Content.(*sdk.TextContent).Text + ", of " + answer.Model + ", " + answer.StopReason), nil
					})
				r := start(t, mcp.Config{}, skill.Config{Endpoint: serve(t, s, stateless).URL, Sampling: c.allowed})
				r.untilTools("mcp__srv__paint")
				ctx := t.Context()
				asked := 0
				if !c.nobody {
					ctx = consult.With(ctx, func(_ context.Context, q consult.Question) (consult.Answer, error) {
						asked++
						if q.System != "One word." || q.MaxTokens != 7 || len(q.Messages) != 1 || q.Messages[0] != (consult.Message{Text: "Which colour?"}) {
							t.Errorf("asked %+v", q)
						}
						return consult.Answer{Text: "blue", Model: "test"}, nil
					})
				}
				got, err := r.tool("mcp__srv__paint").Call(ctx, json.RawMessage(`{}`))
				said := got.Text
				if err != nil { // in the version of 2026 the call ends with its request
					said = "refused: " + err.Error()
				}
				if !strings.HasPrefix(said, c.says) || (asked == 1) != (c.says != "refused") {
					t.Errorf("%q after %d questions", said, asked)
				}
			})
		}
	}
}
