package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/engine/internal/follow"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// tell lets senders of the item at other processes see what happens.
func (r *turnRun) tell(e turn.Event) {
	j := r.job
	if j.engine.shared == nil || j.item.ID == 0 {
		return
	}
	if line := follow.Line(e); line != nil {
		j.engine.shared.Tell(j.key, j.item.ID, line)
	}
}

// errElsewhere is for a sender without a key, after whose message is answered nothing is
// kept of it but the conversation.
var errElsewhere = errors.New("another etui has answered the message; the conversation shows the answer")

// elsewhere hands over how a message ended that another process has answered.
func (j *job) elsewhere(ctx context.Context, f *follow.Follower) bool {
	if f.Gone {
		return false
	}
	now, err := j.engine.box.Item(context.WithoutCancel(ctx), j.item.ID)
	switch given := j.engine.box.Answers.Of(j.item.ID); {
	case given != nil:
		return message.Repeat(store.Item{State: store.Done, Result: given}, f.HandRest)
	case err == nil:
		return message.Repeat(now, f.HandRest)
	case errors.Is(err, store.ErrEnded) && f.Done != nil:
		return (f.Done.Reply == "" || f.HandRest(turn.Event{Text: f.Done.Reply}, nil)) &&
			f.Yield(turn.Event{Done: f.Done}, nil)
	case errors.Is(err, store.ErrEnded):
		return f.Yield(turn.Event{}, errElsewhere) && false
	default:
		return f.Yield(turn.Event{}, fmt.Errorf("%w: %w", ErrStore, err)) && false
	}
}
