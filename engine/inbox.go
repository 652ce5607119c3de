package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// tellParked tells the sender of a message that it is about to be parked, on the channel that
// it came from. It is told once, whatever ends the process in between. An error means that the
// store failed.
func (e *Engine) tellParked(ctx context.Context, i store.Item) error {
	var posted error
	if _, m, err := e.agents.Read(i); err == nil && len(m.Reply) > 0 && m.Outcome == nil {
		text := fmt.Sprintf("This message could not be answered, again and again, and was set aside: “%s”. An operator can have it tried again.", printable.Line(m.Text, 100))
		posted = e.outbox.Post(ctx, i.Session, m.Reply, text, fmt.Sprintf("parked-%d-%d", i.ID, i.Tries))
	}
	if posted == nil || errors.Is(posted, ErrStore) {
		return posted
	}
	e.config.Log.ErrorContext(ctx, "the sender of a parked message was not told", "item", i.ID, "session", i.Session, "error", posted)
	return nil
}

// silent receives events for which nobody waits.
func silent(turn.Event, error) bool { return true }

// hears returns who receives the events of an item's turn.
type hears func(item int64) func(turn.Event, error) bool

func nobody(int64) func(turn.Event, error) bool { return silent }
