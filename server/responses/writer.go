package responses

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// response is OpenAI's answer.
type response struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	Created      int64             `json:"created_at"`
	Status       string            `json:"status"`
	Background   bool              `json:"background"`
	Conversation *conversation     `json:"conversation"`
	Error        *failure          `json:"error"`
	Incomplete   *reason           `json:"incomplete_details"`
	Instructions *string           `json:"instructions"`
	MaxTokens    *int              `json:"max_output_tokens"`
	Model        string            `json:"model"`
	Output       []any             `json:"output"`
	Parallel     bool              `json:"parallel_tool_calls"`
	Previous     *string           `json:"previous_response_id"`
	Reasoning    map[string]any    `json:"reasoning"`
	Store        bool              `json:"store"`
	Temperature  *float64          `json:"temperature"`
	Text         map[string]any    `json:"text"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Tools        []json.RawMessage `json:"tools"`
	TopP         *float64          `json:"top_p"`
	Truncation   string            `json:"truncation"`
	Usage        *usage            `json:"usage"`
	Metadata     json.RawMessage   `json:"metadata"`
	Etui         *wire.Extension   `json:"etui,omitempty"`
}

// The states of a response that others than the writer need.
const (
	inProgress = "in_progress"
	cancelled  = "cancelled"
)

// open reports whether a response has not ended.
func (r response) open() bool { return r.Status == inProgress || r.Status == "queued" }

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type reason struct {
	Reason string `json:"reason"`
}

type usage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

type messageItem struct {
	Type    string     `json:"type"`
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Role    string     `json:"role"`
	Content []textPart `json:"content"`
}

type textPart struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations"`
	Logprobs    []struct{} `json:"logprobs"`
}

func textOf(text string) textPart {
	return textPart{"output_text", text, []struct{}{}, []struct{}{}}
}

// frame is an event of a stream.
type frame struct {
	Type      string     `json:"type"`
	Sequence  int        `json:"sequence_number"`
	Response  *response  `json:"response,omitempty"`
	Output    *int       `json:"output_index,omitempty"`
	Content   *int       `json:"content_index,omitempty"`
	ItemID    string     `json:"item_id,omitempty"`
	Item      any        `json:"item,omitempty"`
	Part      *textPart  `json:"part,omitempty"`
	Delta     *string    `json:"delta,omitempty"`
	Text      *string    `json:"text,omitempty"`
	Name      string     `json:"name,omitempty"`
	Arguments *string    `json:"arguments,omitempty"`
	Input     *string    `json:"input,omitempty"`
	Logprobs  []struct{} `json:"logprobs,omitzero"`
}

// writer writes the events of a turn as OpenAI's clients expect them.
type writer struct {
	request *request
	head    response
	text    strings.Builder
	gap     bool // calls ran since the last text
	item    messageItem
	next    int // number of the next event
	w       http.ResponseWriter
	stream  *wire.Stream // nil when nothing is streamed
	// reasoning, when not nil, returns what goes before the calls; nil for nothing.
	reasoning func(*turn.End) *reasoningItem
	// keep, when not nil, stores the response once it has ended.
	keep func(response)
	// detached says that the turn goes on without the client, and cancelled that it was ended.
	detached, cancelled bool
}

func newItem() messageItem {
	return messageItem{"message", "msg_" + rand.Text(), inProgress, "assistant", []textPart{}}
}

func newWriter(w http.ResponseWriter, c *request, id string, now int64) *writer {
	o := &writer{request: c, w: w, item: newItem()}
	o.head = response{
		ID: id, Object: "response", Created: now, Status: inProgress, Background: c.Background,
		Instructions: c.Instructions, MaxTokens: c.MaxTokens,
		Model: c.Model, Output: []any{}, Parallel: c.Parallel == nil || *c.Parallel, Previous: c.Previous,
		Reasoning: map[string]any{"effort": nil, "summary": nil}, Store: c.Store == nil || *c.Store,
		Temperature: c.Temperature, Text: map[string]any{"format": map[string]string{"type": "text"}},
		ToolChoice: c.Choice, Tools: c.Tools, TopP: c.TopP, Truncation: "disabled", Metadata: c.Metadata,
	}
	if c.Conversation.ID != "" {
		o.head.Conversation = &c.Conversation
	}
	if len(c.Text.Format) > 0 {
		o.head.Text["format"] = c.Text.Format
	}
	if o.head.Tools == nil {
		o.head.Tools = []json.RawMessage{}
	}
	if len(o.head.ToolChoice) == 0 {
		o.head.ToolChoice = json.RawMessage(`"auto"`)
	}
	if len(o.head.Metadata) == 0 {
		o.head.Metadata = json.RawMessage("{}")
	}
	if c.Stream {
		o.stream = wire.NewStream(w, o.begins(), keepAlive)
	}
	return o
}

// keepAlive is what a stream sends in silence.
const keepAlive = ": keep-alive\n\n"

// begins returns the first events of a stream.
func (o *writer) begins() string {
	return o.written(frame{Type: "response.created", Response: &o.head}) +
		o.written(frame{Type: "response.in_progress", Response: &o.head})
}

// number gives an event its number.
func (o *writer) number(f frame) []byte {
	f.Sequence = o.next
	o.next++
	raw, _ := json.Marshal(f) // texts and numbers, and JSON
	return raw
}

func (o *writer) written(f frame) string { return wire.Event(f.Type, o.number(f)) }

func (o *writer) send(list ...frame) error {
	for _, f := range list {
		if err := o.stream.Event(f.Type, o.number(f)); err != nil && !o.detached {
			return err
		}
	}
	return nil
}

