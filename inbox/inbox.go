// Package inbox has the messages that were accepted, until they have ended: it puts them into the
// store, once each, and shows operators what waits there. Package mailbox says whose turn it is.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/people"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Config says what an inbox consists of. All but the Tracer is needed.
type Config struct {
	Store  store.Store
	Box    *mailbox.Box
	People *people.People
	// Holder names this process in the store.
	Holder string
	Tracer trace.Tracer
}

// Inbox is the inbox of an engine. It is safe for concurrent use.
type Inbox struct {
	config  Config
	amended *recent.Cache[int64, string] // the texts of items that wait here, or did
}

// maxAmended is how many messages are remembered that were amended.
const maxAmended = 1000

// New returns the inbox in a store.
func New(cfg Config) *Inbox {
	return &Inbox{cfg, recent.New[int64, string](maxAmended)}
}

// Accept puts a message into the mailbox of its session. It reports whether the message
// is new: with an idempotency key it may be there already.
func (b *Inbox) Accept(ctx context.Context, key session.Key, m message.Mail) (store.Item, bool, error) {
	i := store.Item{
		Session: key, User: b.config.People.Sender(m.Caller()).Record(), Holder: b.config.Holder,
		Priority: m.Priority(),
	}
	if m.IdempotencyKey != "" {
		key := []string{m.Client, m.Channel, m.Account, m.Chat, m.Session, i.User, m.IdempotencyKey}
		i.Key, i.Digest = message.Hash(key), m.Digest()
	}
	if m.Joins() {
		i.Key, i.Digest = b.JoinKey(m), m.Digest()
	}
	if m.Trace == "" && b.config.Tracer != nil { // the turn of another message sends it
		m.Trace = span.Parent(ctx)
	}
	rec := m
	rec.Wait, rec.IdempotencyKey = false, ""
	var err error
	if i.Message, err = json.Marshal(rec); err != nil {
		return i, false, fmt.Errorf("%w: %w", message.ErrInvalid, err)
	}
	digest := i.Digest
	i, fresh, err := b.config.Store.Accept(ctx, i)
	switch {
	case err != nil && ctx.Err() == nil:
		return i, false, phrase.Errorf("%w, so the message was not accepted: %w", store.ErrAway, err)
	case err == nil && i.Digest != digest:
		return i, false, phrase.Errorf("%w: send this one with a key of its own", message.ErrKeyReused)
	}
	return i, fresh, err
}

// Amend gives a message that waits for its turn, under the same key, the text that edit makes of its own. It
// changes nothing where its turn has begun.
func (b *Inbox) Amend(ctx context.Context, key session.Key, m message.Mail, edit func(text string) string) error {
	i, fresh, err := b.Accept(ctx, key, m)
	switch {
	case fresh: // it was not here
		b.config.Box.TakeUp(i)
		return nil
	case err != nil && !errors.Is(err, message.ErrKeyReused):
		return err
	case i.State != store.Waiting:
		return nil
	}
	if i, err = b.config.Box.Item(ctx, i.ID); err != nil {
		return err
	}
	was, err := message.Read(i.Message)
	if err != nil {
		return err
	}
	was.Text = edit(was.Text)
	if i.Amended, err = json.Marshal(was); err != nil {
		return err
	}
	b.amended.Put(i.ID, was.Text)
	return b.config.Store.Update(ctx, i)
}

// Newest returns a message as it was amended, if it was.
func (b *Inbox) Newest(id int64, m message.Mail) message.Mail {
	if now, ok := b.amended.Get(id); ok {
		m.Text = now
		b.amended.Remove(id)
	}
	return m
}

// JoinKey is the key of a message that others may join: those of the same client, sender and
// session. Each guest has a session of their own.
func (b *Inbox) JoinKey(m message.Mail) string {
	user := b.config.People.Sender(m.Caller()).Record()
	return store.Passing + message.Hash([]string{m.Client, string(m.To), user, m.Digest()})
}

// Submit puts a message of etui's own into the mailbox of a session, and has it
// answered in the background.
func (b *Inbox) Submit(ctx context.Context, key session.Key, m message.Mail) error {
	item, fresh, err := b.Accept(ctx, key, m)
	if err == nil && fresh {
		b.config.Box.TakeUp(item)
	}
	return err
}

// Deliver accepts a message of etui's own once, however often it is tried. It goes to the
// sender who waits for the sub-agent, if it is here.
func (b *Inbox) Deliver(ctx context.Context, key session.Key, m message.Mail, from session.Key) error {
	m.To, m.Background = key, true
	m.IdempotencyKey = message.ShortKey(m.IdempotencyKey)
	item, fresh, err := b.Accept(context.WithoutCancel(ctx), key, m)
	if errors.Is(err, message.ErrKeyReused) {
		return nil
	}
	if err != nil || !fresh {
		return err
	}
	if from == "" {
		b.config.Box.TakeUp(item)
	} else {
		b.config.Box.Hand(from, key, item)
	}
	return nil
}

