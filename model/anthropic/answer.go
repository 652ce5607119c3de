package anthropic

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// answer assembles the events of an answer. It ignores blocks other than text and
// calls, such as thinking.
type answer struct {
	names  model.Names
	calls  []*partial
	usage  model.Tokens
	fresh  int // input tokens outside the cache
	reason anthropic.StopReason
	ended  bool
}

// partial is a call that is being assembled.
type partial struct {
	chat.Call
	index int64
}

// take adds an event and returns its text.
func (a *answer) take(e *anthropic.MessageStreamEventUnion) string {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
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
		u := e.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "message_stop":
		a.ended = true
	}
	return ""
}

// count records the provider's counts. The counts of an answer only grow, and an event
// may leave some out. The API counts cached tokens separately; we include them in the
// input.
func (a *answer) count(fresh, read, written, output int64) {
	a.fresh = max(a.fresh, int(fresh))
	a.usage.CacheRead = max(a.usage.CacheRead, int(read))
	a.usage.CacheWrite = max(a.usage.CacheWrite, int(written))
	a.usage.Input = a.fresh + a.usage.CacheRead + a.usage.CacheWrite
	a.usage.Output = max(a.usage.Output, int(output))
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
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return model.Length
	case anthropic.StopReasonRefusal:
		return model.Refused
	}
	if len(a.calls) > 0 {
		return model.ToolCalls
	}
	return model.Done
}
