package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/model"
)

// OpenAI starts a server that speaks OpenAI's chat completions, streamed. Its URL
// ends in /v1.
func OpenAI(script ...Reply) *Server { return serve(openai{}, script) }

type openai struct{}

func (openai) base() string { return "/v1" }

func (openai) cached(body []byte) []byte { return body }

type openaiRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Tools               []openaiTool    `json:"tools"`
	Messages            []openaiMessage `json:"messages"`
}

type openaiTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Strict      bool            `json:"strict"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// openaiContent is a text or a list of parts.
type openaiContent struct{ images int }

// UnmarshalJSON accepts the forms that the API accepts.
func (c *openaiContent) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return nil
	}
	var parts []struct {
		Type  string  `json:"type"`
		Text  *string `json:"text"`
		Image *struct {
			URL string `json:"url"`
		} `json:"image_url"`
		File *struct {
			Name string `json:"filename"`
			Data string `json:"file_data"`
		} `json:"file"`
		Audio *struct {
			Data   []byte `json:"data"`
			Format string `json:"format"`
		} `json:"input_audio"`
	}
	if err := strict(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		switch {
		case p.Type == "text" && p.Text != nil:
		case p.Type == "image_url" && p.Image != nil && strings.HasPrefix(p.Image.URL, "data:image/"):
			c.images++
		case p.Type == "file" && p.File != nil && p.File.Name != "" &&
			strings.HasPrefix(p.File.Data, "data:application/pdf;base64,"):
		case p.Type == "input_audio" && p.Audio != nil && len(p.Audio.Data) > 0 &&
			(p.Audio.Format == "wav" || p.Audio.Format == "mp3"):
		default:
			return fmt.Errorf("a part of type %q is not allowed", p.Type)
		}
	}
	return nil
}

type openaiMessage struct {
	Role       string         `json:"role"`
	Content    *openaiContent `json:"content"`
	ToolCallID string         `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
		// What some servers want back with a call, and with a message that makes calls.
		Extra json.RawMessage `json:"extra_content"`
	} `json:"tool_calls"`
	Reasoning string `json:"reasoning_content"`
}

func (openai) check(r Request) (int, error) {
	if r.Method != http.MethodPost || r.Path != "/v1/chat/completions" {
		return http.StatusNotFound, fmt.Errorf("%s %s is unknown", r.Method, r.Path)
	}
	if r.Header.Get("Authorization") != "Bearer "+Key {
		return http.StatusUnauthorized, errors.New("incorrect API key provided")
	}
	if r.Header.Get("Content-Type") != "application/json" {
		return http.StatusUnsupportedMediaType, errors.New("the Content-Type is not application/json")
	}
	var req openaiRequest
	if err := strict(r.Body, &req); err != nil {
		return http.StatusBadRequest, err
	}
	return http.StatusBadRequest, req.check()
}

