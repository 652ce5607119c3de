package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	jsonv1 "github.com/go-json-experiment/json/v1" // decodes as encoding/json does, in two thirds of the time

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// chunk is a piece of an answer, or a whole one.
type chunk struct {
	Object  word            `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type choice struct {
	Delta        delta  `json:"delta"`
	Message      *delta `json:"message"` // in a whole answer
	FinishReason word   `json:"finish_reason"`
}

type delta struct {
	Content   content `json:"content"`
	Refusal   word    `json:"refusal"`
	ToolCalls parts   `json:"tool_calls"`
	// FunctionCall is the older form, of one call.
	FunctionCall *struct {
		Name      word `json:"name"`
		Arguments text `json:"arguments"`
	} `json:"function_call"`
	// Reasoning is what some servers want back with the calls that follow from it.
	Reasoning        word            `json:"reasoning_content"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	Plain            word            `json:"reasoning"`
	Extra            json.RawMessage `json:"extra_content"`
}

// parts are pieces of calls; a single one may stand alone.
type parts []part

func (p *parts) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		*p = make(parts, 1)
		return json.Unmarshal(raw, &(*p)[0])
	}
	return json.Unmarshal(raw, (*[]part)(p))
}

// part is a piece of a tool call, or a whole one.
type part struct {
	Index    *number `json:"index"`
	ID       word    `json:"id"`
	Function struct {
		Name      word `json:"name"`
		Arguments text `json:"arguments"`
	} `json:"function"`
	// Extra is what Gemini wants back with the call.
	Extra json.RawMessage `json:"extra_content"`
}

type usage struct {
	PromptTokens     number `json:"prompt_tokens"`
	CompletionTokens number `json:"completion_tokens"`
	Details          struct {
		CachedTokens number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	// CacheHit is DeepSeek's name for the cached tokens.
	CacheHit number `json:"prompt_cache_hit_tokens"`
}

// number is a whole number, however it is written: 12, 12.0 or "12". What is none is 0.
type number int

func (n *number) UnmarshalJSON(raw []byte) error {
	if f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64); err == nil && math.Abs(f) < 1e15 {
		*n = number(f)
	}
	return nil
}

// word is a string; a number or a truth value is read as it is written, and anything else is empty.
type word string

