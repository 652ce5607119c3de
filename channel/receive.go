package channel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel/edited"
	"github.com/etui-run/etui/channel/heard"
	"github.com/etui-run/etui/channel/rest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/command"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/store"
)

// Receive takes a message of the channel: it decides whether its sender may write here, and
// puts it into the inbox. The answer comes by itself.
func (a *account) Receive(ctx context.Context, m Incoming) error {
	if m.From.Bot || m.From.ID == "" || m.At.Chat == "" {
		return nil // two programs that answer each other never end
	}
	if err := a.life.Err(); err != nil {
		return err // it could not be answered any more: the platform sends it again
	}
	m.At.Message = m.ID
	if m.Added {
		a.chats.Forget()
		a.hello(ctx, m)
		return nil
	}
	if !m.Edited {
		m.Text, m.Mentioned = a.edits.Newest(m.key(), m.From.ID, m.Text, m.Mentioned)
	}
	if done, err := a.merger.join(ctx, m); done {
		return err
	}
	if m.Group && (!a.inGroup(ctx, m) || !m.Mentioned && !a.Always) {
		if a.inGroup(ctx, m) {
			a.heard.Hear(a.heard.Key(a.called(ctx, a.Overhear, m)...), m.said())
		}
		return nil
	}
	if !m.Group && !a.allowed(ctx, m.From) {
		a.count(func(s *State) { s.Refused++ })
		return a.stranger(ctx, m)
	}
	if !a.paced(m) {
		a.count(func(s *State) { s.Refused++ })
		a.tell(m, "pace", time.Minute, "That was too fast for me: please wait a minute, and write again.")
		return nil
	}
	if m.Edited {
		return a.amend(ctx, m)
	}
	a.count(func(s *State) { s.Received++ })
	m, end := a.merger.merge(ctx, m)
	err := errors.New("the message was not taken")
	defer func() { end(err) }()
	err = a.take(ctx, m)
	return err
}

// receiver is what the channel of an account gets: it also knows what was.
type receiver struct{ *account }

// File returns a file that was sent, or [ErrGone].
func (r receiver) File(ctx context.Context, sha256 string) ([]byte, error) {
	f, err := r.file(ctx, sha256)
	if errors.Is(err, engine.ErrUnknown) {
		err = errors.Join(ErrGone, err)
	}
	return f.Data, err
}

// Why returns as JSON which tools a message got, see [inspect.Inspector.WhyOf].
func (r receiver) Why(ctx context.Context, m Incoming) (json.RawMessage, error) {
	return inspect.New(r.engine).WhyOf(ctx, r.message(ctx, m), m.Time)
}

// take answers a command, or hands a message to the engine.
func (a *account) take(ctx context.Context, m Incoming) error {
	em := a.message(ctx, m)
	a.note(ctx, m, em.Text)
	if done, err := a.command(ctx, m, em); done {
		return err
	}
	if m.Group && !strings.HasPrefix(em.Text, "/") {
		said := a.heard.Before(a.heard.Key(a.called(ctx, a.Overhear, m)...), m.said(), time.Now())
		if strings.Contains(m.Text, ThreadHead) {
			said = "" // the platform has shown the thread itself
		}
		said = a.heard.Told(m.home(), m.said(), time.Now()) + said
		m.before, em.Text = len(said), said+em.Text
	}
	return a.send(ctx, m, em)
}

// said is what is heard of a message.
func (m Incoming) said() heard.Said {
	by := cmp.Or(m.From.Name, m.From.Handle, m.From.ID)
	return heard.Said{ID: m.ID, Thread: m.At.Thread, User: m.From.ID, By: by, Text: m.Text, Time: time.Now()}
}

// Wants reports whether Receive would take a message.
func (a *account) Wants(ctx context.Context, m Incoming) bool {
	if m.From.Bot || m.From.ID == "" {
		return false
	}
	if m.Group {
		return a.inGroup(ctx, m) && (m.Mentioned || a.Always)
	}
	return a.allowed(ctx, m.From)
}

// amend gives a message its newest text, if it waits for its turn, or comes later. One that was left out
// stays so.
func (a *account) amend(ctx context.Context, m Incoming) error {
	if strings.HasPrefix(m.Text, "/") {
		return nil
	}
	edit, ok := a.edits.Edit(m.key(), m.From.ID, m.Text)
	if !ok {
		if _, was := a.handled.Get(m.key()); !was {
			a.edits.TooEarly(m.key(), m.From.ID, m.Text, m.Mentioned)
		}
		return nil
	}
	m.ID, m.Files = edit.ID, nil
	agent, mail, err := a.engine.Agents().Ready(message.New(a.message(ctx, m)))
	if err == nil {
		mail.To = a.engine.Agents().Key(agent, mail)
		if err = a.engine.Inbox().Amend(ctx, mail.To, mail, edit.Of); err == nil {
			edit.Done()
		}
	}
	if err != nil && !errors.Is(err, store.ErrAway) {
		a.log.WarnContext(ctx, "a message keeps the text that it had before it was edited", "channel", a.Name,
			"chat", m.At.Chat, "error", err)
		return nil
	}
	return err
}

