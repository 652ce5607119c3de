package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// InboxItem is a message of the inbox that has not ended, as operators see it.
type InboxItem struct {
	ID      int64       `json:"id"`
	Session session.Key `json:"session"`
	User    string      `json:"user,omitempty"`
	// Kind says what it is; empty if it cannot be read.
	Kind message.Kind `json:"kind,omitempty"`
	// State is waiting, also while its turn runs; parked, with the Reason; or answered while
	// the reply waits to be delivered, with why that failed.
	State  store.State `json:"state"`
	Reason string      `json:"reason,omitempty"`
	// Tries is how often it was taken up after its turn ended unexpectedly.
	Tries    int       `json:"tries,omitempty"`
	Accepted time.Time `json:"accepted"`
	// Text is what the user said; empty for answers to approvals, and for outcomes of
	// calls.
	Text string `json:"text,omitempty"`
}

var (
	// ErrNoItem says that no message of the inbox has an ID.
	ErrNoItem = errors.New("no such message in the inbox")
	// ErrNotParked says that a message waits for its turn, which comes by itself.
	ErrNotParked = errors.New("the message is not parked: its turn comes by itself")
)

// InboxItem returns a message of the inbox, or [ErrNoItem].
func (e *Engine) InboxItem(ctx context.Context, id int64) (InboxItem, error) {
	i, err := e.unended(ctx, id)
	return e.Shown(i), err
}

func (e *Engine) unended(ctx context.Context, id int64) (store.Item, error) {
	i, err := e.box.Item(ctx, id)
	if errors.Is(err, store.ErrEnded) || err == nil && i.State == store.Done {
		err = fmt.Errorf("%d: %w", id, ErrNoItem)
	}
	return i, err
}

// Shown returns an item of the inbox as operators see it.
func (e *Engine) Shown(i store.Item) InboxItem {
	s := InboxItem{ID: i.ID, Session: i.Session, User: i.User, State: i.State, Reason: i.Reason, Tries: i.Tries, Accepted: i.Accepted}
	if _, m, err := e.agents.Read(i); err == nil {
		s.Kind, s.Text = m.Kind, m.Text
	}
	return s
}

// RetryItem takes a parked message up again, in the background, as often as if it had never been
// tried. It returns [ErrNoItem] or [ErrNotParked] where that cannot be.
func (e *Engine) RetryItem(ctx context.Context, id int64) error {
	i, err := e.parked(ctx, id, false)
	if err != nil {
		return err
	}
	i.State, i.Reason, i.Holder = store.Waiting, "", e.holder
	if err := e.config.Store.Update(ctx, i); err != nil {
		return err
	}
	e.box.TakeUp(i)
	return nil
}

// DropItem ends a parked message without an answer; a client that repeats it learns that. A
// reply that waits to be delivered is given up.
// It returns [ErrNoItem] or [ErrNotParked] where that cannot be.
func (e *Engine) DropItem(ctx context.Context, id int64) error {
	i, err := e.parked(ctx, id, true)
	if err != nil {
		return err
	}
	if i.State == store.Answered {
		return e.Delivered(ctx, id)
	}
	return e.config.Store.Finish(ctx, store.End{ID: id, Result: message.Result(nil, fmt.Errorf("%w, and an operator dropped it", message.ErrParked))})
}

// parked returns an item that is parked or, if that may be, whose reply waits to be delivered.
func (e *Engine) parked(ctx context.Context, id int64, answered bool) (store.Item, error) {
	i, err := e.unended(ctx, id)
	if err == nil && i.State != store.Parked && (!answered || i.State != store.Answered) {
		err = fmt.Errorf("%d: %w", id, ErrNotParked)
	}
	return i, err
}