// record returns what is stored of the response.
func (o *writer) record(m *engine.Message) record {
	return record{
		Response: o.head, Input: o.request.Input.items(), Client: m.Client, Trusted: m.Trusted,
		Begins: o.request.begins,
	}
}

func (o *writer) close() {
	if o.stream != nil {
		o.stream.Close()
	}
}

// Event implements [wire.Writer]: it writes an event of the turn.
func (o *writer) Event(e turn.Event) error {
	switch {
	case e.Call != nil:
		o.gap = o.text.Len() > 0
	case e.Text != "":
		return o.say(e.Text)
	case e.Done != nil:
		return o.end(e.Done)
	}
	return nil
}

// Extend implements [wire.Extender].
func (o *writer) Extend(x *wire.Extension) { o.head.Etui = x }

func (o *writer) say(text string) error {
	first, at := o.text.Len() == 0, 0
	if o.gap {
		o.gap, text = false, "\n\n"+text
	}
	o.text.WriteString(text)
	if o.stream == nil {
		return nil
	}
	if first {
		part := textOf("")
		if err := o.send(
			frame{Type: "response.output_item.added", Output: &at, Item: o.item},
			frame{Type: "response.content_part.added", Output: &at, Content: &at, ItemID: o.item.ID, Part: &part},
		); err != nil {
			return err
		}
	}
	return o.send(frame{
		Type: "response.output_text.delta", Output: &at, Content: &at, ItemID: o.item.ID, Delta: &text,
		Logprobs: []struct{}{},
	})
}

// end completes the answer: the text, the calls for the client, how it ended, and the tokens.
func (o *writer) end(done *turn.End) error {
	if o.text.Len() > 0 || len(done.Handed) == 0 {
		if err := o.endText(); err != nil {
			return err
		}
	}
	if o.reasoning != nil {
		if item := o.reasoning(done); item != nil {
			if err := o.whole(item); err != nil {
				return err
			}
		}
	}
	for _, c := range done.Handed {
		if err := o.call(o.request.item(c)); err != nil {
			return err
		}
	}
	o.head.Status = "completed"
	switch done.Stop {
	case model.Length:
		o.head.Status, o.head.Incomplete = "incomplete", &reason{"max_output_tokens"}
	case model.Refused:
		o.head.Status, o.head.Incomplete = "incomplete", &reason{"content_filter"}
	}
	u := &usage{Input: done.Usage.Input, Output: done.Usage.Output, Total: done.Usage.Input + done.Usage.Output}
	u.InputDetails.Cached = done.Usage.CacheRead
	o.head.Usage = u
	if o.cancelled {
		o.head.Status, o.head.Incomplete = cancelled, nil
	}
	if o.keep != nil {
		o.keep(o.head)
	}
	return o.finish()
}

// finish writes the response that has ended.
func (o *writer) finish() error {
	switch {
	case o.stream != nil && o.head.Status == cancelled: // the API has no event of its own for it
		return o.send(frame{Type: "response.incomplete", Response: &o.head})
	case o.stream != nil:
		return o.send(frame{Type: "response." + o.head.Status, Response: &o.head})
	case o.w != nil:
		wire.Reply(o.w, http.StatusOK, o.head)
	}
	return nil
}

func (o *writer) endText() error {
	text, at := o.text.String(), 0
	part := textOf(text)
	began := len(text) > 0
	o.item.Status, o.item.Content = "completed", []textPart{part}
	o.head.Output = append(o.head.Output, o.item)
	if o.stream == nil || !began {
		return nil
	}
	return o.send(
		frame{
			Type: "response.output_text.done", Output: &at, Content: &at, ItemID: o.item.ID, Text: &text,
			Logprobs: []struct{}{},
		},
		frame{Type: "response.content_part.done", Output: &at, Content: &at, ItemID: o.item.ID, Part: &part},
		frame{Type: "response.output_item.done", Output: &at, Item: o.item},
	)
}

// whole writes an item that has no pieces.
func (o *writer) whole(item any) error {
	at := len(o.head.Output)
	o.head.Output = append(o.head.Output, item)
	if o.stream == nil {
		return nil
	}
	return o.send(
		frame{Type: "response.output_item.added", Output: &at, Item: item},
		frame{Type: "response.output_item.done", Output: &at, Item: item},
	)
}

// call writes a call for the client.
func (o *writer) call(c callItem) error {
	at := len(o.head.Output)
	o.head.Output = append(o.head.Output, c)
	if o.stream == nil {
		return nil
	}
	begun, text := c, *c.said()
	var nothing string
	*begun.said(), begun.Status = &nothing, inProgress
	kind, ended := "response.function_call_arguments", frame{Output: &at, ItemID: c.ID, Name: c.Name, Arguments: text}
	if c.Type == "custom_tool_call" {
		kind, ended = "response.custom_tool_call_input", frame{Output: &at, ItemID: c.ID, Input: text}
	}
	ended.Type = kind + ".done"
	return o.send(
		frame{Type: "response.output_item.added", Output: &at, Item: begun},
		frame{Type: kind + ".delta", Output: &at, ItemID: c.ID, Delta: text},
		ended,
		frame{Type: "response.output_item.done", Output: &at, Item: c},
	)
}

// Fail implements [wire.Writer]: it reports that a turn failed: with a status as long as nothing was sent, else with an event.
func (o *writer) Fail(err error) {
	o.close()
	if o.stream == nil || !o.stream.Begun() {
		wire.Fail(o.w, err)
		return
	}
	_, p := wire.ProblemFor(o.w, err)
	o.head.Status, o.head.Error = "failed", &failure{p.Error.Code, p.Error.Message}
	_ = o.send(frame{Type: "response.failed", Response: &o.head}) // the client may have gone
}
