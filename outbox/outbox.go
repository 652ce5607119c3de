// Package outbox has the replies that are still to be delivered, and what agents say beside their
// replies. A letter is delivered at least once, and in the order of its session, by the program that
// knows the place; this package keeps it until then.
//
// It arrives twice when a process ends between sending it and [Outbox.Delivered], unless the platform
// leaves out what it has under the same key. It never arrives when its program gives it up
// ([Outbox.GiveUp]): then it stays in the inbox for a week, parked, where an operator can retry it.
package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Config says what an outbox consists of. All but the Tracer and Lost is needed.
type Config struct {
	Store store.Store
	Box   *mailbox.Box
	Inbox *inbox.Inbox
	// Secrets are hidden in what is posted, which has at most MaxMessage bytes.
	Secrets    *secret.Set
	MaxMessage int
	// Holder names this process in the store.
	Holder string
	Tracer trace.Tracer
	// Lost learns of letters that are given up, before they are; nil learns nothing.
	Lost func(ctx context.Context, l Letter, why error) error
	// Retry counts that something is tried again, for a cause.
	Retry func(cause string)
}

// Outbox is the outbox of an engine. It is safe for concurrent use.
type Outbox struct{ config Config }

// New returns the outbox in a store.
func New(cfg Config) *Outbox { return &Outbox{cfg} }

// Letter is a reply that is still to be delivered to where its message came from. It stays
// until [Outbox.Delivered], whatever ends the process.
type Letter struct {
	// ID is that of its message in the inbox: the same however often it is delivered.
	ID      int64
	Session session.Key
	// To is Message.Reply of the message that it answers.
	To json.RawMessage
	// Text is what the agent says; Awaits are what it asks for.
	Text   string
	Awaits []session.Await
	// Files are what tools give to the user, without their bytes: [inbox.Inbox.File] has them.
	Files []chat.File
	// Failed says for people why there is no reply. Text is empty then.
	Failed string
	// Language is that of etui's own words to the person.
	Language string
	// Tries and Reason are those of [Outbox.Undelivered].
	Tries  int
	Reason string
	// Asked is when the message was accepted, and Answered when its turn ended: the letters of
	// a session are in this order.
	Asked, Answered time.Time

	trace string // the span in which the message was received
}

// Letters returns the first letters after an ID, at most limit of them and in the order in
// which their messages were accepted.
func (b *Outbox) Letters(ctx context.Context, after int64, limit int) ([]Letter, error) {
	if after == 0 {
		after = -1 // no ID is so low: the order is that of the IDs from the beginning
	}
	items, err := b.config.Store.Items(ctx, store.ItemFilter{State: store.Answered, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	list := make([]Letter, len(items))
	for i, item := range items {
		list[i] = b.letter(ctx, item)
	}
	return list, nil
}

func (b *Outbox) letter(ctx context.Context, i store.Item) Letter {
	l := Letter{ID: i.ID, Session: i.Session, Tries: i.Tries, Reason: i.Reason, Asked: i.Accepted, Answered: i.Ended}
	var asked struct {
		Language string          `json:"language"`
		Reply    json.RawMessage `json:"reply"`
		Trace    string          `json:"trace"`
	}
	if json.Unmarshal(i.Message, &asked) == nil {
		l.To, l.Language, l.trace = asked.Reply, asked.Language, asked.Trace
	}
	if len(l.To) == 0 { // the clock asked, or the outcome of a call
		if s, err := b.config.Store.Load(ctx, i.Session, 1); err == nil {
			l.To = s.Reply
		}
	}
	done, files, err := message.ResultOf(i)
	if l.Files = files; err != nil {
		l.Failed = Excuse(err, l.Language)
	} else {
		l.Text, l.Awaits = done.Reply, done.Awaits
	}
	return l
}

// Delivered ends a letter: it has arrived.
func (b *Outbox) Delivered(ctx context.Context, id int64) error {
	return b.config.Store.Delivered(context.WithoutCancel(ctx), id)
}

// maxGivenUp is how many letters that were given up stay parked, and keptGivenUp is for how long. An
// operator can retry or drop them; beyond these bounds the oldest end.
const (
	maxGivenUp  = 1000
	keptGivenUp = 7 * 24 * time.Hour
)

// GiveUp parks a letter that cannot be delivered, for an operator.
func (b *Outbox) GiveUp(ctx context.Context, l Letter, why error) error {
	ctx = context.WithoutCancel(ctx)
	if b.config.Lost != nil {
		if err := b.config.Lost(ctx, l, why); err != nil {
			return err
		}
	}
	err := b.config.Store.Update(ctx, store.Item{
		ID: l.ID, Session: l.Session, State: store.Parked, Tries: l.Tries, Holder: b.config.Holder,
		Reason: "its reply could not be delivered: " + why.Error(),
	})
	if err != nil {
		return err
	}
	parked, err := b.config.Store.Items(ctx, store.ItemFilter{State: store.Parked})
	given := slices.DeleteFunc(parked, func(i store.Item) bool { return len(i.Result) == 0 })
	slices.SortFunc(given, func(i, j store.Item) int { return i.Ended.Compare(j.Ended) })
	for n, i := range given {
		if len(given)-n > maxGivenUp || time.Since(i.Ended) > keptGivenUp && i.ID != l.ID {
			err = errors.Join(err, b.config.Inbox.Drop(ctx, i.ID))
		}
	}
	return err
}

// Undelivered counts a delivery that is about to be tried, or keeps why it failed.
func (b *Outbox) Undelivered(ctx context.Context, l Letter) error {
	return b.config.Store.Update(ctx, store.Item{
		ID: l.ID, Session: l.Session, State: store.Answered, Tries: l.Tries, Reason: l.Reason, Holder: b.config.Holder,
	})
}

// Answered receives a value when this process may have new letters. With a [store.Shared],
// other processes leave letters, too: look from time to time.
func (b *Outbox) Answered() <-chan struct{} { return b.config.Box.Answered() }

// PostTool is the name of the tool with which an agent says something before its reply, see
// [Outbox.Post].
const PostTool = "message"

// ErrNowhere says that a conversation has no place where something can be delivered: nobody
// writes in it on a channel.
var ErrNowhere = errors.New("this conversation is on no channel to which something can be sent; say it in your reply")

// Post sends a text to a place, as [message.Message] names it, or to where the newest message
// of the session came from. It is delivered once for each key, before the reply of the turn
// that runs; a reply that only repeats it is not delivered then.
func (b *Outbox) Post(ctx context.Context, key session.Key, to json.RawMessage, text, idempotencyKey string) error {
	text, err := b.checked(text)
	if err != nil {
		return err
	}
	if len(to) == 0 {
		s, err := b.config.Store.Load(ctx, key, 1)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrAway, err)
		}
		if to = s.Reply; len(to) == 0 {
			return ErrNowhere
		}
	}
	return b.Ask(ctx, key, message.Message{}, to, &turn.End{Reply: text}, "post-"+idempotencyKey)
}