// File returns a stored file of a message, or of a tool's result, by its [chat.File.SHA256], with its
// bytes. The error wraps [message.ErrUnknown] if no conversation has it.
func (b *Inbox) File(ctx context.Context, sha256 string) (chat.File, error) {
	data, err := b.config.Store.File(ctx, sha256)
	if errors.Is(err, session.ErrNoFile) {
		err = phrase.Errorf("file %q: %w: no message has it", printable.Line(sha256, message.MaxName),
			message.ErrUnknown)
	}
	return chat.File{Data: data, Size: len(data), SHA256: sha256}, err
}

// Item is a message of the inbox that has not ended, as operators see it.
type Item struct {
	ID      int64       `json:"id"`
	Session session.Key `json:"session"`
	User    string      `json:"user,omitempty"`
	// Kind says what it is; empty if it cannot be read.
	Kind message.Kind `json:"kind,omitempty"`
	// State is waiting, also while its turn runs; answered while the reply waits to be delivered,
	// with why that failed; or parked, with the Reason: its turn or its delivery was given up.
	State  store.State `json:"state"`
	Reason string      `json:"reason,omitempty"`
	// Tries is how often it was taken up after its turn ended unexpectedly.
	Tries int `json:"tries,omitempty"`
	// Process, if not empty, is another one of the gateway's, which has the message.
	Process string `json:"process,omitempty"`
	// Agent answers it, and Channel is where it came from, if that can be read.
	Agent    string    `json:"agent,omitempty"`
	Channel  string    `json:"channel,omitempty"`
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

// Item returns a message of the inbox, or [ErrNoItem].
func (b *Inbox) Item(ctx context.Context, id int64) (Item, error) {
	i, err := b.unended(ctx, id)
	return View(i), err
}

func (b *Inbox) unended(ctx context.Context, id int64) (store.Item, error) {
	i, err := b.config.Box.Item(ctx, id)
	if errors.Is(err, store.ErrEnded) || err == nil && i.State == store.Done {
		err = fmt.Errorf("%d: %w", id, ErrNoItem)
	}
	return i, err
}

// View returns an item of the inbox as operators see it.
func View(i store.Item) Item {
	s := Item{
		ID: i.ID, Session: i.Session, User: i.User, State: i.State, Reason: i.Reason, Tries: i.Tries,
		Accepted: i.Accepted, Agent: route.Agent(i.Session),
	}
	if m, err := message.Read(i.Message); err == nil {
		s.Kind, s.Text, s.Channel = m.Kind, m.Text, m.Channel
	}
	return s
}

// Retry takes a parked message up again, in the background, as often as if it had never been
// tried; a reply that could not be delivered is sent again. It returns
// [ErrNoItem] or [ErrNotParked] where that cannot be.
func (b *Inbox) Retry(ctx context.Context, id int64) error {
	i, err := b.parked(ctx, id, false)
	if err != nil {
		return err
	}
	if i.Reason, i.Holder = "", b.config.Holder; len(i.Result) > 0 {
		return b.letter(ctx, i)
	}
	i.State = store.Waiting
	if err := b.config.Store.Update(ctx, i); err != nil {
		return err
	}
	b.config.Box.TakeUp(i)
	return nil
}

// Drop ends a parked message without an answer; a client that repeats it learns that. A
// reply that waits to be delivered is given up.
// It returns [ErrNoItem] or [ErrNotParked] where that cannot be.
func (b *Inbox) Drop(ctx context.Context, id int64) error {
	i, err := b.parked(ctx, id, true)
	if err != nil {
		return err
	}
	if i.State == store.Parked && len(i.Result) > 0 {
		if err := b.letter(ctx, i); err != nil {
			return err
		}
		i.State = store.Answered
	}
	if i.State == store.Answered {
		return b.config.Store.Delivered(context.WithoutCancel(ctx), id)
	}
	why := phrase.Errorf("%w, and an operator dropped it", message.ErrParked)
	return b.config.Store.Finish(ctx, store.End{ID: id, Result: message.Result(nil, why)})
}

// letter makes an item, whose turn has ended, one whose reply is to be delivered.
func (b *Inbox) letter(ctx context.Context, i store.Item) error {
	i.State, i.Tries = store.Answered, 0
	return b.config.Store.Update(ctx, i)
}

// parked returns an item that is parked or, if that may be, whose reply waits to be delivered.
func (b *Inbox) parked(ctx context.Context, id int64, answered bool) (store.Item, error) {
	i, err := b.unended(ctx, id)
	if err == nil && i.State != store.Parked && (!answered || i.State != store.Answered) {
		err = fmt.Errorf("%d: %w", id, ErrNotParked)
	}
	return i, err
}
