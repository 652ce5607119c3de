package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
)

// A tool that requires it runs as a task: the call returns at once, and its result is fetched
// when the task has ended. The SDK knows no tasks.

// task is a task as its server describes it.
type task struct {
	sdk.ResultBase
	ID           string  `json:"taskId"`
	Status       string  `json:"status"`
	Message      string  `json:"statusMessage"`
	PollInterval float64 `json:"pollInterval"` // milliseconds
}

type taskParams struct {
	sdk.ParamsBase
	ID string `json:"taskId"`
}

const (
	taskGet    = "tasks/get"
	taskResult = "tasks/result"
	taskCancel = "tasks/cancel"

	pollTask      = time.Second // if the server does not say
	pollTaskLeast = 100 * time.Millisecond
	pollTaskMost  = 10 * time.Second
	cancelTime    = 5 * time.Second
)

func addTasks(c *sdk.Client) {
	for _, err := range []error{
		sdk.AddSendingCustomMethod[*taskParams, *task](c, taskGet),
		sdk.AddSendingCustomMethod[*taskParams, *sdk.CallToolResult](c, taskResult),
		sdk.AddSendingCustomMethod[*taskParams, *task](c, taskCancel),
	} {
		if err != nil {
			panic(err) // a later SDK has the method itself
		}
	}
}

// callTask calls a tool as a task and waits until that has ended. Each answer of the server
// counts as progress.
func (c *connection) callTask(
	ctx context.Context, params *sdk.CallToolParams, own *limit,
) (*sdk.CallToolResult, error) {
	params.Meta[wire.Task] = map[string]any{"ttl": longestCall.Milliseconds()}
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	raw, ok := result.Meta[wire.Task].(map[string]any)
	if !ok {
		return result, nil // the server has answered at once
	}
	t := &task{}
	t.ID, _ = raw["taskId"].(string)
	t.Status, _ = raw["status"].(string)
	t.PollInterval, _ = raw["pollInterval"].(float64)
	if t.ID == "" {
		return nil, fmt.Errorf("%w: the server began a task without a name", skill.ErrExecutionFailed)
	}
	for t.Status == "working" || t.Status == "submitted" || t.Status == "" {
		pause := pollTask
		if t.PollInterval > 0 {
			pause = min(max(time.Duration(t.PollInterval*float64(time.Millisecond)), pollTaskLeast), pollTaskMost)
		}
		if !sleep.For(ctx, pause) {
			c.cancelTask(ctx, t.ID)
			return nil, ctx.Err()
		}
		next, err := sdk.CallCustomMethod[*taskParams, *task](ctx, c.session, taskGet, &taskParams{ID: t.ID})
		if err != nil {
			if ctx.Err() != nil {
				c.cancelTask(ctx, t.ID)
			}
			return nil, begun(err)
		}
		own.extend()
		next.ID = t.ID
		t = next
	}
	if t.Status == "cancelled" {
		return nil, fmt.Errorf("%w: the server has cancelled the task. %s", skill.ErrExecutionFailed, t.Message)
	}
	asked := &taskParams{ID: t.ID}
	result, err = sdk.CallCustomMethod[*taskParams, *sdk.CallToolResult](ctx, c.session, taskResult, asked)
	if err == nil && t.Status == "failed" {
		result.IsError = true
		if len(result.Content) == 0 && t.Message != "" {
			result.Content = []sdk.Content{&sdk.TextContent{Text: t.Message}}
		}
	}
	return result, begun(err)
}

// begun returns the error of a task that had begun: unlike a call, it is not repeated when the session
// has expired.
func begun(err error) error {
	if errors.Is(err, wire.ErrExpired) {
		return fmt.Errorf("%w: %v while a task was running, and what it did is unknown: check its effect "+
			"before you repeat it", skill.ErrExecutionFailed, err)
	}
	return err
}

// cancelTask asks the server to end a task that nobody waits for.
func (c *connection) cancelTask(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	go func() {
		defer panics.Log(nil, "cancelling a task of an MCP server")
		defer cancel()
		asked := &taskParams{ID: id}
		_, _ = sdk.CallCustomMethod[*taskParams, *task](ctx, c.session, taskCancel, asked) // nobody is told
	}()
}
