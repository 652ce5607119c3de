package prompt

import (
	"math"
	"slices"

	"github.com/etui-run/etui/chat"
)

// maxSent is how many messages are sent. If there are more, half of them are left out
// at once.
const maxSent = 2000

// BytesPerToken turns a limit in tokens into one in bytes, so that a history need not
// be read to be measured. English has about four, Chinese and code about three.
const BytesPerToken = 3

// pictureTokens is what a picture counts: about what providers count for a large one.
const pictureTokens = 1600

// A PDF counts a token for so many of its bytes, at least as a picture and at most
// maxPDFTokens: its pages are not counted.
const (
	pdfBytesPerToken = 30
	maxPDFTokens     = 50_000
)

func fileTokens(f chat.File) int {
	if f.MediaType != chat.PDF {
		return pictureTokens
	}
	return min(max(f.Size/pdfBytesPerToken, pictureTokens), maxPDFTokens)
}

// Cut bounds how much of a conversation is sent, beside [Config.HistoryTokens].
type Cut struct {
	// Next is how many bytes follow the history: those of the question and a summary.
	Next int
	// Room is how many bytes the history and Next may have together; 0 means unknown.
	// HistoryTokens says what is usually sent, Room what the model can read at most.
	Room int
	// Count is how many messages are sent; 0 means 2,000.
	Count int
}

// Begin returns where the sent part of a conversation begins: at a message of the user,
// so that calls keep their results, or at the end. A conversation that outgrows a limit
// is cut to half of it, so that the beginning stays the same for many turns. The place
// depends on the messages alone: when the conversation goes on, it begins where it began
// before, until it outgrows the limit again. The last turn is sent if Room allows it. One
// that was refused is not sent, and counts for nothing.
func (b *Builder) Begin(history []chat.Message, c Cut) int {
	room, count := c.Room, c.Count
	if room <= 0 {
		room = math.MaxInt
	}
	if count == 0 {
		count = maxSent
	}
	limit := min(b.config.HistoryTokens*BytesPerToken, room)
	first, bytes := question(history, 0), 0 // of the turns that are sent
	for i := first; ; {
		now := turnAt(history, i, c.Next)
		fits := func(limit, count int) bool {
			return bytes+now.asked <= limit && now.begin-first < count
		}
		if !fits(limit, count) {
			for first < i && !fits(limit/2, count/2) {
				oldest := turnAt(history, first, 0)
				if oldest.bytes == bytes && fits(room, count) { // it is the last turn that is sent
					break
				}
				bytes -= oldest.bytes
				first = oldest.end
			}
		}
		if i == len(history) {
			return first
		}
		bytes += now.bytes
		i = now.end
	}
}

// span is a turn in a history. Asked are the bytes of its question, bytes those of the
// whole turn. A turn that is not sent has none.
type span struct{ begin, end, asked, bytes int }

// turnAt returns the turn that begins at i. At the end of the history it is the one that
// comes next, whose question has next bytes.
func turnAt(history []chat.Message, i, next int) span {
	if i == len(history) {
		return span{i, i, next, next}
	}
	s := span{begin: i, end: question(history, i+1)}
	if history[s.end-1].Refused {
		return s
	}
	s.asked = size(&history[i])
	for ; i < s.end; i++ {
		s.bytes += size(&history[i])
	}
	return s
}

// question returns the place of the first message of the user from i on, or the end.
func question(history []chat.Message, i int) int {
	for i < len(history) && history[i].Role != chat.User {
		i++
	}
	return i
}

// Live returns messages without the turns that the model's provider refused: they would
// be refused again. Of a refused turn that made calls, the last message is left, which
// tells of them.
func Live(messages []chat.Message) []chat.Message {
	if !slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Refused }) {
		return messages
	}
	var live []chat.Message
	for i := question(messages, 0); i < len(messages); {
		end := turnAt(messages, i, 0).end
		switch last := messages[end-1]; {
		case !last.Refused:
			live = append(live, messages[i:end]...)
		case slices.ContainsFunc(messages[i:end], func(m chat.Message) bool { return m.Result != nil }):
			live = append(live, chat.Message{Role: chat.User, Note: "[This message could not be read.]"}, last)
		}
		i = end
	}
	return live
}

// History returns the part of a conversation that is sent, as a new slice with room for
// those of a short turn. It begins with a user's message and answers every call: an
// interrupted call gets a result that says so. It omits what is meant for operators
// only, and turns that the provider refused.
func (b *Builder) History(history []chat.Message) []chat.Message {
	history = Live(history[b.Begin(history, Cut{}):])
	kept := make([]chat.Message, 0, len(history)+3)
	if whole(history) {
		kept = append(kept, history...)
	} else {
		kept = settled(kept, history)
	}
	for i := range kept {
		kept[i].Why, kept[i].Spent = nil, nil
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
				CallID: call.ID, Name: call.Name, Failed: true,
				Text: "The call was interrupted; its outcome is not known.",
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

// Size returns about how many bytes of messages the model reads.
func Size(messages ...chat.Message) int {
	n := 0
	for i := range messages {
		n += size(&messages[i])
	}
	return n
}

func size(m *chat.Message) int {
	n := len(m.Text) + len(m.Note)
	if m.Role != chat.Tool { // the files of a result are for the user
		for _, f := range m.Files {
			n += fileTokens(f) * BytesPerToken
		}
	}
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	if m.Result != nil {
		n += len(m.Result.Text)
	}
	return n
}
