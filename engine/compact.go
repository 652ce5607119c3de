package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Compact is the text of a message that summarizes the conversation instead of running a
// turn, on every channel.
const Compact = "/compact"

// ErrOpen says that a call of the conversation awaits approval.
var ErrOpen = errors.New("a call of this conversation awaits approval; answer it first")

// compact summarizes what is still sent of a session, and yields a reply that says so.
// The messages stay in the store.
func (r *running) compact(ctx context.Context, m Message, s session.Session, yield func(turn.Event, error) bool) bool {
	var done turn.Done
	switch {
	case m.History != nil:
		done.Reply = "The client keeps this conversation, so it cannot be summarized here."
	case s.Turn.ID != "":
		return r.refuse(ctx, ErrOpen, yield)
	default:
		m.Text, m.Files = "", nil
		state, left, usage := r.agent.runner.Compact(ctx, r.input(r.agent, m, s))
		if err := context.Cause(ctx); err != nil {
			return r.refuse(ctx, fmt.Errorf("summarizing the conversation: %w", err), yield)
		}
		done.Usage, done.Reply = usage, "There is nothing to summarize."
		if left > 0 {
			done.Reply = fmt.Sprintf("The conversation so far, %d messages, is now a summary of about %d tokens. The messages are kept.", left, chat.Tokens(state.Summary))
		}
		end := store.End{ID: r.item.ID, Result: resultOf(&done, nil), Deliver: r.deliver}
		if left > 0 {
			end.Session, end.State = s.Key, state
		}
		if err := r.write(ctx, end); err != nil {
			return r.refuse(ctx, fmt.Errorf("summarizing the conversation: %w", err), yield)
		}
	}
	return yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}
