package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/etui-run/etui/model"
)

// Anthropic starts a server that speaks Anthropic's messages API, streamed.
func Anthropic(script ...Reply) *Server { return serve(anthropic{}, script) }

type anthropic struct{}

func (anthropic) base() string { return "" }

// cached removes the breakpoints, which only mark the end of the cache, and deferred
// tools, which the model does not read.
func (anthropic) cached(body []byte) []byte {
	var tools struct{ Tools []json.RawMessage }
	_ = json.Unmarshal(body, &tools) // a body that is not JSON has none
	for _, t := range tools.Tools {
		if bytes.Contains(t, []byte(`"defer_loading":true`)) {
			body = bytes.Replace(body, append([]byte{','}, t...), nil, 1) // never the first
		}
	}
	breakpoint := []byte(`"cache_control":{"type":"ephemeral"}`)
	body = bytes.ReplaceAll(body, append(bytes.Clone(breakpoint), ','), nil)
	return bytes.ReplaceAll(body, append([]byte{','}, breakpoint...), nil)
}

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Stream    bool               `json:"stream"`
	System    []anthropicBlock   `json:"system"`
	Output    json.RawMessage    `json:"output_config"`
	Tools     []anthropicTool    `json:"tools"`
	Messages  []anthropicMessage `json:"messages"`
	Thinking  json.RawMessage    `json:"thinking"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Defer       bool            `json:"defer_loading"`
	Cache       *breakpoint     `json:"cache_control"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      *string          `json:"text"`
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Input     json.RawMessage  `json:"input"`
	ToolUseID string           `json:"tool_use_id"`
	ToolName  string           `json:"tool_name"`
	Thinking  string           `json:"thinking"`
	Signature string           `json:"signature"`
	Data      string           `json:"data"`
	Content   []anthropicBlock `json:"content"`
	IsError   bool             `json:"is_error"`
	Source    *anthropicSource `json:"source"`
	Title     string           `json:"title"`
	Cache     *breakpoint      `json:"cache_control"`
}

// anthropicSource is a picture.
type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

func (s *anthropicSource) check() error {
	if s == nil || s.Type != "base64" || len(s.Data) == 0 || !imageTypes.MatchString(s.MediaType) {
		return errors.New("the picture cannot be read")
	}
	return nil
}

type breakpoint struct {
	Type string `json:"type"`
}

func (anthropic) check(r Request) (int, error) {
	if r.Method != http.MethodPost || r.Path != "/v1/messages" {
		return http.StatusNotFound, fmt.Errorf("%s %s is unknown", r.Method, r.Path)
	}
	if r.Header.Get("X-Api-Key") != Key {
		return http.StatusUnauthorized, errors.New("invalid x-api-key")
	}
	if r.Header.Get("Anthropic-Version") != "2023-06-01" {
		return http.StatusBadRequest, errors.New("anthropic-version: header is required")
	}
	if r.Header.Get("Content-Type") != "application/json" {
		return http.StatusBadRequest, errors.New("the Content-Type is not application/json")
	}
	var req anthropicRequest
	if err := strict(r.Body, &req); err != nil {
		return http.StatusBadRequest, err
	}
	return http.StatusBadRequest, req.check()
}

func (req anthropicRequest) check() error {
	switch {
	case req.Model == "":
		return errors.New("model: Field required")
	case req.MaxTokens < 1:
		return errors.New("max_tokens: Input should be greater than or equal to 1")
	case !req.Stream:
		return errors.New("the answer should be streamed")
	case len(req.Messages) == 0:
		return errors.New("messages: at least one message is required")
	}
	breakpoints := 0
	mark := func(b *breakpoint) {
		if b != nil {
			breakpoints++
		}
	}
	for i, b := range req.System {
		mark(b.Cache)
		if err := b.checkText(); err != nil {
			return fmt.Errorf("system.%d: %w", i, err)
		}
	}
	names, shown := map[string]bool{}, 0
	for _, t := range req.Tools {
		mark(t.Cache)
		if !t.Defer {
			shown++
		} else if t.Cache != nil {
			return fmt.Errorf("tool %s: defer_loading and cache_control exclude each other", t.Name)
		}
		if !anthropicName.MatchString(t.Name) || names[t.Name] {
			return fmt.Errorf("tool %q is not allowed, or there twice", t.Name)
		}
		names[t.Name] = true
		if err := checkSchema(t.Name, t.InputSchema); err != nil {
			return err
		}
	}
	if len(req.Tools) > 0 && shown == 0 {
		return errors.New("at least one tool must not have defer_loading")
	}
	c := calls{tools: names}
	for i, m := range req.Messages {
		for _, b := range m.Content {
			mark(b.Cache)
		}
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages.%d: the role is %q, it should be %q", i, m.Role, want)
		}
		if err := m.check(&c); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if breakpoints > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", breakpoints)
	}
	return c.done()
}