// hello tells a group to which the account was added the ID that the configuration needs.
func (a *account) hello(ctx context.Context, m Incoming) {
	if !a.crowd.Allow() { // anybody can add it to groups
		return
	}
	text := fmt.Sprintf("Hello. I answer here when I am mentioned, once whoever runs me has written the ID of this group "+
		"under groups: %s\n\n"+
		"你好。管理者把本群的 ID 写入 groups 之后，提到我时我就会回答：%[1]s", "`"+m.At.Chat+"`")
	if a.inGroup(ctx, m) {
		text = "Hello. I answer here when I am mentioned. The ID of this group is " + "`" + m.At.Chat + "`" +
			".\n\n你好，提到我时我就会回答。"
	}
	m.At.Message, m.From = "", Sender{}
	a.tell(m, "hello", time.Hour, text)
}

func (a *Account) inGroup(ctx context.Context, m Incoming) bool {
	return slices.Contains(a.Groups, Everybody) || len(a.called(ctx, a.Groups, m)) > 0
}

// called returns the IDs and names of a list that mean the chat of a message.
func (a *Account) called(ctx context.Context, list []string, m Incoming) []string {
	return a.chats.Match(ctx, list, m.At.Chat, m.home())
}

// home is the ID by which a chat is known: the one that it has had first, so that its conversation and
// rights stay when a platform gives it another one.
func (m Incoming) home() string { return cmp.Or(m.Former, m.At.Chat) }

// former returns the ID that a chat has had first; empty if it has had one only.
func former(c Channel, chat string) string {
	if m, ok := c.(Mover); ok {
		return m.Former(chat)
	}
	return ""
}

// allowed reports whether somebody may write directly.
func (a *account) allowed(ctx context.Context, s Sender) bool {
	switch {
	case slices.Contains(a.Allow, s.ID), slices.Contains(a.Allow, Everybody):
		return true
	case slices.Contains(a.Allow, KnownUsers):
		who, err := a.engine.Agents().Whoami(engine.Message{Channel: a.traits.Platform, User: a.ids.Scoped(s.ID)})
		if err == nil && who.Kind == identity.Person {
			return true
		}
	}
	return a.paired(ctx, s.ID)
}

// paced reports whether a person has not written too much.
func (a *account) paced(m Incoming) bool {
	l, ok := a.rates.Get(m.From.ID)
	if !ok {
		n := cmp.Or(a.PerMinute, 20)
		l = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		if !a.rates.Add(m.From.ID, l) { // the person wrote in another chat at the same time
			return a.paced(m)
		}
	}
	return l.Allow()
}

// tell answers a message with a phrase, without the engine, and the same person for the same reason
// once in a while only.
func (a *account) tell(m Incoming, why string, every time.Duration, english string) {
	key := why + "\x00" + m.At.Chat + "\x00" + m.From.ID
	a.telling.Lock()
	last, ok := a.told.Get(key)
	again := ok && time.Since(last) < every
	if !again {
		a.told.Put(key, time.Now())
	}
	a.telling.Unlock()
	if again {
		return
	}
	a.answer(m, phrase.Word(a.language(m), english))
}

// answer sends a text that no turn has made. It does not wait, and what cannot be sent is lost: so is
// what comes while the chat rests, however many strangers write.
func (a *account) answer(m Incoming, text string) {
	a.say(m, text, func(ctx context.Context, err error) {
		a.log.WarnContext(ctx, "an answer could not be sent", "channel", a.Name, "chat", m.At.Chat, "error", err)
	})
}

var errRests = errors.New("the platform asks to wait")

// say sends a text in the background, and has failed called if that cannot be.
func (a *account) say(m Incoming, text string, failed func(ctx context.Context, err error)) {
	a.turns.Go(func() {
		defer panics.Log(a.log, "answering a command")
		ctx, done := context.WithTimeout(a.life, time.Minute)
		defer done()
		if a.rests.Now(rest.Sending, m.At.Chat) {
			failed(ctx, errRests)
			return
		}
		err := a.writer.writeText(ctx, m.At, a.language(m), text, nil, "answer-"+m.ID)
		if errors.As(err, new(*Limited)) || errors.Is(err, ErrRefused) {
			a.failed(ctx, rest.Sending, m.At.Chat, err)
		}
		if err != nil {
			failed(ctx, err)
		}
	})
}

// maxLetters is how many letters of a conversation wait at most when the answer to a command becomes
// one more.
const maxLetters = 20

