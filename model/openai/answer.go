package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	jsonv1 "github.com/go-json-experiment/json/v1" // decodes as encoding/json does, in two thirds of the time

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// chunk is a piece of an answer, or a whole one.
type chunk struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
}

type choice struct {
	Delta        delta  `json:"delta"`
	Message      *delta `json:"message"` // in a whole answer
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content   content `json:"content"`
	Refusal   string  `json:"refusal"`
	ToolCalls []part  `json:"tool_calls"`
}

// part is a piece of a tool call, or a whole one.
type part struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments text   `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	Details          struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	// CacheHit is DeepSeek's name for the cached tokens.
	CacheHit int `json:"prompt_cache_hit_tokens"`
}

// content is a string, or a list of parts of which only those of type text are read.
type content string

func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type == "text" {
			*c += content(p.Text)
		}
	}
	return nil
}

// text is a JSON string, or the JSON value itself: some servers send arguments as an
// object.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	if raw[0] == '{' {
		*t = text(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// read adds an event to an answer and returns its text.
func (m *Model) read(a *endpoint.Answer, e endpoint.Event) (string, error) {
	a.Begun = true
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		end(a, "stop")
		return "", io.EOF
	}
	var c chunk
	if err := jsonv1.Unmarshal(e.Data, &c); err != nil {
		return "", fmt.Errorf("the server sent something that is not a piece of an answer: %s", e.Data)
	}
	if e.Name == "error" || c.Object == "error" || len(c.Error) > 0 && string(c.Error) != "null" {
		return "", m.refusal(http.StatusOK, e.Data)
	}
	if u := c.Usage; u != nil {
		a.Usage = &model.Tokens{
			Input: u.PromptTokens, Output: u.CompletionTokens, CacheRead: max(u.Details.CachedTokens, u.CacheHit),
		}
	}
	if len(c.Choices) == 0 {
		return "", nil
	}
	said, reason := c.Choices[0].Delta, c.Choices[0].FinishReason
	if whole := c.Choices[0].Message; whole != nil {
		said = *whole
		defer end(a, "stop")
	}
	for _, p := range said.ToolCalls {
		add(a, p)
	}
	if said.Refusal != "" {
		end(a, "content_filter")
	}
	if reason != "" {
		end(a, reason)
	}
	return string(said.Content) + said.Refusal, nil
}

// stops maps the reasons for which an answer ends early.
var stops = map[string]model.Stop{"length": model.Length, "content_filter": model.Refused}

// end records why the answer ended. Only the first reason is kept.
func end(a *endpoint.Answer, reason string) {
	if !a.Complete {
		a.Complete, a.Stop = true, stops[reason]
	}
}

// add adds a piece of a call.
func add(a *endpoint.Answer, p part) {
	c := callOf(a, p)
	if c == nil {
		c = &endpoint.Call{Index: len(a.Calls)}
		if p.Index != nil {
			c.Index = *p.Index
		}
		a.Calls = append(a.Calls, c)
	}
	if c.ID == "" {
		c.ID = p.ID
	}
	if c.Name == "" {
		c.Name = p.Function.Name
	}
	c.Arguments = append(c.Arguments, p.Function.Arguments...)
}

// callOf finds the call that a piece continues: the newest with its index. If the
// server sends no index, it is the newest call, unless the piece has a name. A piece
// with another ID begins a new call: some servers give every call the same index.
func callOf(a *endpoint.Answer, p part) *endpoint.Call {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		c := a.Calls[i]
		same := p.Index != nil && *p.Index == c.Index ||
			p.Index == nil && (p.Function.Name == "" || p.ID != "" && p.ID == c.ID)
		if same && (p.ID == "" || c.ID == "" || p.ID == c.ID) {
			return c
		}
		if p.Index == nil {
			break
		}
	}
	return nil
}
