package openai

import (
	"bytes"
	"cmp"
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
	Choices choices         `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	// Data, Output and Result are where some gateways put the answer.
	Data   json.RawMessage `json:"data"`
	Output json.RawMessage `json:"output"`
	Result json.RawMessage `json:"result"`
}

// choices are the answers, of which only the first is read; a single one may stand alone.
type choices []choice

func (c *choices) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		*c = make(choices, 1)
		return jsonv1.Unmarshal(raw, &(*c)[0])
	}
	return jsonv1.Unmarshal(raw, (*[]choice)(c))
}

// first returns the piece of the answer that began first; nil if the event has none of it. It is the
// one with the index 0, unless another one came alone.
func (c *chunk) first(a *endpoint.Answer) *choice {
	for i := range c.Choices {
		index := c.Choices[i].Index
		if index == nil || a.Choice != nil && int(*index) == *a.Choice ||
			a.Choice == nil && (*index == 0 || len(c.Choices) == 1) {
			if index != nil {
				a.Choice = (*int)(index)
			}
			return &c.Choices[i]
		}
	}
	return nil
}

// alone returns the only element of a list; nil if the document is none.
func alone(raw []byte) []byte {
	var list []json.RawMessage
	if !bytes.HasPrefix(raw, []byte("[")) || json.Unmarshal(raw, &list) != nil || len(list) != 1 {
		return nil
	}
	return list[0]
}

// unwrap takes the answer out of what a gateway puts around it.
func (c *chunk) unwrap() {
	for _, raw := range []json.RawMessage{c.Data, c.Output, c.Result} {
		if len(c.Choices) > 0 || len(raw) == 0 || raw[0] != '{' {
			continue
		}
		var inner chunk
		if jsonv1.Unmarshal(raw, &inner) == nil && len(inner.Choices) > 0 {
			c.Choices = inner.Choices
			if !says(c.Usage) {
				c.Usage = inner.Usage
			}
		}
	}
}

type choice struct {
	Index        *number `json:"index"`
	Text         word    `json:"text"` // of the older API
	Delta        delta   `json:"delta"`
	Message      *delta  `json:"message"` // in a whole answer
	FinishReason word    `json:"finish_reason"`
	// StopReason is the stop of the request that ended the answer, from vLLM; SGLang has the other name.
	// Either may be the number of a token.
	StopReason  json.RawMessage `json:"stop_reason"`
	MatchedStop json.RawMessage `json:"matched_stop"`
	// Logprobs has a list of content; the older API has another form, which is not read.
	Logprobs json.RawMessage `json:"logprobs"`
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
		*p = append(*p, part{})
		return json.Unmarshal(raw, &(*p)[len(*p)-1])
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, one := range list {
		if len(one) > 0 && one[0] == '[' {
			var inner []part
			_ = json.Unmarshal(one, &inner) // a list in a list: what can be read
			*p = append(*p, inner...)
		} else if err := p.UnmarshalJSON(one); err != nil && string(one) != "null" {
			return err
		}
	}
	return nil
}

// part is a piece of a tool call, or a whole one.
type part struct {
	Index    *number      `json:"index"`
	ID       word         `json:"id"`
	Function functionCall `json:"function"`
	// Name, Arguments and Input are those of a call without a function.
	Name      word `json:"name"`
	Arguments text `json:"arguments"`
	Input     text `json:"input"`
	// Extra is what Gemini wants back with the call.
	Extra json.RawMessage `json:"extra_content"`
}

// functionCall is the function that is called; a name may stand alone.
type functionCall struct {
	Name       word `json:"name"`
	Arguments  text `json:"arguments"`
	Parameters text `json:"parameters"`
}

func (c *functionCall) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &c.Name)
	}
	type plain functionCall
	return json.Unmarshal(raw, (*plain)(c))
}

// name and arguments are those of the piece, wherever they are.
func (p *part) name() string { return string(cmp.Or(p.Function.Name, p.Name)) }

func (p *part) arguments() string {
	return string(cmp.Or(p.Function.Arguments, p.Function.Parameters, p.Arguments, p.Input))
}

type usage struct {
	PromptTokens     number `json:"prompt_tokens"`
	CompletionTokens number `json:"completion_tokens"`
	Details          struct {
		CachedTokens number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	// CacheHit is DeepSeek's name for the cached tokens, and Cached Moonshot's.
	CacheHit number `json:"prompt_cache_hit_tokens"`
	Cached   number `json:"cached_tokens"`
	// InputTokens and OutputTokens are the names of newer APIs.
	InputTokens  number `json:"input_tokens"`
	OutputTokens number `json:"output_tokens"`
}

// number is a whole number, however it is written: 12, 12.0 or "12". Anything else is 0.
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
		return jsonv1.Unmarshal(raw, (*string)(w))
	case len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null":
		*w = word(raw)
	}
	return nil
}

// content is a string, a part or a list of parts, of which only texts are read.
type content string

func (c *content) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) > 0 && raw[0] == '{':
		var p struct {
			Type word `json:"type"`
			Text word `json:"text"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		if p.Type == "" || strings.HasSuffix(string(p.Type), "text") {
			*c += content(p.Text)
		}
	case len(raw) > 0 && raw[0] == '[':
		var list []content
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, p := range list {
			*c += p
		}
	default:
		return (*word)(c).UnmarshalJSON(raw)
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
	return (*word)(t).UnmarshalJSON(raw)
}

