package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// accept puts a message into the mailbox of its session. It reports whether the message
// is new: with an idempotency key it may be there already.
func (e *Engine) accept(ctx context.Context, key session.Key, m message.Mail) (store.Item, bool, error) {
	i := store.Item{Session: key, User: e.people.Sender(m.Caller()).Record(), Holder: e.holder, Priority: m.Priority()}
	if m.IdempotencyKey != "" {
		i.Key, i.Digest = message.Hash([]string{m.Client, m.Channel, m.Account, m.Chat, m.Session, i.User, m.IdempotencyKey}), m.Digest()
	}
	if m.Joins() {
		i.Key, i.Digest = e.passing(m), m.Digest()
	}
	if m.Trace == "" && e.config.Tracer != nil { // the turn of another message sends it
		m.Trace = span.Parent(ctx)
	}
	rec := m
	rec.Wait, rec.IdempotencyKey = false, ""
	var err error
	if i.Message, err = json.Marshal(rec); err != nil {
		return i, false, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	digest := i.Digest
	i, fresh, err := e.config.Store.Accept(ctx, i)
	switch {
	case err != nil && ctx.Err() == nil:
		return i, false, fmt.Errorf("%w, so the message was not accepted: %w", ErrStore, err)
	case err == nil && i.Digest != digest:
		return i, false, fmt.Errorf("%w: send this one with a key of its own", message.ErrKeyReused)
	}
	return i, fresh, err
}

// passing is the key of a message that others may join: those of the same client, sender and
// session. Each guest has a session of their own.
func (e *Engine) passing(m message.Mail) string {
	return store.Passing + message.Hash([]string{m.Client, string(m.To), e.people.Sender(m.Caller()).Record(), m.Digest()})
}

// tellParked tells the sender of a message that it is about to be parked, on the channel that
// it came from. It is told once, whatever ends the process in between. An error means that the
// store failed.
func (e *Engine) tellParked(ctx context.Context, i store.Item) error {
	var posted error
	if _, m, err := e.agents.Read(i); err == nil && len(m.Reply) > 0 && m.Outcome == nil {
		text := fmt.Sprintf("This message could not be answered, again and again, and was set aside: “%s”. An operator can have it tried again.", printable.Line(m.Text, 100))
		posted = e.Post(ctx, i.Session, m.Reply, text, fmt.Sprintf("parked-%d-%d", i.ID, i.Tries))
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
