package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// news is an event as other processes learn it, a line of JSON. What is long comes with the
// conversation.
type news struct {
	Text     string         `json:"text,omitempty"`
	Call     *chat.Call     `json:"call,omitempty"`
	Await    *session.Await `json:"await,omitempty"`
	Progress *turn.Progress `json:"progress,omitempty"`
	Result   *chat.Result   `json:"result,omitempty"`
	Done     *turn.Done     `json:"done,omitempty"`

	Phase *turn.PhaseEvent `json:"phase,omitempty"`
}

// tell lets senders of the item at other processes see what happens.
func (j *job) tell(e turn.Event) {
	if j.engine.shared == nil || j.item.ID == 0 || e.Step != nil || e.Selection != nil {
		return
	}
	n := news{Text: e.Text, Call: e.Call, Await: e.Await, Progress: e.Progress, Result: e.Result, Phase: e.Phase, Done: e.Done}
	if n.Result != nil {
		short := *n.Result
		short.View = nil
		n.Result = &short
	}
	if line, err := json.Marshal(n); err == nil { // arguments may be no JSON: the client does without
		j.engine.shared.Tell(j.key, j.item.ID, append(line, '\n'))
	}
}

// follower hands the events of a message to its sender, whichever process they come from.
type follower struct {
	yield func(turn.Event, error) bool
	part  []byte     // of a line of news
	said  string     // of the reply, or before the last call
	had   string     // what was said when the answer began anew
	done  *turn.Done // of another process
	gone  bool       // the sender
}

// follow returns a follower that hands nothing over any more once its sender is gone.
func follow(yield func(turn.Event, error) bool) *follower {
	f := &follower{}
	f.yield = func(e turn.Event, err error) bool {
		f.gone = f.gone || !yield(e, err)
		return !f.gone
	}
	return f
}

// anew is for a process that begins the answer anew: what the sender has of it is not
// handed over again.
func (f *follower) anew() {
	if f.said != "" {
		f.had = f.said
	}
	f.said, f.part = "", nil
}

// hand hands an event over, from whichever process.
func (f *follower) hand(e turn.Event, err error) bool {
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
			return !f.gone
		default:
			e.Text = "\n\n" + f.said // it is another answer
		}
		if f.had = ""; e.Text == "" {
			return !f.gone
		}
	}
	return f.yield(e, err)
}

// resumed hands over what happens in the message's own turn, which another process began.
// How it ends comes from the inbox. The turn goes on when the sender is gone.
func (f *follower) resumed(e turn.Event, err error) bool {
	if err == nil && e.Done == nil && e.Selection == nil && e.Step == nil {
		f.hand(e, nil)
	}
	return true
}

// news hands over what another process has told.
func (f *follower) news(told []byte) {
	f.part = append(f.part, told...)
	for {
		line, rest, whole := strings.Cut(string(f.part), "\n")
		if !whole || f.gone {
			return
		}
		f.part = []byte(rest)
		var n news
		if json.Unmarshal([]byte(line), &n) != nil {
			continue
		}
		if n.Done != nil {
			f.done = n.Done // it is handed over once it is stored
			continue
		}
		f.hand(turn.Event{Text: n.Text, Call: n.Call, Await: n.Await, Progress: n.Progress, Result: n.Result, Phase: n.Phase}, nil)
	}
}

// unsaid hands over an event of [repeat] without the part of the reply that the sender has.
func (f *follower) unsaid(e turn.Event, err error) bool {
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
	return f.yield(e, err)
}

// errElsewhere is for a sender without a key, after whose message is answered nothing is
// kept of it but the conversation.
var errElsewhere = errors.New("another etui has answered the message; the conversation shows the answer")

// elsewhere hands over how a message ended that another process has answered.
func (j *job) elsewhere(ctx context.Context, f *follower) bool {
	if f.gone {
		return false
	}
	now, err := j.engine.box.Item(context.WithoutCancel(ctx), j.item.ID)
	switch given := j.engine.box.Answers.Of(j.item.ID); {
	case given != nil:
		return repeat(store.Item{State: store.Done, Result: given}, f.unsaid)
	case err == nil:
		return repeat(now, f.unsaid)
	case errors.Is(err, store.ErrEnded) && f.done != nil:
		return (f.done.Reply == "" || f.unsaid(turn.Event{Text: f.done.Reply}, nil)) && f.yield(turn.Event{Done: f.done}, nil)
	case errors.Is(err, store.ErrEnded):
		return f.yield(turn.Event{}, errElsewhere) && false
	default:
		return f.yield(turn.Event{}, fmt.Errorf("%w: %w", ErrStore, err)) && false
	}
}