func (w *word) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) > 0 && raw[0] == '"':
		return json.Unmarshal(raw, (*string)(w))
	case len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null":
		*w = word(raw)
	}
	return nil
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
	if raw[0] == '{' || raw[0] == '[' {
		*t = text(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// read adds an event to an answer and returns its text.
func (m *Model) read(a *endpoint.Answer, e endpoint.Event) (string, error) {
	begun := a.Begun
	a.Begun = true
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		end(a, "stop")
		return "", io.EOF
	}
	if bytes.HasPrefix(e.Data, []byte("[")) && refused(e.Data) { // Gemini wraps its errors
		return "", m.refusal(http.StatusOK, e.Data)
	}
	var c chunk
	if err := jsonv1.Unmarshal(e.Data, &c); err != nil {
		if begun && a.Complete { // it has all that was to come
			return "", nil
		}
		return "", fmt.Errorf("the server sent something that is not a piece of an answer: %s", e.Data)
	}
	if e.Name == "error" || c.Object == "error" || says(c.Error) || len(c.Choices) == 0 && failed(e.Data) {
		return "", m.refusal(http.StatusOK, e.Data)
	}
	var u usage
	if says(c.Usage) && jsonv1.Unmarshal(c.Usage, &u) == nil {
		a.Usage = &model.Tokens{
			Input: int(u.PromptTokens), Output: int(u.CompletionTokens), CacheRead: int(max(u.Details.CachedTokens, u.CacheHit)),
		}
	}
	if len(c.Choices) == 0 {
		return "", nil
	}
	said, reason := c.Choices[0].Delta, string(c.Choices[0].FinishReason)
	if whole := c.Choices[0].Message; whole != nil {
		said = *whole
		defer end(a, "stop")
	}
	var fresh []*endpoint.Call // those that began in this piece
	for _, p := range said.ToolCalls {
		if fresh = add(a, p, fresh); len(a.Calls) > maxCalls {
			return "", fmt.Errorf("the server sent more than %d calls in one answer", maxCalls)
		}
	}
	if f := said.FunctionCall; f != nil {
		var p part
		p.Function.Name, p.Function.Arguments = f.Name, f.Arguments
		add(a, p, nil)
	}
	keepReasoning(a, said)
	if said.Refusal != "" {
		end(a, "content_filter")
	}
	if reason != "" {
		end(a, reason)
	}
	return string(said.Content) + string(said.Refusal), nil
}

// says reports whether a value says something: null, false, "", {} and [] do not.
func says(raw json.RawMessage) bool {
	switch strings.ReplaceAll(string(raw), " ", "") {
	case "", "null", "false", `""`, "{}", "[]", "0":
		return false
	}
	return true
}

// refused reports whether a document in place of an answer tells of a failure.
func refused(raw []byte) bool {
	var c chunk
	if jsonv1.Unmarshal(raw, &c) != nil {
		return failed(raw)
	}
	return c.Object == "error" || says(c.Error) || len(c.Choices) == 0 && failed(raw)
}

// failed reports whether an object without an answer tells of a failure in the words of some
// server.
func failed(raw []byte) bool {
	var said struct {
		Success *bool `json:"success"`
		Base    struct {
			Status number `json:"status_code"`
		} `json:"base_resp"`
	}
	if json.Unmarshal(raw, &said) == nil && (said.Success != nil && !*said.Success || said.Base.Status != 0) {
		return true
	}
	refusal := endpoint.ReadRefusal(raw)
	return (refusal.Status != 0 || len(refusal.Codes) > 0) && refusal.Message != string(raw)
}

// keepReasoning keeps what the server may want back, see [chat.Message.State].
func keepReasoning(a *endpoint.Answer, said delta) {
	if said.Reasoning != "" {
		a.Keep("reasoning_content", string(said.Reasoning))
	}
	if said.Plain != "" {
		a.Keep("reasoning", string(said.Plain))
	}
	if says(said.Extra) {
		a.KeepWhole("extra_content", said.Extra)
	}
	var details []json.RawMessage
	if says(said.ReasoningDetails) && json.Unmarshal(said.ReasoningDetails, &details) == nil {
		a.KeepEach("reasoning_details", details)
	}
}

// stops maps the reasons for which an answer ends early.
var stops = map[string]model.Stop{"length": model.Length, "content_filter": model.Refused}

// end records why the answer ended. Only the first reason is kept.
func end(a *endpoint.Answer, reason string) {
	if !a.Complete {
		a.Complete, a.Stop = true, stops[reason]
	}
}

// maxCalls bounds the calls of an answer: each piece looks for its call among them.
const maxCalls = 1000

// maxExtra bounds what is kept of a call for its server, in bytes.
const maxExtra = 64 << 10

// add adds a piece of a call. Fresh are the calls that began in the same event; it returns them with
// the one that begins now, if one does.
func add(a *endpoint.Answer, p part, fresh []*endpoint.Call) []*endpoint.Call {
	c := callOf(a, p)
	if c != nil && p.ID == "" && p.Function.Name != "" && slices.Contains(fresh, c) {
		c = nil // two calls of one event, with the same index
	}
	if c == nil {
		c = &endpoint.Call{Index: len(a.Calls)}
		if p.Index != nil {
			c.Index = int(*p.Index)
		}
		a.Calls = append(a.Calls, c)
		fresh = append(fresh, c)
	}
	if c.ID == "" {
		c.ID = string(p.ID)
	}
	if says(p.Extra) && len(p.Extra) <= maxExtra {
		c.State, _ = json.Marshal(map[string]json.RawMessage{"extra_content": p.Extra})
	}
	c.Add(string(p.Function.Name), string(p.Function.Arguments))
	return fresh
}

// callOf finds the call that a piece continues: the newest with its index. If the
// server sends no index, it is the newest call, unless the piece has a name. A piece
// with another ID begins a new call: some servers give every call the same index.
func callOf(a *endpoint.Answer, p part) *endpoint.Call {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		c, id := a.Calls[i], string(p.ID)
		same := p.Index != nil && int(*p.Index) == c.Index ||
			p.Index == nil && (p.Function.Name == "" || id != "" && id == c.ID)
		if same && (id == "" || c.ID == "" || id == c.ID) {
			return c
		}
		if p.Index == nil {
			break
		}
	}
	return nil
}
