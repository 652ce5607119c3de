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

// read adds an event to an answer and returns its text. The API may add kinds of events and
// blocks, so a field of another type than expected is passed over, and so are blocks other
// than text and calls, such as thinking.
func read(a *endpoint.Answer, said endpoint.Event) (string, error) {
	var e event
	err := json.Unmarshal(said.Data, &e)
	if said.Name == "error" || e.Type == "error" {
		return "", refusal(http.StatusOK, said.Data)
	}
	if other := (*json.UnmarshalTypeError)(nil); err != nil && !errors.As(err, &other) {
		return "", fmt.Errorf("the server sent something that is not a piece of an answer: %s", said.Data)
	}
	if a.Usage == nil {
		a.Usage = &model.Tokens{}
	}
	switch e.Type {
	case "message_start":
		a.Begun = true
		count(a.Usage, e.Message.Usage)
	case "content_block_start":
		switch block := e.ContentBlock; block.Type {
		case "tool_use":
			a.Calls = append(a.Calls, &endpoint.Call{Call: chat.Call{ID: block.ID, Name: block.Name}, Index: e.Index})
		case "text":
			return block.Text, nil
		}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return e.Delta.Text, nil
		case "input_json_delta":
			for _, c := range a.Calls {
				if c.Index == e.Index {
					c.Arguments = append(c.Arguments, e.Delta.PartialJSON...)
				}
			}
		}
	case "message_delta":
		a.Stop = stops[e.Delta.StopReason]
		count(a.Usage, e.Usage)
	case "message_stop":
		return "", io.EOF
	}
	return "", nil
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
