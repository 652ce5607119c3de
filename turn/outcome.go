package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Outcome is the result of a call that went on after its turn.
type Outcome struct {
	Call   chat.Call
	Result chat.Result
	// System marks a message of etui itself, whose text is all of the note: the result of a
	// sub-agent.
	System bool `json:",omitempty"`
	// Waited says that people have decided about the call, which waited apart: the turn begins with it.
	Waited bool `json:",omitempty"`
}

// Storable returns the outcome with what its note needs, so that it can be written as
// JSON: the call by the name of the tool that it reaches.
func (o Outcome) Storable() *Outcome {
	o.Call.Name, o.Call.Arguments = reached(o.Call), nil
	o.Result.View = nil
	return &o
}

// LostOutcome returns the outcome of a call whose process ended.
func LostOutcome(a session.Await) Outcome {
	return Outcome{Call: chat.Call{ID: a.Call, Name: a.Tool}, Result: tool.Failure("the program that ran it ended; what it did is unknown")}
}

// maxOutcome is how many bytes of an outcome become part of the conversation.
const maxOutcome = 32 << 10

// Note returns the text that tells the model about the outcome.
func (o Outcome) Note() string {
	ended := "finished"
	if o.Result.Failed {
		ended = "failed"
	}
	if o.System {
		return cut.End(o.Result.Text, maxOutcome)
	}
	text := fmt.Sprintf("[%s, which was still running, has %s]\n%s", reached(o.Call), ended, o.Result.Text)
	if len(text) > maxOutcome {
		text = strings.ToValidUTF8(text[:maxOutcome], "") + "\n(cut)"
	}
	return text
}

// Apply is for a host that runs no turn for the outcome. It returns what to store: the
// new state of the session, and a message with the outcome. While a turn is open, a
// message would come between its calls and their results, so the state keeps the outcome
// until the turn ends. An outcome that the session does not await changes nothing.
func (o Outcome) Apply(s session.State, now time.Time) (session.State, []chat.Message) {
	if !s.Waits(o.Call.ID, session.Outcome) {
		return s, nil
	}
	s = s.Clone()
	for i := range s.Awaits {
		if a := &s.Awaits[i]; a.Call == o.Call.ID && a.For == session.Outcome {
			a.Note = o.Note()
		}
	}
	if s.Turn.ID != "" {
		return s, nil
	}
	return counted(tell(s, now))
}

// tell turns the outcomes that a state keeps into messages. The results of sub-agents have
// turns of their own.
func tell(s session.State, now time.Time) (session.State, []chat.Message) {
	var told []chat.Message
	var left []session.Await
	for _, a := range s.Awaits {
		if a.Note != "" {
			told = append(told, chat.Message{Role: chat.User, Note: a.Note, User: a.User, Time: now})
		} else {
			left = append(left, a)
		}
	}
	s.Awaits = left
	return s, told
}

// counted adds messages to the count of a state that has one.
func counted(s session.State, messages []chat.Message) (session.State, []chat.Message) {
	if s.Sent != 0 && len(messages) > 0 {
		s.Sent = max(s.Sent, 0) + len(messages)
	}
	return s, messages
}

func without(list []session.Await, call string) []session.Await {
	return slices.DeleteFunc(slices.Clone(list), func(a session.Await) bool { return a.Call == call })
}
