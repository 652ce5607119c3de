package turn

import (
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// ErrStopped is the cause with which a host cancels the context of a turn that a person
// stopped. The turn ends with a reply that says which calls ran.
var ErrStopped = session.ErrStopped

// notRun is the result of a call that a cancelled turn did not begin.
const notRun = "the turn was cancelled before this call was run"

// stopNote says that a turn was stopped, and what became of its calls: those after the
// newest message of the user, and so many before it.
func stopNote(lang string, messages []chat.Message, before int) string {
	var ran, unknown, left []string
	from := lastQuestion(messages) + 1
	for ; from > 0 && before > 0; from-- {
		before -= len(messages[from-1].Calls)
	}
	for _, m := range messages[from:] {
		for _, c := range m.Calls {
			i := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Result != nil && m.Result.CallID == c.ID })
			switch name := reached(c); {
			case i < 0 || messages[i].Result.Text == notRun:
				left = append(left, name)
			case messages[i].Result.Unknown:
				unknown = append(unknown, name)
			default:
				ran = append(ran, name)
			}
		}
	}
	text := phrase.In(lang, "stopped")
	for _, part := range []struct {
		says  string
		names []string
	}{{"; done before: %s", ran}, {"; interrupted, so that it is unknown what it did: %s", unknown}, {"; not begun: %s", left}} {
		if len(part.names) > 0 {
			text += phrase.In(lang, part.says, phrase.List(lang, part.names, len(part.names)))
		}
	}
	return phrase.In(lang, "(%s)", text)
}

// StopSubAgents takes the sub-agents from the state of a session. It returns them, and what
// to store beside the state, so that the model knows.
func StopSubAgents(s session.State, now time.Time) (state session.State, told []chat.Message, stopped []session.Await) {
	state = s.Clone()
	state.Awaits = nil
	for _, a := range s.Awaits {
		if a.For == session.SubAgent {
			stopped = append(stopped, a)
		} else {
			state.Awaits = append(state.Awaits, a)
		}
	}
	if len(stopped) == 0 {
		return s, nil, nil
	}
	text := fmt.Sprintf("[system: sub-agents that were stopped before they had a result: %d]", len(stopped))
	state, told = AddMessages(state, chat.Message{Role: chat.User, Note: text, User: stopped[0].User, Channel: identity.System, Time: now})
	return state, told, stopped
}

// AddMessages is for a host that adds messages to a session without a turn. It returns what to
// store. No turn may be open.
func AddMessages(s session.State, list ...chat.Message) (session.State, []chat.Message) {
	return counted(s, list)
}

// Halt is for a host that stops a turn that waits. It returns what to store: the state of
// the session, and the messages that end the turn, with a reply in a language that says what was done.
func Halt(s session.Session, c *catalog.Catalog, lang string, now time.Time) (state session.State, left []chat.Message, reply string) {
	reply = stopNote(lang, s.Messages, s.Turn.Calls)
	state, left = Close(s, c, "the user stopped it", now)
	state, end := counted(state, []chat.Message{{Role: chat.Assistant, Text: reply, Time: now}})
	return state, append(left, end...), reply
}
