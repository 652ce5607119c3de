package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Letter is a reply that is still to be delivered to where its message came from. It stays
// until [Engine.Delivered], whatever ends the process.
type Letter struct {
	// ID is that of its message in the inbox: the same however often it is delivered.
	ID      int64
	Session session.Key
	// To is Message.Reply of the message that it answers.
	To json.RawMessage
	// Text is what the agent says; Awaits are what it asks for.
	Text   string
	Awaits []session.Await
	// Files are what tools give to the user, without their bytes: [Engine.File] has them.
	Files []chat.File
	// Failed says for people why there is no reply. Text is empty then.
	Failed string
	// Tries and Reason are those of [Engine.Undelivered].
	Tries  int
	Reason string
	// Asked is when the message was accepted, and Answered when its turn ended: the letters of
	// a session are in this order.
	Asked, Answered time.Time

	trace string // the span in which the message was received
}

// Letters returns the first letters after an ID, at most limit of them and in the order in
// which their messages were accepted.
func (e *Engine) Letters(ctx context.Context, after int64, limit int) ([]Letter, error) {
	if after == 0 {
		after = -1 // no ID is so low: the order is that of the IDs from the beginning
	}
	items, err := e.config.Store.Items(ctx, store.ItemFilter{State: store.Answered, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	list := make([]Letter, len(items))
	for i, item := range items {
		list[i] = e.letter(ctx, item)
	}
	return list, nil
}

func (e *Engine) letter(ctx context.Context, i store.Item) Letter {
	l := Letter{ID: i.ID, Session: i.Session, Tries: i.Tries, Reason: i.Reason, Asked: i.Accepted, Answered: i.Ended}
	var asked struct {
		Reply json.RawMessage `json:"reply"`
		Trace string          `json:"trace"`
	}
	if json.Unmarshal(i.Message, &asked) == nil {
		l.To, l.trace = asked.Reply, asked.Trace
	}
	if len(l.To) == 0 { // the clock asked, or the outcome of a call
		if s, err := e.config.Store.Load(ctx, i.Session, 1); err == nil {
			l.To = s.Reply
		}
	}
	_, l.Files = message.ResultOf(i)
	message.Repeat(i, func(ev turn.Event, err error) bool {
		switch {
		case err != nil:
			l.Failed = message.Excuse(err)
		case ev.Done != nil:
			l.Text, l.Awaits = ev.Done.Reply, ev.Done.Awaits
		}
		return true
	})
	return l
}

// Delivered ends a letter: it has arrived, or it never will.
func (e *Engine) Delivered(ctx context.Context, id int64) error {
	return e.config.Store.Delivered(context.WithoutCancel(ctx), id)
}

// Undelivered counts a delivery that is about to be tried, or keeps why it failed.
func (e *Engine) Undelivered(ctx context.Context, l Letter) error {
	return e.config.Store.Update(ctx, store.Item{ID: l.ID, Session: l.Session, State: store.Answered, Tries: l.Tries, Reason: l.Reason, Holder: e.holder})
}

// Answered receives a value when this process may have new letters. With a [store.Shared],
// other processes leave letters, too: look from time to time.
func (e *Engine) Answered() <-chan struct{} { return e.box.Answered() }

// Shared reports whether other processes use the engine's store, too.
func (e *Engine) Shared() (store.Shared, bool) { return e.shared, e.shared != nil }

// PostTool is the name of the tool with which an agent says something before its reply, see
// [Engine.Post].
const PostTool = "message"

// ErrNowhere says that a conversation has no place where something can be delivered: nobody
// writes in it on a channel.
var ErrNowhere = errors.New("this conversation is on no channel to which something can be sent; say it in your reply")

// Post sends a text to a place, as [Message.Reply] names it, or to where the newest message
// of the session came from. It is delivered once for each key, before the reply of the turn
// that runs; a reply that only repeats it is not delivered then.
func (e *Engine) Post(ctx context.Context, key session.Key, to json.RawMessage, text, idempotencyKey string) error {
	text = e.config.Turn.Secrets.Redactor().Text(text)
	if strings.TrimSpace(text) == "" {
		return ErrEmpty
	}
	if len(text) > e.config.MaxMessage {
		return fmt.Errorf("%w: %d bytes, at most %d are accepted", ErrTooLong, len(text), e.config.MaxMessage)
	}
	if len(to) == 0 {
		s, err := e.config.Store.Load(ctx, key, 1)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
		if to = s.Reply; len(to) == 0 {
			return ErrNowhere
		}
	}
	i, fresh, err := e.accept(ctx, key, message.Mail{
		Kind: message.KindNotice, Notice: text, Reply: to, Message: Message{Background: true, Client: "etui", IdempotencyKey: message.ShortKey("post-" + idempotencyKey)},
	})
	if err != nil || !fresh {
		return err
	}
	// It waits for nobody's turn. After a crash or a failure in between, it is a notice.
	if err := e.box.Write(ctx, store.End{ID: i.ID, Result: message.Result(&turn.Done{Reply: text}, nil), Deliver: true}); err != nil {
		e.box.TakeUp(i)
	}
	return nil
}

// maxPosted is how many messages of its session a turn looks through for what it has posted.
const maxPosted = 1000

// said reports whether a reply only repeats what the turn has posted.
func (j *job) said(ctx context.Context, done *turn.Done) bool {
	if !slices.ContainsFunc(done.Used, func(u turn.Used) bool { return u.Tool == PostTool }) {
		return false
	}
	items, err := j.engine.config.Store.Items(ctx, store.ItemFilter{Session: j.key, After: j.item.ID, Limit: maxPosted})
	return err == nil && slices.ContainsFunc(items, func(i store.Item) bool {
		posted, _ := message.ResultOf(i)
		return posted != nil && strings.TrimSpace(posted.Reply) == strings.TrimSpace(done.Reply)
	})
}
