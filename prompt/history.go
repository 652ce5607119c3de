package prompt

import (
	"slices"

	"github.com/etui-run/etui/chat"
)

// maxSent is how many messages are sent. If there are more, half of them are dropped at
// once.
const maxSent = 2000

// bytesPerToken turns a limit in tokens into one in bytes, so that a history
// need not be read to be measured. English has about four, Chinese about three.
const bytesPerToken = 3

// History returns the part of a conversation that is sent, as a new slice with room for
// one more message. It begins with a user's message and answers every call: an
// interrupted call gets a result that says so. It omits what is meant for operators
// only.
func (b *Builder) History(history []chat.Message) []chat.Message {
	history = history[b.cut(history):]
	kept := make([]chat.Message, 0, len(history)+1)
	if whole(history) {
		kept = append(kept, history...)
	} else {
		kept = settled(kept, history)
	}
	for i := range kept {
		kept[i].Why = nil
	}
	return kept
}

// settled appends a history to kept so that every call is answered right after
// it.
func settled(kept, history []chat.Message) []chat.Message {
	var open []chat.Call
	settle := func() {
		for _, call := range open {
			kept = append(kept, chat.Message{Role: chat.Tool, Result: &chat.Result{
				CallID: call.ID, Name: call.Name, Failed: true, Text: "The call was interrupted; its outcome is not known.",
			}})
		}
		open = nil
	}
	for _, m := range history {
		if m.Role == chat.Tool {
			i := slices.IndexFunc(open, func(c chat.Call) bool { return m.Result != nil && c.ID == m.Result.CallID })
			if i < 0 {
				continue // an answer to nothing
			}
			open = slices.Delete(open, i, i+1)
		} else {
			settle()
			open = slices.Clone(m.Calls)
		}
		kept = append(kept, m)
	}
	settle()
	return kept
}

// whole reports whether every call is answered, in order, right after it.
func whole(history []chat.Message) bool {
	var open []chat.Call
	for i := range history {
		m := &history[i]
		switch {
		case m.Role == chat.Tool && (len(open) == 0 || m.Result == nil || m.Result.CallID != open[0].ID):
			return false
		case m.Role == chat.Tool:
			open = open[1:]
		case len(open) > 0:
			return false
		default:
			open = m.Calls
		}
	}
	return len(open) == 0
}

// cut returns where the sent part of a conversation begins. It moves in steps of half
// the limit, so that it stays the same for many turns.
func (b *Builder) cut(history []chat.Message) int {
	limit := b.config.HistoryTokens * bytesPerToken
	total := 0
	for i := range history {
		total += size(&history[i])
	}
	over, step := total-limit, max(limit/2, 1)
	start, before := 0, 0
	if over > 0 {
		target := (over + step - 1) / step * step
		for start < len(history) && before < target {
			before += size(&history[start])
			start++
		}
	}
	if len(history)-start > maxSent {
		start = len(history) - maxSent/2
	}
	for start < len(history) && history[start].Role != chat.User {
		start++
	}
	if start == len(history) {
		// A single turn that exceeds the limit is sent anyway.
		for start > 0 && (start == len(history) || history[start].Role != chat.User) {
			start--
		}
	}
	return start
}

func size(m *chat.Message) int {
	n := len(m.Text) + len(m.Note)
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	if m.Result != nil {
		n += len(m.Result.Text)
	}
	return n
}

// Kept returns the stored messages that are sent.
func (b *Builder) Kept(history []chat.Message) []chat.Message { return history[b.cut(history):] }