// answerCommand answers a command. What cannot be sent now becomes a letter.
func (a *account) answerCommand(m Incoming, em engine.Message, text string) {
	a.say(m, text, func(ctx context.Context, err error) {
		ctx = context.WithoutCancel(ctx)
		who, failed := a.engine.Agents().Whoami(em)
		if failed == nil && !refused(err) {
			var list []store.Item
			list, failed = a.engine.Store().Items(ctx, store.ItemFilter{Session: who.Session,
				State: store.Answered, Limit: maxLetters})
			if failed == nil && len(list) < maxLetters {
				err = a.engine.Outbox().Post(ctx, who.Session, em.Reply, text, "answer-"+em.IdempotencyKey)
			}
		}
		if err = errors.Join(failed, err); err != nil {
			a.log.WarnContext(ctx, "the answer to a command is lost", "channel", a.Name, "chat", m.At.Chat,
				"error", err)
		}
	})
}

// language returns the language of etui's own words to the sender of a message.
func (a *account) language(m Incoming) string {
	m.Files = nil // they are not read for that
	return a.engine.Agents().Language(a.message(context.Background(), m))
}

// message is what the engine learns of a message.
func (a *account) message(ctx context.Context, m Incoming) engine.Message {
	em := engine.Message{
		Channel: a.traits.Platform, Account: a.Name, User: a.ids.Scoped(m.From.ID), Client: "channel " + a.Name,
		PlatformRoles: m.From.Roles, Language: phrase.Match(m.From.Language, a.Account.Language),
		Attrs:          map[string]string{"account": a.Name, "chat_kind": "direct"},
		IdempotencyKey: short(a.Name + ":" + m.At.Chat + ":" + m.ID),
		Reply:          place{a.Name, m.At}.raw(),
		Later:          true,
	}
	em.Chat, em.Thread, em.Direct = a.ids.Scoped(m.home()), m.At.Thread, !m.Group
	if m.Group {
		em.Attrs["chat_kind"] = "group"
	}
	if m.At.Thread != "" {
		em.Attrs["thread"] = m.At.Thread
	}
	if name := cmp.Or(m.From.Name, m.From.Handle); name != "" {
		em.Attrs[chat.SenderName] = printable.Line(name, 60)
	}
	for _, b := range a.Bindings {
		here := b.Chat == "" || len(a.called(ctx, []string{b.Chat}, m)) > 0
		if here && (b.User == "" || b.User == m.From.ID) {
			em.Agent, em.Skill, em.Strategy = b.Agent, b.Skill, b.Strategy
			break
		}
	}
	if m.Agent != "" && m.Agent != em.Agent { // a binding's skill and strategy are for its own agent
		em.Agent, em.Skill, em.Strategy = m.Agent, "", nil
	}
	read, seen := a.files.Read(ctx, em.Agent, m.Files)
	em.Text, em.Files = began(command.Canonical(strings.TrimSpace(printable.Text(m.Text)+read))), seen
	return em
}

// short keeps a key within its limit. IDs of platforms are far shorter.
func short(key string) string { return key[max(0, len(key)-identity.MaxText):] }

// send puts a message into the inbox, and follows its turn.
func (a *account) send(ctx context.Context, m Incoming, em engine.Message) error {
	accepted := make(chan error, 1)
	var once sync.Once
	settle := func(err error) { once.Do(func() { accepted <- err }) }
	taken := false
	em.Accepted = func() {
		taken = true
		parts := m.parts
		if len(parts) == 0 {
			parts = []edited.Part{{Key: m.key(), Text: m.Text}}
		}
		a.edits.Keep(m.From.ID, m.ID, m.before, parts)
		a.handled.Put(m.key(), m.From.ID)
		settle(nil)
	}
	a.turns.Go(func() {
		defer panics.Log(a.log, "following a turn")
		live := a.follow(m.At)
		defer live.end()
		var failed error
		for event, err := range a.engine.Send(a.life, em) {
			if err != nil {
				failed = err
				break
			}
			live.see(event)
		}
		if !taken {
			settle(a.refused(m, failed))
		}
	})
	select {
	case err := <-accepted:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// key tells messages of an account apart.
func (m Incoming) key() string { return m.At.Chat + "\x00" + m.ID }

// refused decides about a message that the engine did not accept: the platform sends it
// again after an error.
func (a *account) refused(m Incoming, err error) error {
	switch {
	case err == nil, errors.Is(err, message.ErrKeyReused): // a message has one ID: it was here before
		return nil
	case errors.Is(err, engine.ErrFull), errors.Is(err, engine.ErrShare), errors.Is(err, engine.ErrCrowd): // others go on meanwhile
		if _, again := a.handled.Get(m.key()); again { // it was not left out, but is sent twice
			return nil
		}
		why := "So many of your messages wait for an answer that this one was left out. Please write again later."
		if errors.Is(err, engine.ErrCrowd) {
			if !a.crowd.Allow() { // the platform lets so many messages through, and people need them
				a.log.Warn("a message was left out, because too many strangers write", "channel", a.Name, "chat",
					m.At.Chat)
				return nil
			}
			why = "So many people write at the moment that this message was left out. Please write again later."
		}
		a.tell(m, "full", time.Minute, why)
		return nil
	case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrStopping), errors.Is(err, engine.ErrStore),
		errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, engine.ErrEmpty):
		return nil
	}
	a.answer(m, outbox.Excuse(err, a.language(m)))
	return nil
}
