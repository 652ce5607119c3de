// Package openai talks to servers with OpenAI's chat completions: OpenAI itself
// and the many that speak the same, such as llama.cpp, vLLM, Ollama or a gateway.
//
// Answers are always streamed. Servers that leave parts of the protocol out - no
// call IDs, no indexes, no [DONE], a whole answer in one piece - are understood.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Config says which model on which server.
type Config struct {
	// Model is what the server calls it. Required.
	Model string
	// BaseURL is where the server is; empty means https://api.openai.com/v1.
	BaseURL string
	// APIKey is sent as bearer token; servers of one's own often need none.
	APIKey string
	// Window is how many tokens a request and its answer may have; 0 means unknown.
	Window int
	// MaxTokens bounds answers; 0 leaves it to the server.
	MaxTokens int
	// Headers are sent with every request.
	Headers map[string]string
	// Transport sends the requests; nil means model.Transport with its defaults.
	Transport http.RoundTripper
}

// Model is a model on a server. It is safe for concurrent use.
type Model struct {
	config Config
	client *openai.Client
}

var _ model.Model = (*Model)(nil)

// New returns a model. It does not talk to the server yet.
func New(cfg Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, errors.New("openai: the model's name is missing")
	}
	if cfg.Transport == nil {
		cfg.Transport = model.Transport(model.TransportConfig{})
	}
	c := openai.DefaultConfig(cfg.APIKey)
	if cfg.BaseURL != "" {
		c.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	}
	c.HTTPClient = &http.Client{Transport: &transport{cfg}}
	// Servers may send a comment a second while they think.
	c.EmptyMessagesLimit = 1 << 20
	return &Model{cfg, openai.NewClientWithConfig(c)}, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: "openai/" + m.config.Model, Window: m.config.Window}
}

// transport adds the headers, and turns whole answers into a stream of one
// piece.
type transport struct{ config Config }

// maxAnswer bounds an answer that is not streamed, in bytes.
const maxAnswer = 16 << 20

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range t.config.Headers {
		req.Header.Set(name, value)
	}
	if t.config.APIKey == "" {
		req.Header.Del("Authorization")
	}
	resp, err := t.config.Transport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return resp, err
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close() // it has been read
	if err != nil {
		return nil, err
	}
	// A whole answer has messages where a stream has deltas.
	var whole struct {
		Choices []map[string]json.RawMessage `json:"choices"`
		Usage   json.RawMessage              `json:"usage,omitempty"`
		Error   json.RawMessage              `json:"error,omitempty"`
	}
	if json.Unmarshal(raw, &whole) == nil {
		for _, c := range whole.Choices {
			c["delta"] = c["message"]
			delete(c, "message")
		}
		if line, err := json.Marshal(whole); err == nil {
			raw = line
		}
	}
	raw = bytes.ReplaceAll(raw, []byte("\n"), nil)
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("data: "), bytes.NewReader(raw), strings.NewReader("\n\ndata: [DONE]\n\n")))
	return resp, nil
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		names := model.NewNames(req)
		stream, err := m.client.CreateChatCompletionStream(ctx, m.request(req, names))
		if err != nil {
			yield(model.Event{}, m.failure(ctx, err))
			return
		}
		defer func() { _ = stream.Close() }() // the answer is complete or given up
		a := answer{names: names}
		for {
			piece, err := stream.Recv()
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && a.complete() {
				break
			}
			if errors.Is(err, io.EOF) {
				err = errors.New("the connection ended before the answer did")
			}
			if err != nil {
				yield(model.Event{}, m.failure(ctx, err))
				return
			}
			if text := a.take(piece); text != "" && !yield(model.Event{Text: text}, nil) {
				return
			}
		}
		for _, call := range a.calls {
			if !yield(model.Event{Call: call}, nil) {
				return
			}
		}
		yield(model.Event{Stop: a.end(), Usage: a.usage}, nil)
	}
}

func (m *Model) request(req model.Request, names model.Names) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Model: m.config.Model, Stream: true, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		MaxCompletionTokens: m.config.MaxTokens,
	}
	if req.MaxTokens > 0 {
		out.MaxCompletionTokens = req.MaxTokens
	}
	if m.config.BaseURL != "" {
		// Servers of one's own know the older name.
		out.MaxTokens, out.MaxCompletionTokens = out.MaxCompletionTokens, 0 //nolint:staticcheck // deprecated for OpenAI itself only
	}
	for _, d := range req.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: names.Provider(d.Name), Description: d.Description, Parameters: d.Schema(),
		}})
	}
	if req.System != "" {
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: req.System})
	}
	for _, said := range req.Messages {
		out.Messages = append(out.Messages, message(said, names))
	}
	return out
}

