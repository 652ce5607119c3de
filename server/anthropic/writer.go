package anthropic

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// answer is Anthropic's message.
type answer struct {
	ID         string  `json:"id"`
	Type       string  `json:"type"`
	Role       string  `json:"role"`
	Model      string  `json:"model"`
	Content    []any   `json:"content"`
	StopReason *string `json:"stop_reason"`
	// StopSequence is always null: which one ended the answer is not known.
	StopSequence *string `json:"stop_sequence"`
	Usage        usage   `json:"usage"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type callBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func usageOf(t model.Tokens) usage {
	return usage{
		Input: t.Input - t.CacheRead - t.CacheWrite, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Output: t.Output,
	}
}

func stopReason(done *turn.Done) *string {
	reason := "end_turn"
	switch {
	case len(done.Handed) > 0:
		reason = "tool_use"
	case done.Stop == model.Length:
		reason = "max_tokens"
	case done.Stop == model.Refused:
		reason = "refusal"
	}
	return &reason
}

// writer writes the events of a turn as Anthropic's clients expect them.
type writer struct {
	head   answer
	text   strings.Builder
	gap    bool // calls ran since the last text
	w      http.ResponseWriter
	stream *wire.Stream // nil when nothing is streamed
}

// frame is an event of a stream. Index is nil in those of no block.
type frame struct {
	Type    string  `json:"type"`
	Index   *int    `json:"index,omitempty"`
	Message *answer `json:"message,omitempty"`
	Block   any     `json:"content_block,omitempty"`
	Delta   any     `json:"delta,omitempty"`
	Usage   *usage  `json:"usage,omitempty"`
}

func (f frame) bytes() []byte {
	raw, _ := json.Marshal(f) // texts and numbers, and JSON
	return raw
}

func newWriter(w http.ResponseWriter, c request) *writer {
	out := &writer{w: w, head: answer{ID: "msg_" + rand.Text(), Type: "message", Role: "assistant", Model: c.Model, Content: []any{}}}
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
		o.gap = o.text.Len() > 0
	case e.Text != "":
		return o.say(e.Text)
	case e.Done != nil && o.stream != nil:
		return o.end(e.Done)
	case e.Done != nil:
		if o.text.Len() > 0 || len(e.Done.Handed) == 0 {
			o.head.Content = append(o.head.Content, textBlock{"text", o.text.String()})
		}
		for _, b := range callsOf(e.Done) {
			o.head.Content = append(o.head.Content, b)
		}
		o.head.StopReason, o.head.Usage = stopReason(e.Done), usageOf(e.Done.Usage)
		wire.Reply(o.w, http.StatusOK, o.head)
	}
	return nil
}

func (o *writer) say(text string) error {
	first := o.text.Len() == 0
	if o.gap {
		o.gap, text = false, "\n\n"+text
	}
	o.text.WriteString(text)
	if o.stream == nil {
		return nil
	}
	at := 0
	if first {
		if err := o.send(frame{Type: "content_block_start", Index: &at, Block: textBlock{Type: "text"}}); err != nil {
			return err
		}
	}
	return o.send(frame{Type: "content_block_delta", Index: &at, Delta: textBlock{"text_delta", text}})
}

// end ends a stream: the text, the calls for the client, why it ends, and the tokens.
func (o *writer) end(done *turn.Done) error {
	at := 0
	if o.text.Len() > 0 {
		if err := o.send(frame{Type: "content_block_stop", Index: &at}); err != nil {
			return err
		}
		at++
	}
	for _, b := range callsOf(done) {
		input := string(b.Input)
		b.Input = json.RawMessage("{}")
		err := o.send(
			frame{Type: "content_block_start", Index: &at, Block: b},
			frame{Type: "content_block_delta", Index: &at, Delta: struct {
				Type    string `json:"type"`
				Partial string `json:"partial_json"`
			}{"input_json_delta", input}},
			frame{Type: "content_block_stop", Index: &at},
		)
		if err != nil {
			return err
		}
		at++
	}
	used := usageOf(done.Usage)
	return o.send(frame{Type: "message_delta", Usage: &used, Delta: struct {
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}{stopReason(done), nil}}, frame{Type: "message_stop"})
}

// callsOf returns the calls that a turn hands to the client. Their input is an object: arguments
// that the model wrote badly are empty.
func callsOf(done *turn.Done) (list []callBlock) {
	for _, c := range done.Handed {
		b := callBlock{"tool_use", c.ID, c.Name, c.Arguments}
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
