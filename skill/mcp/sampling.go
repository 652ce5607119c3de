package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill/mcp/internal/wire"
	"github.com/etui-run/etui/tool/consult"
)

// A server may ask the agent's model if its file says sampling: true. The model reads the server's words
// and nothing else, and the host of the call sets the bounds.

// sample has the model answer a question of a running call. A request that says nothing of its call is
// for the only one that runs.
func (c *connection) sample(ctx context.Context, p *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	own, _ := ctx.Value(limitKey{}).(*limit)
	if own == nil {
		own = c.running.only()
	}
	if own == nil {
		return nil, refuse("no call, or more than one, runs that it can belong to")
	}
	caller := own.caller.Load()
	if caller == nil {
		return nil, refuse("its call waits for a person")
	}
	q := consult.Question{System: p.SystemPrompt, MaxTokens: int(min(p.MaxTokens, 1<<20))}
	for _, m := range p.Messages {
		if m == nil {
			continue
		}
		text, isText := m.Content.(*sdk.TextContent)
		if !isText {
			return nil, refuse("etui passes on text alone")
		}
		q.Messages = append(q.Messages, consult.Message{Assistant: m.Role == "assistant", Text: text.Text})
	}
	defer c.running.hold(own)()
	asking, cancel := context.WithCancel(*caller)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer context.AfterFunc(c.ctx, cancel)()
	a, err := consult.Ask(asking, q)
	if err != nil {
		return nil, refuse(err.Error())
	}
	stop := "endTurn"
	if a.Cut {
		stop = "maxTokens"
	}
	return &sdk.CreateMessageResult{
		Role: "assistant", Model: a.Model, StopReason: stop, Content: &sdk.TextContent{Text: a.Text},
	}, nil
}

// refuse is the error of a question that the model is not asked.
func refuse(why string) error {
	return &jsonrpc.Error{Code: wire.Rejected, Message: fmt.Sprintf("the model was not asked: %s", why)}
}
