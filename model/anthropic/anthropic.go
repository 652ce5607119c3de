// Package anthropic talks to Anthropic's messages API.
//
// Answers are always streamed. Cache breakpoints stand after the tools, after
// the system prompt and after the two newest messages of the user, so that the
// next request reads everything but its own message from the provider's cache.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Config says which model.
type Config struct {
	// Model is what Anthropic calls it. Required.
	Model string
	// BaseURL is where the API is; empty means https://api.anthropic.com.
	BaseURL string
	// APIKey is sent as x-api-key.
	APIKey string
	// Window is how many tokens a request and its answer may have; 0 means unknown.
	Window int
	// MaxTokens bounds answers; 0 means 8192.
	MaxTokens int
	// Headers are sent with every request.
	Headers map[string]string
	// Transport sends the requests; nil means model.Transport with its defaults.
	Transport http.RoundTripper
}

// Model is one of Anthropic's models. It is safe for concurrent use.
type Model struct {
	config Config
	client anthropic.Client
}

var _ model.Model = (*Model)(nil)

// New returns a model. It does not talk to the API yet.
func New(cfg Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, errors.New("anthropic: the model's name is missing")
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = 8192
	}
	if cfg.Transport == nil {
		cfg.Transport = model.Transport(model.TransportConfig{})
	}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithAPIKey(cfg.APIKey), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: cfg.Transport}),
	}
	if cfg.BaseURL != "" {
		options = append(options, option.WithBaseURL(strings.TrimSuffix(cfg.BaseURL, "/")))
	}
	for name, value := range cfg.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	return &Model{cfg, anthropic.NewClient(options...)}, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: "anthropic/" + m.config.Model, Window: m.config.Window}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		names := model.NewNames(req)
		stream := m.client.Messages.NewStreaming(ctx, m.request(req, names))
		defer func() { _ = stream.Close() }() // the answer is complete or given up
		a := answer{names: names}
		for stream.Next() {
			e := stream.Current()
			text := a.take(&e)
			if text != "" && !yield(model.Event{Text: text}, nil) {
				return
			}
		}
		err := stream.Err()
		if err == nil && !a.ended {
			err = errors.New("the connection ended before the answer did")
		}
		if err != nil {
			yield(model.Event{}, m.failure(ctx, err))
			return
		}
		for _, call := range a.calls {
			if !yield(model.Event{Call: call}, nil) {
				return
			}
		}
		yield(model.Event{Stop: a.stop(), Usage: &a.usage}, nil)
	}
}

func (m *Model) request(req model.Request, names model.Names) anthropic.MessageNewParams {
	out := anthropic.MessageNewParams{Model: m.config.Model, MaxTokens: int64(m.config.MaxTokens)}
	if req.MaxTokens > 0 {
		out.MaxTokens = int64(req.MaxTokens)
	}
	cached := anthropic.NewCacheControlEphemeralParam()
	for i, d := range req.Tools {
		t := anthropic.ToolParam{Name: names.Provider(d.Name), InputSchema: param.Override[anthropic.ToolInputSchemaParam](d.Schema())}
		if d.Description != "" {
			t.Description = param.NewOpt(d.Description)
		}
		if i == len(req.Tools)-1 {
			t.CacheControl = cached
		}
		out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: &t})
	}
	if req.System != "" {
		out.System = []anthropic.TextBlockParam{{Text: req.System, CacheControl: cached}}
	}
	out.Messages = messages(req.Messages, names)
	left := 2
	for i := len(out.Messages) - 1; i >= 0 && left > 0; i-- {
		if blocks := out.Messages[i].Content; out.Messages[i].Role == anthropic.MessageParamRoleUser && len(blocks) > 0 {
			if at := blocks[len(blocks)-1].GetCacheControl(); at != nil {
				*at = cached
			}
			left--
		}
	}
	return out
}

