package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// stops maps the reasons for which an answer ends early.
var stops = map[string]model.Stop{
	"max_tokens": model.Length, "model_context_window_exceeded": model.Length, "refusal": model.Refused,
}

// reader reads the answers to a request.
type reader struct {
	open *block // the thinking that is being read; nil outside of one
}

// read adds an event to an answer and returns its text. The API may add kinds of events and
// blocks, so a field of another type than expected is passed over, and so are other blocks
// than text, calls, and thinking, which goes back with the calls that follow from it.
func (r *reader) read(a *endpoint.Answer, said endpoint.Event) (string, error) {
	var e event
	err := json.Unmarshal(said.Data, &e)
	switch other := (*json.UnmarshalTypeError)(nil); {
	case a.Complete && (said.Name == "error" || e.Type == "error"): // nothing is missing
		return "", io.EOF
	case said.Name == "error" || e.Type == "error":
		return "", refusal(http.StatusOK, said.Data)
	case err != nil && !errors.As(err, &other):
		if !a.Begun && a.Odd == nil {
			a.Odd = fmt.Errorf("the server sent something that is not a piece of an answer: %s", said.Data)
		}
		return "", nil
	}
	if a.Usage == nil {
		a.Usage = &model.Tokens{}
	}
	switch e.Type {
	case "message_start":
		a.Begun, r.open = true, nil
		count(a.Usage, e.Message.Usage)
	case "message": // whole, from a server that does not stream
		a.Begun = true
		text := ""
		for i, c := range e.Content {
			text += r.begin(a, c, i)
			r.end(a)
		}
		a.Stop, a.Ended = stops[e.StopReason], e.StopSequence
		count(a.Usage, e.Usage)
		a.Complete = true
		return text, nil
	case "content_block_start":
		return r.begin(a, e.ContentBlock, e.Index), nil
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return e.Delta.Text, nil
		case "thinking_delta", "signature_delta":
			r.think(a, content{Type: "thinking", Thinking: e.Delta.Thinking, Signature: e.Delta.Signature})
		case "input_json_delta":
			for _, c := range a.Calls {
				if c.Index == e.Index {
					c.Add("", e.Delta.PartialJSON)
				}
			}
		}
	case "content_block_stop":
		r.end(a)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.Stop, a.Ended, a.Complete = stops[e.Delta.StopReason], e.Delta.StopSequence, true
		}
		count(a.Usage, e.Usage)
	case "message_stop":
		return "", io.EOF
	}
	return "", nil
}

// begin adds the beginning of a part, or a whole one, and returns its text.
func (r *reader) begin(a *endpoint.Answer, c content, index int) string {
	switch c.Type {
	case "tool_use":
		call := &endpoint.Call{Call: chat.Call{ID: c.ID, Name: c.Name}, Index: index}
		if input := string(c.Input); input != "{}" && input != "null" { // otherwise it follows in pieces
			call.Add("", input)
		}
		a.Calls = append(a.Calls, call)
	case "text":
		return c.Text
	case "thinking", "redacted_thinking":
		r.think(a, c)
	}
	return ""
}

// end keeps a thinking that has ended.
func (r *reader) end(a *endpoint.Answer) {
	if r.open == nil {
		return
	}
	if raw, err := json.Marshal(r.open); err == nil { // it is texts
		a.KeepEach("thinking", []json.RawMessage{raw})
	}
	pass(a, block{Type: r.open.Type, Signature: r.open.Signature, Data: r.open.Data})
	r.open = nil
}

// maxThought bounds one thinking, in bytes. Longer text is not kept in any case.
const maxThought = 1 << 20

// think adds a piece of a thinking.
func (r *reader) think(a *endpoint.Answer, c content) {
	if r.open == nil {
		r.open = &block{Type: c.Type, Data: c.Data}
		if c.Type == "thinking" {
			r.open.Thinking = new(string)
		}
	}
	if r.open.Thinking != nil && len(*r.open.Thinking)+len(c.Thinking) <= maxThought {
		*r.open.Thinking += c.Thinking
	}
	if r.open.Signature += c.Signature; c.Thinking != "" {
		pass(a, block{Type: c.Type, Thinking: &c.Thinking})
	}
}

// pass passes a piece of a thinking on to clients of the API. The last piece of one has its signature, or
// its data.
func pass(a *endpoint.Answer, piece block) {
	if raw, err := json.Marshal(piece); err == nil { // it is texts
		a.Thoughts = append(a.Thoughts, raw)
	}
}

// count records the provider's counts. The counts of an answer only grow, and an event
// may leave some out. The API counts cached tokens separately; we include them in the
// input.
func count(tokens *model.Tokens, u usage) {
	fresh := max(tokens.Input-tokens.CacheRead-tokens.CacheWrite, u.InputTokens)
	tokens.CacheRead = max(tokens.CacheRead, u.CacheReadInputTokens)
	tokens.CacheWrite = max(tokens.CacheWrite, u.CacheCreationInputTokens)
	tokens.Input = fresh + tokens.CacheRead + tokens.CacheWrite
	tokens.Output = max(tokens.Output, u.OutputTokens)
}