// read adds an event to an answer and returns its text.
func (m *Model) read(a *endpoint.Answer, e endpoint.Event) (string, error) {
	begun := a.Begun
	e.Data = bytes.TrimSpace(e.Data)
	failure := func() (string, error) {
		if a.Complete { // nothing is missing
			return "", io.EOF
		}
		return "", m.refusal(http.StatusOK, e.Data)
	}
	for bytes.HasPrefix(e.Data, []byte("data:")) { // written twice
		e.Data = bytes.TrimSpace(e.Data[len("data:"):])
	}
	if bytes.EqualFold(bytes.Trim(e.Data, `"`), []byte("[DONE]")) {
		a.Begun = true
		end(a, "stop")
		return "", io.EOF
	}
	if bytes.HasPrefix(e.Data, []byte("[")) && refused(e.Data) { // Gemini wraps its errors
		return failure()
	}
	if one := alone(e.Data); one != nil {
		e.Data = one
	}
	var c chunk
	if err := jsonv1.Unmarshal(e.Data, &c); err != nil {
		if !begun && a.Odd == nil {
			a.Odd = fmt.Errorf("the server sent something that is not a piece of an answer: %s", e.Data)
		}
		return "", nil
	}
	a.Begun = true
	c.unwrap()
	if e.Name == "error" || c.Object == "error" || says(c.Error) || len(c.Choices) == 0 && failed(e.Data) {
		return failure()
	}
	var u usage
	if says(c.Usage) && jsonv1.Unmarshal(c.Usage, &u) == nil {
		a.Usage = &model.Tokens{
			Input: int(max(u.PromptTokens, u.InputTokens, 0)), Output: int(max(u.CompletionTokens, u.OutputTokens, 0)),
			CacheRead: int(max(u.Details.CachedTokens, u.CacheHit, u.Cached, 0)),
		}
	}
	first := c.first(a)
	if first == nil {
		return "", nil
	}
	said, reason := first.Delta, string(first.FinishReason)
	var tokens struct {
		Content []json.RawMessage `json:"content"`
	}
	if says(first.Logprobs) && jsonv1.Unmarshal(first.Logprobs, &tokens) == nil {
		a.KeepLogprobs(tokens.Content)
	}
	for _, stop := range []json.RawMessage{first.StopReason, first.MatchedStop} {
		if a.Ended == "" {
			_ = jsonv1.Unmarshal(stop, &a.Ended) // else it is no text
		}
	}
	if said.Content == "" {
		said.Content = content(first.Text)
	}
	if whole := first.Message; whole != nil {
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
		p.Function = functionCall{Name: f.Name, Arguments: f.Arguments}
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
var stops = map[string]model.Stop{
	"length": model.Length, "max_tokens": model.Length, "max_output_tokens": model.Length, "model_length": model.Length,
	"content_filter": model.Refused, "content-filter": model.Refused, "safety": model.Refused,
	"sensitive": model.Refused, "refusal": model.Refused, "prohibited_content": model.Refused,
}

// end records why the answer ended. Only the first reason is kept.
func end(a *endpoint.Answer, reason string) {
	if !a.Complete {
		a.Complete, a.Stop = true, stops[strings.ToLower(reason)]
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
	if c != nil && p.ID == "" && p.name() != "" && slices.Contains(fresh, c) {
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
	c.Add(p.name(), p.arguments())
	return fresh
}

// callOf finds the call that a piece continues: the newest with its index. If the
// server sends no index, it is the newest call, unless the piece has a name. A piece
// with another ID and a name begins a new call: some servers give every call the same index.
func callOf(a *endpoint.Answer, p part) *endpoint.Call {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		c, id := a.Calls[i], string(p.ID)
		same := p.Index != nil && int(*p.Index) == c.Index ||
			p.Index == nil && (p.name() == "" || id != "" && id == c.ID)
		if same && (id == "" || c.ID == "" || id == c.ID || p.name() == "") {
			return c
		}
		if p.Index == nil {
			break
		}
	}
	return nil
}