// messages writes a conversation as the API wants it: the user and the
// assistant take turns, the user begins, and the results of a round of calls
// stand in one message.
func messages(said []chat.Message, names model.Names) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	add := func(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		if len(out) == 0 && role == anthropic.MessageParamRoleAssistant {
			out = append(out, anthropic.NewUserMessage(anthropic.NewTextBlock("(the conversation goes on)")))
		}
		out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
	}
	for _, m := range said {
		switch m.Role {
		case chat.Assistant:
			var blocks []anthropic.ContentBlockParamUnion
			if strings.TrimSpace(m.Text) != "" {
				blocks = append(blocks, anthropic.NewTextBlock(m.Text))
			}
			for _, c := range m.Calls {
				blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, object(c.Arguments), names.Provider(c.Name)))
			}
			if len(blocks) == 0 {
				blocks = append(blocks, anthropic.NewTextBlock("(no answer)"))
			}
			add(anthropic.MessageParamRoleAssistant, blocks...)
		case chat.Tool:
			if m.Result != nil {
				add(anthropic.MessageParamRoleUser, anthropic.NewToolResultBlock(m.Result.CallID, orDash(m.Result.Text), m.Result.Failed))
			}
		default:
			add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(orDash(model.UserText(m))))
		}
	}
	return out
}

// orDash is text that the API takes: it refuses empty blocks.
func orDash(text string) string {
	if strings.TrimSpace(text) == "" {
		return "-"
	}
	return text
}

// object is a call's arguments as the object that the API wants.
func object(args json.RawMessage) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) == nil && fields != nil {
		return args
	}
	return map[string]json.RawMessage{"arguments": quote(args)}
}

func quote(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage(`{}`)
	}
	raw, _ := json.Marshal(string(args)) // a text always marshals
	return raw
}

// answer puts the pieces of an answer together.
type answer struct {
	names  model.Names
	calls  []*chat.Call
	usage  model.Usage
	reason anthropic.StopReason
	ended  bool
}

// take reads an event, and returns what it adds to the text.
func (a *answer) take(e *anthropic.MessageStreamEventUnion) string {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.usage = model.Usage{
			Input:     int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
			CacheRead: int(u.CacheReadInputTokens), CacheWrite: int(u.CacheCreationInputTokens), Output: int(u.OutputTokens),
		}
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			a.calls = append(a.calls, &chat.Call{ID: e.ContentBlock.ID, Name: a.names.Own(e.ContentBlock.Name)})
		}
		if e.ContentBlock.Type == "text" {
			return e.ContentBlock.Text
		}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return e.Delta.Text
		case "input_json_delta":
			if n := len(a.calls); n > 0 {
				a.calls[n-1].Arguments = append(a.calls[n-1].Arguments, e.Delta.PartialJSON...)
			}
		}
	case "message_delta":
		a.reason = e.Delta.StopReason
		if e.Usage.OutputTokens > 0 {
			a.usage.Output = int(e.Usage.OutputTokens)
		}
	case "message_stop":
		a.ended = true
	}
	return ""
}

func (a *answer) stop() model.Stop {
	switch {
	case len(a.calls) > 0 && a.reason != anthropic.StopReasonRefusal:
		return model.ToolCalls
	case a.reason == anthropic.StopReasonMaxTokens, a.reason == anthropic.StopReasonModelContextWindowExceeded:
		return model.Length
	case a.reason == anthropic.StopReasonRefusal:
		return model.Refused
	}
	return model.Done
}

// failure says what went wrong, in the terms of package model.
func (m *Model) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &model.Error{Model: m.Info().Name, Kind: model.ErrUnavailable, Detail: err.Error()}
	var api *anthropic.Error
	if errors.As(err, &api) {
		e.Status = api.StatusCode
		e.Kind = model.KindOf(api.StatusCode)
		var body struct {
			Error struct{ Message string } `json:"error"`
		}
		if json.Unmarshal([]byte(api.RawJSON()), &body) == nil && body.Error.Message != "" {
			e.Detail = body.Error.Message
		}
		if strings.Contains(e.Detail, "prompt is too long") {
			e.Kind = model.ErrTooLong
		}
	}
	e.Detail = model.Shorten(e.Detail, m.config.APIKey)
	return e
}
