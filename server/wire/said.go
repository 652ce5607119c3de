package wire

import (
	"encoding/json"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/phrase"
)

// Arguments returns the arguments of a call as a client writes them back, as JSON.
func Arguments(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // never fails for a string
	return quoted
}

// Complete completes a message with the conversation that a client sends, of which the last message is
// the question. If etui keeps the conversation, only what comes after its last answer is new.
func Complete(m *engine.Message, history []chat.Message) error {
	if len(history) == 0 {
		return phrase.Errorf("%w: there is no message of the user", engine.ErrInvalid)
	}
	if last := history[len(history)-1]; last.Role == chat.User {
		m.Text, m.Files, history = last.Text, last.Files, history[:len(history)-1]
	}
	if m.Session == "" {
		m.History = history
		return nil
	}
	from := len(history)
	for from > 0 && history[from-1].Role == chat.Tool {
		from--
	}
	for _, said := range history[from:] {
		m.Results = append(m.Results, *said.Result)
	}
	if m.Text == "" && len(m.Files) == 0 && len(m.Results) == 0 {
		return phrase.Errorf("%w: the last message must be the user's, or the result of a call", engine.ErrInvalid)
	}
	return nil
}