func (req openaiRequest) check() error {
	switch {
	case req.Model == "":
		return errors.New("you must provide a model parameter")
	case !req.Stream || !req.StreamOptions.IncludeUsage:
		return errors.New("the answer should be streamed, with its usage")
	case req.MaxTokens != nil && *req.MaxTokens < 1, req.MaxCompletionTokens != nil && *req.MaxCompletionTokens < 1:
		return errors.New("the limit of tokens is below 1")
	case req.MaxTokens != nil && req.MaxCompletionTokens != nil:
		return errors.New("max_tokens and max_completion_tokens cannot be set both")
	case req.Tools != nil && len(req.Tools) == 0:
		return errors.New("[] is too short - 'tools'")
	case len(req.Messages) == 0:
		return errors.New("[] is too short - 'messages'")
	}
	names := map[string]bool{}
	for _, t := range req.Tools {
		name := t.Function.Name
		switch {
		case t.Type != "function" || !openaiName.MatchString(name):
			return fmt.Errorf("tool %q of type %q is not allowed", name, t.Type)
		case names[name]:
			return fmt.Errorf("two tools have the name %s", name)
		}
		names[name] = true
		if err := checkSchema(name, t.Function.Parameters); err != nil {
			return err
		}
	}
	var c calls
	for i, m := range req.Messages {
		if err := m.check(i, &c); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return c.done()
}

func (m openaiMessage) check(i int, c *calls) error {
	if m.Role != "tool" {
		if err := c.done(); err != nil {
			return err
		}
	}
	switch {
	case m.Content == nil && len(m.ToolCalls) == 0:
		return errors.New("the content is missing")
	case m.Role != "user" && m.Content != nil && m.Content.images > 0:
		return errors.New("only the user shows pictures")
	case m.Role != "assistant" && m.ToolCalls != nil:
		return errors.New("only the assistant asks for calls")
	case m.Role != "tool" && m.ToolCallID != "":
		return errors.New("only tools answer calls")
	case m.ToolCalls != nil && len(m.ToolCalls) == 0:
		return errors.New("[] is too short - 'tool_calls'")
	}
	switch m.Role {
	case "system":
		if i != 0 {
			return errors.New("the system prompt should come first")
		}
	case "user":
	case "tool":
		return c.answer(m.ToolCallID)
	case "assistant":
		for _, call := range m.ToolCalls {
			f := call.Function
			if call.Type != "function" || call.ID == "" || !openaiName.MatchString(f.Name) || f.Arguments == nil {
				return fmt.Errorf("call %q of %q is not allowed", call.ID, f.Name)
			}
			if err := c.ask(call.ID); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func (p openai) fail(r Reply) []byte { return marshal(p.failure(r)) }

func (openai) failure(r Reply) object {
	kind, code, message := "invalid_request_error", any(nil), r.Message
	switch {
	case r.TooLong:
		code = "context_length_exceeded"
		if message == "" {
			message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
		}
	case r.Status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case r.Status == http.StatusNotFound:
		code = "model_not_found"
	case r.Status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case r.Status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	if r.Code != "" {
		code = r.Code
	}
	if message == "" {
		message = http.StatusText(r.Status)
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func (p openai) late(s *stream, r Reply) { s.event("", p.failure(r)) }

// chunk sends a piece of an answer.
func (openai) chunk(s *stream, delta object, finish any) {
	s.event("", object{
		"id": "chatcmpl-modeltest", "object": "chat.completion.chunk", "created": 1700000000, "model": "modeltest",
		"usage":   nil,
		"choices": []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	})
}

func (p openai) answer(s *stream, r Reply) {
	p.chunk(s, object{"role": "assistant", "content": "", "refusal": nil}, nil)
	if r.Thinking != "" {
		p.chunk(s, object{"reasoning_content": r.Thinking}, nil)
	}
	for _, text := range r.Text {
		if r.stop() == model.Refused {
			p.chunk(s, object{"refusal": text}, nil)
		} else {
			p.chunk(s, object{"content": text}, nil)
		}
	}
}

func (p openai) end(s *stream, r Reply) {
	for i, c := range r.Calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d", i+1)
		}
		p.chunk(s, object{"tool_calls": []object{{
			"index": i, "id": id, "type": "function", "function": object{"name": c.Name, "arguments": ""},
		}}}, nil)
		for part := range halves(string(c.Arguments)) {
			p.chunk(s, object{"tool_calls": []object{{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	finish := map[model.Stop]string{model.ToolCalls: "tool_calls", model.Length: "length"}[r.stop()]
	if finish == "" {
		finish = "stop"
	}
	p.chunk(s, object{}, finish)
	s.event("", object{
		"id": "chatcmpl-modeltest", "object": "chat.completion.chunk", "created": 1700000000, "model": "modeltest",
		"choices": []object{},
		"usage": object{
			"prompt_tokens": r.Usage.Input, "completion_tokens": r.Usage.Output,
			"total_tokens":          r.Usage.Input + r.Usage.Output,
			"prompt_tokens_details": object{"cached_tokens": r.Usage.CacheRead},
		},
	})
	s.send([]byte("data: [DONE]\n\n"))
}

// halves yields a text in two parts, cut between characters.
func halves(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		at := len(text) / 2
		for at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		if yield(text[:at]) {
			yield(text[at:])
		}
	}
}
