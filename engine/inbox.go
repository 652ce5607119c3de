package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// accept puts a message into the mailbox of its session. It reports whether the message
// is new: with an idempotency key it may be there already.
func (e *Engine) accept(ctx context.Context, key session.Key, m mail) (store.Item, bool, error) {
	i := store.Item{Session: key, User: e.people.Sender(m.Caller()).Record(), Holder: e.holder, Priority: priority(m)}
	if m.IdempotencyKey != "" {
		i.Key, i.Digest = hashed([]string{m.Client, m.Channel, m.Account, m.Chat, m.Session, i.User, m.IdempotencyKey}), digest(m.Message)
	}
	if m.joins() {
		i.Key, i.Digest = e.passing(m), digest(m.Message)
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
		return i, false, fmt.Errorf("%w: send this one with a key of its own", ErrKeyReused)
	}
	return i, fresh, err
}

// passing is the key of a message that others may join: those of the same client, sender and
// session. Each guest has a session of their own.
func (e *Engine) passing(m mail) string {
	return store.Passing + hashed([]string{m.Client, string(m.To), e.people.Sender(m.Caller()).Record(), digest(m.Message)})
}

func priority(m mail) store.Priority {
	if m.Background || m.Behind {
		return store.Background
	}
	return store.People
}

// digest tells a message from another one with the same key.
func digest(m Message) string {
	m.Wait, m.IdempotencyKey, m.Files, m.Accepted = false, "", chat.WithoutData(m.Files), nil
	return hashed(m)
}

func hashed(value any) string {
	raw, _ := json.Marshal(value) // texts, numbers and lists of them
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// message returns the message of an item.
func (e *Engine) message(i store.Item) (*agent, mail, error) {
	m, err := read(i.Message)
	if err != nil {
		return nil, m, err
	}
	m.To = i.Session // whatever the configuration says of its sender by now: its turn has that one to itself
	a, err := e.addressed(m)
	return a, m, err
}

// result is how a message ended, as the inbox keeps it: with Done, or with an error of a
// kind.
type result struct {
	Done  *turn.Done `json:"done,omitempty"`
	Error string     `json:"error,omitempty"`
	Kind  string     `json:"kind,omitempty"`
	// Files come with the reply. Their bytes are those of the session's messages.
	Files []chat.File `json:"files,omitempty"`
}

// failures are the errors that a client may get again, with their names.
var failures = []struct {
	name string
	err  error
}{
	{"unknown", ErrUnknown}, {"invalid", ErrInvalid}, {"open", ErrOpen}, {"nothing_awaited", ErrNothingAwaited}, {"parked", ErrParked}, {"stopped", turn.ErrStopped}, {"not_yours", approval.ErrNotYours},
	{"auth", model.ErrAuth}, {"billing", model.ErrBilling}, {"no_model", model.ErrNoModel}, {"rate_limited", model.ErrRateLimited}, {"too_long", model.ErrTooLong},
	{"request", model.ErrRequest}, {"unsupported", model.ErrUnsupported}, {"unavailable", model.ErrUnavailable},
}

func resultOf(done *turn.Done, err error) json.RawMessage { return resultWith(done, err, nil) }

func resultWith(done *turn.Done, err error, files []chat.File) json.RawMessage {
	r := result{Done: done, Files: files}
	if err != nil {
		r.Error = err.Error()
		for _, k := range failures {
			if errors.Is(err, k.err) {
				r.Kind = k.name
				break
			}
		}
	}
	raw, _ := json.Marshal(r) // texts and numbers
	return raw
}

// again is an error that an earlier message got.
type again struct {
	text string
	kind error // nil when it is of none
}

func (a *again) Error() string { return a.text }
func (a *again) Unwrap() error { return a.kind }

// repeat yields the result of an item that has ended: its reply as one text.
func repeat(i store.Item, yield func(turn.Event, error) bool) bool {
	if i.State == store.Parked {
		return yield(turn.Event{}, fmt.Errorf("%w: %s", ErrParked, i.Reason)) && false
	}
	var r result
	if err := json.Unmarshal(i.Result, &r); err != nil {
		return yield(turn.Event{}, fmt.Errorf("the result of the message cannot be read: %w", err)) && false
	}
	if r.Done == nil {
		failed := &again{text: r.Error}
		for _, k := range failures {
			if k.name == r.Kind {
				failed.kind = k.err
			}
		}
		return yield(turn.Event{}, failed) && false
	}
	return (r.Done.Reply == "" || yield(turn.Event{Text: r.Done.Reply}, nil)) && yield(turn.Event{Done: r.Done}, nil)
}

// tellParked tells the sender of a message that it is about to be parked, on the channel that
// it came from. It is told once, whatever ends the process in between. An error means that the
// store failed.
func (e *Engine) tellParked(ctx context.Context, i store.Item) error {
	var posted error
	if _, m, err := e.message(i); err == nil && len(m.Reply) > 0 && m.Outcome == nil {
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
