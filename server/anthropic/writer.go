package anthropic

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// answer is Anthropic's message.
type answer struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []part  `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"` // null, too, where the provider does not say which it was
	Usage        usage   `json:"usage"`

	Etui *wire.Extension `json:"etui,omitempty"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

// part is a part of an answer, or what a stream adds to one. Type says which of the other fields it has.
type part struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Partial   *string         `json:"partial_json,omitempty"`
}

func usageOf(t model.Tokens) usage {
	return usage{
		Input: t.Input - t.CacheRead - t.CacheWrite, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Output: t.Output,
	}
}

// stopReason says why an answer ends, and the stop of the client that ended it, if one did.
func (o *writer) stopReason(done *turn.End) (why, sequence *string) {
	reason := "end_turn"
	switch {
	case len(done.Handed) > 0:
		reason = "tool_use"
	case done.Stop == model.Length:
		reason = "max_tokens"
	case done.Stop == model.Refused:
		reason = "refusal"
	case slices.Contains(o.stops, done.Ended):
		reason, sequence = "stop_sequence", &done.Ended
	}
	return &reason, sequence
}

// writer writes the events of a turn as Anthropic's clients expect them.
type writer struct {
	head   answer
	stops  []string        // of the client
	thinks bool            // the client reads thoughts
	open   bool            // the last part goes on
	text   strings.Builder // of the last part, or what it has thought
	gap    bool            // calls ran since the last text
	w      http.ResponseWriter
	stream *wire.Stream // nil when nothing is streamed
}

// frame is an event of a stream. Index is nil in those of no block.
type frame struct {
	Type    string  `json:"type"`
	Index   *int    `json:"index,omitempty"`
	Message *answer `json:"message,omitempty"`
	Block   *part   `json:"content_block,omitempty"`
	Delta   any     `json:"delta,omitempty"`
	Usage   *usage  `json:"usage,omitempty"`

	Etui *wire.Extension `json:"etui,omitempty"`
}

func (f frame) bytes() []byte {
	raw, _ := json.Marshal(f) // texts and numbers, and JSON
	return raw
}

func newWriter(w http.ResponseWriter, c request) *writer {
	out := &writer{
		w: w, head: answer{ID: "msg_" + rand.Text(), Type: "message", Role: "assistant", Model: c.Model,
			Content: []part{}},
		thinks: c.thinks(), stops: c.Stop,
	}
	if c.Stream {
		first := frame{Type: "message_start", Message: &out.head}
		ping := wire.Event("ping", frame{Type: "ping"}.bytes())
		out.stream = wire.NewStream(w, wire.Event(first.Type, first.bytes())+ping, ping)
	}
	return out
}

func (o *writer) close() {
	if o.stream != nil {
		o.stream.Close()
	}
}

func (o *writer) send(list ...frame) error {
	for _, f := range list {
		if err := o.stream.Event(f.Type, f.bytes()); err != nil {
			return err
		}
	}
	return nil
}

// Event implements [wire.Writer]: it writes an event of the turn.
func (o *writer) Event(e turn.Event) error {
	switch {
	case e.Call != nil:
		o.gap = slices.ContainsFunc(o.head.Content, func(p part) bool { return p.Text != nil })
	case e.Thought != nil && o.thinks:
		return o.think(e.Thought)
	case e.Text != "":
		return o.say(e.Text)
	case e.Done != nil:
		return o.end(e.Done)
	}
	return nil
}

// Extend implements [wire.Extender].
func (o *writer) Extend(x *wire.Extension) { o.head.Etui = x }

// begin begins a part, after the one before it.
func (o *writer) begin(p part) error {
	if err := o.endPart(); err != nil {
		return err
	}
	at := len(o.head.Content)
	o.open, o.head.Content = true, append(o.head.Content, p)
	if o.stream == nil {
		return nil
	}
	return o.send(frame{Type: "content_block_start", Index: &at, Block: &p})
}

// last returns the last part while it goes on, if it has a type; nil otherwise.
func (o *writer) last(kind string) *part {
	if n := len(o.head.Content); o.open && o.head.Content[n-1].Type == kind {
		return &o.head.Content[n-1]
	}
	return nil
}

// add adds to the last part.
func (o *writer) add(delta part) error {
	at := len(o.head.Content) - 1
	if o.stream == nil {
		return nil
	}
	return o.send(frame{Type: "content_block_delta", Index: &at, Delta: delta})
}

// endPart ends the last part, if it goes on.
func (o *writer) endPart() error {
	if !o.open {
		return nil
	}
	o.open = false
	at, text := len(o.head.Content)-1, o.text.String()
	o.text.Reset()
	switch p := &o.head.Content[at]; p.Type {
	case "text":
		p.Text = &text
	case "thinking":
		p.Thinking = &text
	}
	if o.stream == nil {
		return nil
	}
	return o.send(frame{Type: "content_block_stop", Index: &at})
}

func (o *writer) say(text string) error {
	if o.last("text") == nil {
		if err := o.begin(part{Type: "text", Text: new(string)}); err != nil {
			return err
		}
	}
	if o.gap {
		o.gap, text = false, "\n\n"+text
	}
	o.text.WriteString(text)
	return o.add(part{Type: "text_delta", Text: &text})
}

// think writes a piece of what the model thinks, which is in the words of the API.
func (o *writer) think(raw json.RawMessage) error {
	var piece part
	if json.Unmarshal(raw, &piece) != nil {
		return nil //nolint:nilerr // it is of another API
	}
	switch {
	case piece.Type == "redacted_thinking":
		return o.begin(piece)
	case piece.Type != "thinking":
		return nil
	case o.last("thinking") == nil:
		if err := o.begin(part{Type: "thinking", Thinking: new(string), Signature: new(string)}); err != nil {
			return err
		}
	}
	if piece.Thinking != nil {
		o.text.WriteString(*piece.Thinking)
		return o.add(part{Type: "thinking_delta", Thinking: piece.Thinking})
	}
	if piece.Signature == nil {
		piece.Signature = new(string)
	}
	o.last("thinking").Signature = piece.Signature
	if err := o.add(part{Type: "signature_delta", Signature: piece.Signature}); err != nil {
		return err
	}
	return o.endPart()
}

// end ends the answer: with the calls for the client, why it ends, and the tokens.
func (o *writer) end(done *turn.End) error {
	if len(done.Handed) == 0 && o.stream == nil && len(o.head.Content) == 0 {
		o.head.Content = append(o.head.Content, part{Type: "text", Text: new(string)})
	}
	for _, p := range callsOf(done) {
		input := string(p.Input)
		p.Input = json.RawMessage("{}")
		if err := o.begin(p); err != nil {
			return err
		}
		o.head.Content[len(o.head.Content)-1].Input = json.RawMessage(input)
		if err := o.add(part{Type: "input_json_delta", Partial: &input}); err != nil {
			return err
		}
	}
	if err := o.endPart(); err != nil {
		return err
	}
	o.head.StopReason, o.head.StopSequence = o.stopReason(done)
	o.head.Usage = usageOf(done.Usage)
	if o.stream == nil {
		wire.Reply(o.w, http.StatusOK, o.head)
		return nil
	}
	return o.send(frame{Type: "message_delta", Usage: &o.head.Usage, Etui: o.head.Etui, Delta: struct {
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}{o.head.StopReason, o.head.StopSequence}}, frame{Type: "message_stop"})
}

// callsOf returns the calls that a turn hands to the client. Their input is an object: arguments
// that the model wrote badly are empty.
func callsOf(done *turn.End) (list []part) {
	for _, c := range done.Handed {
		b := part{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Arguments}
		var object map[string]json.RawMessage
		if json.Unmarshal(b.Input, &object) != nil || object == nil {
			b.Input = json.RawMessage("{}")
		}
		list = append(list, b)
	}
	return list
}

// Fail implements [wire.Writer]: it reports that a turn failed: with a status as long as nothing was sent, else with an event.
func (o *writer) Fail(err error) {
	o.close()
	if o.stream == nil || !o.stream.Begun() {
		wire.Fail(o.w, err)
		return
	}
	status, p := wire.ProblemFor(o.w, err)
	raw, _ := json.Marshal(Problem(status, p)) // texts
	_ = o.stream.Event("error", raw)           // the client may have gone
}
