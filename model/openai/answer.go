package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	jsonv1 "github.com/go-json-experiment/json/v1" // decodes as encoding/json does, in two thirds of the time

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/sse"
	"github.com/etui-run/etui/model"
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

// content is a string, or a list of parts of which only those of type text count.
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

// answer assembles the pieces of an answer.
type answer struct {
	names model.Names
	// used are the IDs of the conversation's calls; the answer's IDs must differ.
	used  map[string]bool
	calls []*partial
	usage *model.Tokens
	// reason is why the answer ended; empty until it ends.
	reason string
}

// partial is a call that is being assembled.
type partial struct {
	chat.Call
	index int
}

func newAnswer(req model.Request) *answer {
	a := &answer{names: model.NewNames(req), used: map[string]bool{}}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			a.used[c.ID] = true
		}
	}
	return a
}

// read reads a body to the end of the answer and yields the text as it arrives. A body
// that ends or fails before the answer does is an error.
func (a *answer) read(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		some := false
		for e, err := range sse.Events(body) {
			some = true
			if err != nil && a.reason != "" {
				return // only the usage is missing
			}
			if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
				a.end("stop")
				return
			}
			var text string
			if err == nil {
				text, err = a.take(e)
			}
			if err != nil {
				yield("", err)
				return
			}
			if text != "" && !yield(text, nil) {
				return
			}
		}
		switch {
		case !some:
			yield("", errors.New("the server sent an empty answer, or one of another protocol"))
		case a.reason == "":
			yield("", io.ErrUnexpectedEOF)
		}
	}
}

// take adds a piece and returns its text.
func (a *answer) take(e sse.Event) (string, error) {
	var c chunk
	if err := jsonv1.Unmarshal(e.Data, &c); err != nil {
		return "", malformed("something that is not a piece of an answer", e.Data)
	}
	if e.Name == "error" || c.Object == "error" || len(c.Error) > 0 && string(c.Error) != "null" {
		return "", &refusal{status: http.StatusOK, body: e.Data}
	}
	if u := c.Usage; u != nil {
		a.usage = &model.Tokens{Input: u.PromptTokens, Output: u.CompletionTokens, CacheRead: max(u.Details.CachedTokens, u.CacheHit)}
	}
	if len(c.Choices) == 0 {
		return "", nil
	}
	said, reason := c.Choices[0].Delta, c.Choices[0].FinishReason
	if whole := c.Choices[0].Message; whole != nil {
		said = *whole
		defer a.end("stop")
	}
	for _, p := range said.ToolCalls {
		a.add(p)
	}
	if said.Refusal != "" {
		a.end("content_filter")
	}
	if reason != "" {
		a.end(reason)
	}
	return string(said.Content) + said.Refusal, nil
}

// end records why the answer ended. The first reason counts.
func (a *answer) end(reason string) {
	if a.reason == "" {
		a.reason = reason
	}
}

// add adds a piece of a call.
func (a *answer) add(p part) {
	c := a.callOf(p)
	if c == nil {
		c = &partial{index: len(a.calls)}
		if p.Index != nil {
			c.index = *p.Index
		}
		a.calls = append(a.calls, c)
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
func (a *answer) callOf(p part) *partial {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		same := p.Index != nil && *p.Index == c.index || p.Index == nil && (p.Function.Name == "" || p.ID != "" && p.ID == c.ID)
		if same && (p.ID == "" || c.ID == "" || p.ID == c.ID) {
			return c
		}
		if p.Index == nil {
			break
		}
	}
	return nil
}

// wholeCalls returns the calls, each with the tool's own name and an ID that is new to
// the conversation. If the answer hit its token limit, the last call may be
// incomplete: without complete arguments it is dropped, because repairing them would
// be guessing. A filtered answer has no calls.
func (a *answer) wholeCalls() []*chat.Call {
	var out []*chat.Call
	for i, c := range a.calls {
		cut := a.reason == "length" && i == len(a.calls)-1 && !json.Valid(c.Arguments)
		if cut || a.reason == "content_filter" || c.Name == "" {
			continue
		}
		c.Name = a.names.Own(c.Name)
		for n := len(a.used) + 1; c.ID == "" || a.used[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d", n)
		}
		a.used[c.ID] = true
		out = append(out, &c.Call)
	}
	return out
}

func (a *answer) stop() model.Stop {
	switch {
	case a.reason == "length":
		return model.Length
	case a.reason == "content_filter":
		return model.Refused
	case len(a.calls) > 0:
		return model.ToolCalls
	}
	return model.Done
}