// Ask sends a text with what it asks for to a place, once for each key. From is the conversation of
// those who read it there.
func (b *Outbox) Ask(ctx context.Context, key session.Key, from message.Message, to json.RawMessage, says *turn.End,
	idempotencyKey string) error {
	from.Background, from.Client, from.IdempotencyKey = true, "etui", message.ShortKey(idempotencyKey)
	i, fresh, err := b.config.Inbox.Accept(ctx, key, message.Mail{
		Kind: message.KindNotice, Notice: says.Reply, Reply: to, Message: from,
	})
	if err != nil || !fresh {
		return err
	}
	// It waits for nobody's turn. After a crash or a failure in between, it is a notice.
	if err := b.config.Box.Write(ctx,
		store.End{ID: i.ID, Result: message.Result(says, nil), Deliver: true}); err != nil {
		b.config.Box.TakeUp(i)
	}
	return nil
}

// PostTo sends a text to a place of another conversation, which learns of it: the text is in its history,
// and goes out in its turn. It is sent once for each key.
func (b *Outbox) PostTo(ctx context.Context, key session.Key, to json.RawMessage, text, idempotencyKey string) error {
	text, err := b.checked(text)
	if err != nil {
		return err
	}
	return b.config.Inbox.Submit(ctx, key, message.Mail{
		Kind: message.KindNotice, Notice: text, To: key, Reply: to, Message: message.Message{
			Background: true, Client: "etui", IdempotencyKey: message.ShortKey("post-" + idempotencyKey),
		},
	})
}

// checked returns a text that can be posted, without secrets.
func (b *Outbox) checked(text string) (string, error) {
	text = b.config.Secrets.Redactor().Text(text)
	switch {
	case strings.TrimSpace(text) == "":
		return "", message.ErrEmpty
	case len(text) > b.config.MaxMessage:
		return "", phrase.Errorf("%w: %d bytes, at most %d are accepted", message.ErrTooLong, len(text),
			b.config.MaxMessage)
	}
	return text, nil
}

// maxPosted is how many messages of a session Posted looks through.
const maxPosted = 1000

// Delivery counts a try to deliver a letter over a channel, and begins its span. The caller
// ends it.
func (b *Outbox) Delivery(ctx context.Context, l Letter, channel string) (_ context.Context, end func(error)) {
	if l.Tries > 1 {
		b.config.Retry("delivery")
	}
	if b.config.Tracer == nil {
		return ctx, func(error) {}
	}
	ctx, s := span.Start(
		span.Below(ctx, l.trace), b.config.Tracer, "deliver reply", trace.WithSpanKind(trace.SpanKindProducer),
		span.Texts("etui.channel", channel, "gen_ai.conversation.id", l.Session.Hash()),
		trace.WithAttributes(attribute.Int("etui.tries", l.Tries)),
	)
	return ctx, func(err error) {
		what := ""
		if err != nil {
			what = "_OTHER"
		}
		span.End(s, what)
	}
}

// Posted reports whether a text, which is to answer an item of a session, only repeats what was posted
// there after the item came.
func (b *Outbox) Posted(ctx context.Context, i store.Item, text string) bool {
	items, err := b.config.Store.Items(ctx, store.ItemFilter{Session: i.Session, After: i.ID, Limit: maxPosted})
	return err == nil && slices.ContainsFunc(items, func(i store.Item) bool {
		posted, _, err := message.ResultOf(i)
		return err == nil && strings.TrimSpace(posted.Reply) == strings.TrimSpace(text)
	})
}
