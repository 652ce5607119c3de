// Package follow hands the events of a message to its sender, whichever process they come from.
package follow

import (
	"encoding/json"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// news is an event as other processes learn it, a line of JSON. Long text comes with the
// conversation.
type news struct {
	Text     string         `json:"text,omitempty"`
	Call     *chat.Call     `json:"call,omitempty"`
	Await    *session.Await `json:"await,omitempty"`
	Progress *turn.Progress `json:"progress,omitempty"`
	Result   *chat.Result   `json:"result,omitempty"`
	Done     *turn.End      `json:"done,omitempty"`

	Phase *turn.PhaseEvent `json:"phase,omitempty"`
}

// Line returns an event as other processes learn it, a line of JSON; nil if they do without.
func Line(e turn.Event) []byte {
	if e.Step != nil || e.Selection != nil || e.Thought != nil {
		return nil
	}
	n := news{
		Text: e.Text, Call: e.Call, Await: e.Await, Progress: e.Progress, Result: e.Result, Phase: e.Phase,
		Done: e.Done,
	}
	if n.Result != nil {
		short := *n.Result
		short.View = nil
		n.Result = &short
	}
	line, err := json.Marshal(n)
	if err != nil { // arguments may be no JSON
		return nil
	}
	return append(line, '\n')
}

// Follower hands the events of a message to its sender, whichever process they come from.
type Follower struct {
	// Yield hands an event over as it is.
	Yield func(turn.Event, error) bool
	// Done is how another process said that the message ended.
	Done *turn.End
	// Gone says that the sender has gone.
	Gone bool

	part []byte // of a line of news
	said string // of the reply, or before the last call
	had  string // what was said when the answer began anew
}

// New returns a follower that hands nothing over any more once its sender is gone.
func New(yield func(turn.Event, error) bool) *Follower {
	f := &Follower{}
	f.Yield = func(e turn.Event, err error) bool {
		f.Gone = f.Gone || !yield(e, err)
		return !f.Gone
	}
	return f
}

// Restart says that a process begins the answer anew: the part that the sender has is not handed
// over again.
func (f *Follower) Restart() {
	if f.said != "" {
		f.had = f.said
	}
	f.said, f.part = "", nil
}

// Hand hands an event over, from whichever process.
func (f *Follower) Hand(e turn.Event, err error) bool {
	if e.Call != nil || e.Result != nil {
		f.said, f.had = "", ""
	}
	f.said += e.Text
	if e.Text != "" && f.had != "" {
		rest, whole := strings.CutPrefix(f.said, f.had)
		switch {
		case whole:
			e.Text = rest
		case strings.HasPrefix(f.had, f.said):
			return !f.Gone
		default:
			e.Text = "\n\n" + f.said // it is another answer
		}
		if f.had = ""; e.Text == "" {
			return !f.Gone
		}
	}
	return f.Yield(e, err)
}

// HandOpen hands over what happens in the message's own turn, which another process began.
// How it ends comes from the inbox. The turn goes on when the sender is gone.
func (f *Follower) HandOpen(e turn.Event, err error) bool {
	if err == nil && e.Done == nil && e.Selection == nil && e.Step == nil {
		f.Hand(e, nil)
	}
	return true
}

// Read hands over what another process has told.
func (f *Follower) Read(told []byte) {
	f.part = append(f.part, told...)
	for {
		line, rest, whole := strings.Cut(string(f.part), "\n")
		if !whole || f.Gone {
			return
		}
		f.part = []byte(rest)
		var n news
		if json.Unmarshal([]byte(line), &n) != nil {
			continue
		}
		if n.Done != nil {
			f.Done = n.Done // it is handed over once it is stored
			continue
		}
		f.Hand(turn.Event{
			Text: n.Text, Call: n.Call, Await: n.Await, Progress: n.Progress, Result: n.Result, Phase: n.Phase,
		}, nil)
	}
}

// HandRest hands over how a message ended without the part of the reply that the sender has.
func (f *Follower) HandRest(e turn.Event, err error) bool {
	if f.had != "" {
		f.said, f.had = f.had, ""
	}
	if e.Text != "" && f.said != "" {
		if rest, ok := strings.CutPrefix(e.Text, f.said); ok {
			e.Text = rest
		} else {
			e.Text = "\n\n" + e.Text // another process began the answer anew
		}
		if e.Text == "" {
			return true
		}
	}
	return f.Yield(e, err)
}
