package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/sse"
	"github.com/etui-run/etui/model"
)

// answer assembles the events of an answer. It ignores blocks other than text and
// calls, such as thinking.
type answer struct {
	names  model.Names
	calls  []*partial
	usage  model.Tokens
	fresh  int // input tokens outside the cache
	reason string
	begun  bool
	ended  bool
}

// partial is a call that is being assembled.
type partial struct {
	chat.Call
	index int
}

// read reads a body to the end of the answer and yields the text as it arrives. A body
// that ends or fails before the answer does is an error.
func (a *answer) read(body io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for said, err := range sse.Events(body) {
			var text string
			if err == nil {
				text, err = a.take(said)
			}
			if err != nil {
				yield("", err)
				return
			}
			if text != "" && !yield(text, nil) || a.ended {
				return
			}
		}
		if !a.begun {
			yield("", errors.New("the server sent an empty answer, or one of another protocol"))
			return
		}
		yield("", io.ErrUnexpectedEOF)
	}
}

// take adds an event and returns its text. The API may add kinds of events and blocks,
// so a field of another type than expected is passed over.
func (a *answer) take(said sse.Event) (string, error) {
	var e event
	err := json.Unmarshal(said.Data, &e)
	if said.Name == "error" || e.Type == "error" {
		return "", &refusal{status: http.StatusOK, body: said.Data}
	}
	if other := (*json.UnmarshalTypeError)(nil); err != nil && !errors.As(err, &other) {
		return "", fmt.Errorf("the server sent something that is not a piece of an answer: %s", said.Data)
	}
	return a.add(e), nil
}

// add adds an event and returns its text.
func (a *answer) add(e event) string {
	switch e.Type {
	case "message_start":
		a.begun = true
		a.count(e.Message.Usage)
	case "content_block_start":
		switch e.ContentBlock.Type {
		case "tool_use":
			a.calls = append(a.calls, &partial{chat.Call{ID: e.ContentBlock.ID, Name: a.names.Own(e.ContentBlock.Name)}, e.Index})
		case "text":
			return e.ContentBlock.Text
		}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return e.Delta.Text
		case "input_json_delta":
			for _, c := range a.calls {
				if c.index == e.Index {
					c.Arguments = append(c.Arguments, e.Delta.PartialJSON...)
				}
			}
		}
	case "message_delta":
		a.reason = e.Delta.StopReason
		a.count(e.Usage)
	case "message_stop":
		a.ended = true
	}
	return ""
}

// count records the provider's counts. The counts of an answer only grow, and an event
// may leave some out. The API counts cached tokens separately; we include them in the
// input.
func (a *answer) count(u usage) {
	a.fresh = max(a.fresh, u.InputTokens)
	a.usage.CacheRead = max(a.usage.CacheRead, u.CacheReadInputTokens)
	a.usage.CacheWrite = max(a.usage.CacheWrite, u.CacheCreationInputTokens)
	a.usage.Input = a.fresh + a.usage.CacheRead + a.usage.CacheWrite
	a.usage.Output = max(a.usage.Output, u.OutputTokens)
}

// wholeCalls returns the calls. If the answer hit its token limit, the last call may
// be incomplete: without complete arguments it is dropped, because repairing them
// would be guessing. A refused answer has no calls.
func (a *answer) wholeCalls() []*chat.Call {
	var out []*chat.Call
	for i, c := range a.calls {
		cut := a.stop() == model.Length && i == len(a.calls)-1 && !json.Valid(c.Arguments)
		if !cut && a.stop() != model.Refused {
			out = append(out, &c.Call)
		}
	}
	return out
}

func (a *answer) stop() model.Stop {
	switch a.reason {
	case "max_tokens", "model_context_window_exceeded":
		return model.Length
	case "refusal":
		return model.Refused
	}
	if len(a.calls) > 0 {
		return model.ToolCalls
	}
	return model.Done
}