func message(said chat.Message, names model.Names) openai.ChatCompletionMessage {
	switch {
	case said.Role == chat.Tool && said.Result != nil:
		text := said.Result.Text
		if text == "" {
			text = "(no output)" // the library leaves an empty content out
		}
		return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, Content: text, ToolCallID: said.Result.CallID}
	case said.Role == chat.Assistant:
		out := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: said.Text}
		for _, c := range said.Calls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: names.Provider(c.Name), Arguments: arguments(c)},
			})
		}
		if out.Content == "" && len(out.ToolCalls) == 0 {
			out.Content = "(no answer)"
		}
		return out
	}
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: model.UserText(said)}
}

func arguments(c chat.Call) string {
	if len(c.Arguments) == 0 {
		return "{}"
	}
	return string(c.Arguments)
}

// answer puts the pieces of an answer together.
type answer struct {
	names   model.Names
	calls   []*chat.Call
	indexes []int
	usage   *model.Usage
	reason  openai.FinishReason
	text    bool
}

// take reads a piece, and returns what it adds to the text.
func (a *answer) take(piece openai.ChatCompletionStreamResponse) string {
	if u := piece.Usage; u != nil {
		a.usage = &model.Usage{Input: u.PromptTokens, Output: u.CompletionTokens}
		if u.PromptTokensDetails != nil {
			a.usage.CacheRead = u.PromptTokensDetails.CachedTokens
		}
	}
	if len(piece.Choices) == 0 {
		return ""
	}
	c := piece.Choices[0]
	if c.FinishReason != "" {
		a.reason = c.FinishReason
	}
	for _, part := range c.Delta.ToolCalls {
		a.call(part)
	}
	text := c.Delta.Content + c.Delta.Refusal
	if c.Delta.Refusal != "" {
		a.reason = openai.FinishReasonContentFilter
	}
	a.text = a.text || text != ""
	return text
}

// call adds a part of a tool call. Parts belong together by index; without one,
// a part with a name begins a new call.
func (a *answer) call(part openai.ToolCall) {
	at := -1
	for i, index := range a.indexes {
		if part.Index != nil && index == *part.Index {
			at = i
		}
	}
	if part.Index == nil && part.Function.Name == "" {
		at = len(a.calls) - 1
	}
	if at < 0 {
		index := len(a.calls)
		if part.Index != nil {
			index = *part.Index
		}
		a.calls, a.indexes = append(a.calls, &chat.Call{}), append(a.indexes, index)
		at = len(a.calls) - 1
	}
	c := a.calls[at]
	if part.ID != "" {
		c.ID = part.ID
	}
	if part.Function.Name != "" {
		c.Name = a.names.Own(part.Function.Name)
	}
	c.Arguments = append(c.Arguments, part.Function.Arguments...)
}

// complete reports whether an answer that has ended is whole.
func (a *answer) complete() bool { return a.reason != "" }

func (a *answer) end() model.Stop {
	switch {
	case len(a.calls) > 0:
		return model.ToolCalls
	case a.reason == openai.FinishReasonLength:
		return model.Length
	case a.reason == openai.FinishReasonContentFilter:
		return model.Refused
	}
	return model.Done
}

// failure says what went wrong, in the terms of package model.
func (m *Model) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &model.Error{Model: m.Info().Name, Kind: model.ErrUnavailable}
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.As(err, &api):
		e.Status, e.Detail = api.HTTPStatusCode, api.Message
		if e.Status != 0 {
			e.Kind = model.KindOf(e.Status)
		}
		if fmt.Sprint(api.Code) == "context_length_exceeded" || strings.Contains(api.Message, "context length") {
			e.Kind = model.ErrTooLong
		}
	case errors.As(err, &request):
		e.Status, e.Detail, e.Kind = request.HTTPStatusCode, string(request.Body), model.KindOf(request.HTTPStatusCode)
	default:
		e.Detail = err.Error()
	}
	e.Detail = model.Shorten(e.Detail, m.config.APIKey)
	return e
}