func (m anthropicMessage) check(c *calls) error {
	if len(m.Content) == 0 {
		return errors.New("the content is empty")
	}
	texts := 0
	for i, b := range m.Content {
		if b.Cache != nil && b.Cache.Type != "ephemeral" {
			return fmt.Errorf("content.%d: unknown cache_control %q", i, b.Cache.Type)
		}
		var err error
		switch {
		case b.Type == "text":
			texts++
			if err = b.checkText(); err == nil && m.Role == "user" {
				err = c.done()
			}
		case b.Type == "document" && m.Role == "user":
			texts++
			if b.Source == nil || b.Source.Type != "base64" || b.Source.MediaType != "application/pdf" ||
				len(b.Source.Data) == 0 {
				return errors.New("a document must be a PDF in base64")
			}
			err = c.done()
		case b.Type == "image" && m.Role == "user":
			texts++
			if err = b.Source.check(); err == nil {
				err = c.done()
			}
		case (b.Type == "thinking" || b.Type == "redacted_thinking") && m.Role == "assistant":
			if texts > 0 {
				err = errors.New("thinking comes before text")
			}
		case b.Type == "tool_use" && m.Role == "assistant":
			err = b.checkCall(c)
		case b.Type == "tool_result" && m.Role == "user":
			if texts > 0 {
				return errors.New("results come before text")
			}
			err = b.checkResult(c)
		default:
			err = fmt.Errorf("a block of type %q is not allowed here", b.Type)
		}
		if err != nil {
			return fmt.Errorf("content.%d: %w", i, err)
		}
	}
	if m.Role == "user" {
		return c.done()
	}
	return nil
}

func (b anthropicBlock) checkText() error {
	switch {
	case b.Type != "text" || b.Text == nil:
		return errors.New("a block of text is expected")
	case strings.TrimSpace(*b.Text) == "":
		return errors.New("text content blocks must be non-empty")
	}
	return nil
}

func (b anthropicBlock) checkCall(c *calls) error {
	var input map[string]json.RawMessage
	switch {
	case !anthropicName.MatchString(b.Name):
		return fmt.Errorf("the name %q is not allowed", b.Name)
	case !anthropicID.MatchString(b.ID):
		return fmt.Errorf("the ID %q is not allowed", b.ID)
	case json.Unmarshal(b.Input, &input) != nil || input == nil:
		return errors.New("input: should be a valid dictionary")
	}
	return c.ask(b.ID)
}

func (b anthropicBlock) checkResult(c *calls) error {
	for _, part := range b.Content {
		switch {
		case (part.Type == "tool_reference") != (b.Content[0].Type == "tool_reference"):
			return errors.New("references to tools cannot be mixed with other content")
		case part.Type == "image":
			if err := part.Source.check(); err != nil {
				return err
			}
		case part.Type != "tool_reference":
			if err := part.checkText(); err != nil {
				return err
			}
		case !c.tools[part.ToolName]:
			return fmt.Errorf("tool reference %q not found in available tools", part.ToolName)
		}
	}
	return c.answer(b.ToolUseID)
}

func (p anthropic) fail(r Reply) []byte { return marshal(p.failure(r)) }

func (anthropic) failure(r Reply) object {
	kind := map[int]string{
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusUnauthorized:          "authentication_error",
		http.StatusForbidden:             "permission_error",
		http.StatusNotFound:              "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests:       "rate_limit_error",
		529:                              "overloaded_error",
	}[r.Status]
	switch {
	case r.Code != "":
		kind = r.Code
	case kind == "":
		kind = "api_error"
	}
	message := r.Message
	switch {
	case message == "" && r.TooLong:
		message = "prompt is too long: 200001 tokens > 200000 maximum"
	case message == "":
		message = http.StatusText(r.Status)
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_modeltest"}
}

func (p anthropic) late(s *stream, r Reply) { s.event("error", p.failure(r)) }

func (p anthropic) answer(s *stream, r Reply) {
	u := r.Usage
	s.event("message_start", object{"type": "message_start", "message": object{
		"id": "msg_modeltest", "type": "message", "role": "assistant", "model": "modeltest", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
			"cache_creation_input_tokens": u.CacheWrite, "output_tokens": min(u.Output, 1),
		},
	}})
	s.event("ping", object{"type": "ping"})
	if r.Thinking != "" {
		p.block(s, 0, object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": r.Thinking},
			object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
		p.stop(s, 0)
	}
	if len(r.Text) > 0 {
		var deltas []object
		for _, text := range r.Text {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
		p.block(s, r.textIndex(), object{"type": "text", "text": ""}, deltas...)
	}
}

// textIndex is the number of the block that holds the text.
func (r Reply) textIndex() int {
	if r.Thinking != "" {
		return 1
	}
	return 0
}

// block begins a block and sends its pieces.
func (anthropic) block(s *stream, index int, start object, deltas ...object) {
	s.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
	for _, d := range deltas {
		s.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
	}
}

func (anthropic) stop(s *stream, index int) {
	s.event("content_block_stop", object{"type": "content_block_stop", "index": index})
}

func (p anthropic) end(s *stream, r Reply) {
	index := r.textIndex()
	if len(r.Text) > 0 {
		p.stop(s, index)
		index++
	}
	for i, c := range r.Calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("toolu_%d", i+1)
		}
		deltas := []object{{"type": "input_json_delta", "partial_json": ""}}
		for part := range halves(string(c.Arguments)) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": part})
		}
		p.block(s, index, object{"type": "tool_use", "id": id, "name": c.Name, "input": object{}}, deltas...)
		p.stop(s, index)
		index++
	}
	reason := map[model.Stop]string{
		model.Done: "end_turn", model.ToolCalls: "tool_use", model.Length: "max_tokens", model.Refused: "refusal",
	}[r.stop()]
	s.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
		"usage": object{"output_tokens": r.Usage.Output},
	})
	s.event("message_stop", object{"type": "message_stop"})
}
