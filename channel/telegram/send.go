package telegram

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// sent is how much of a message was sent: its first ID, and its parts. A message that fails
// half-way goes on where it stopped.
type sent struct {
	id    string
	parts int
}

// Send implements [channel.Channel]. In a group the message answers the one at
// Address.Message; in a direct chat it stands below it anyway.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	var s sent
	if m.Key != "" {
		s, _ = c.sent.Get(m.Key)
	}
	send := func(call func(p params) (int64, error)) func(chat string) error {
		return func(chat string) error {
			p := params{"chat_id": chat}
			addThread(p, m.To)
			if s.parts == 0 {
				if n, err := strconv.ParseInt(m.To.Message, 10, 64); err == nil && n > 0 && strings.HasPrefix(chat, "-") {
					p["reply_parameters"] = params{"message_id": n, "allow_sending_without_reply": true}
				}
				if len(m.Buttons) > 0 {
					p["reply_markup"] = c.keyboard(m.Buttons)
				}
			}
			n, err := call(p)
			if err != nil {
				return err
			}
			s.parts++
			s.id = cmp.Or(s.id, id(n))
			if m.Key != "" {
				c.sent.Put(m.Key, s)
			}
			return nil
		}
	}
	parts := []func(string) error{}
	if m.Text != "" || len(m.Files) == 0 {
		parts = append(parts, send(func(p params) (int64, error) { return c.text(ctx, "sendMessage", p, m.Text) }))
	}
	for _, f := range m.Files {
		parts = append(parts, send(func(p params) (int64, error) { return c.file(ctx, p, f) }))
	}
	for _, part := range parts[min(s.parts, len(parts)):] {
		if err := c.in(ctx, m.To, part); err != nil {
			return "", err
		}
	}
	return s.id, nil
}

// in calls f with the chat of an address, and again if it has a new ID.
func (c *Channel) in(ctx context.Context, to channel.Address, f func(chat string) error) error {
	at := to.Chat
	if moved, ok := c.moved.Get(at); ok {
		at = moved
	}
	err := f(at)
	var now *migrated
	if errors.As(err, &now) {
		c.move(ctx, to.Chat, id(now.to))
		err = f(id(now.to))
	}
	return err
}

func addThread(p params, to channel.Address) {
	if n, err := strconv.ParseInt(to.Thread, 10, 64); err == nil && n > 0 {
		p["message_thread_id"] = n
	}
}

// text sends or replaces a text. Telegram shows no previews of links: it would fetch an
// address that the model wrote, and so give away what is in it.
func (c *Channel) text(ctx context.Context, method string, p params, markdown string) (int64, error) {
	markup := c.html(markdown)
	p["text"], p["parse_mode"], p["link_preview_options"] = markup, "HTML", params{"is_disabled": true}
	var m message
	err := c.api.call(ctx, method, p, &m)
	if says(err, "can't parse entities") {
		c.log.WarnContext(ctx, "Telegram does not read the markup of a message, which is sent without it", "error", err)
		delete(p, "parse_mode")
		p["text"] = visible(markup)
		err = c.api.call(ctx, method, p, &m)
	}
	return m.ID, err
}

// pictures are the media types that sendPhoto takes.
var pictures = []string{"image/jpeg", "image/png", "image/webp"}

// file sends a file: a picture as one, and if Telegram does not like its size or shape, as
// a document.
func (c *Channel) file(ctx context.Context, p params, f chat.File) (int64, error) {
	var m message
	if slices.Contains(pictures, f.MediaType) && len(f.Data) <= maxPicture {
		err := c.api.upload(ctx, "sendPhoto", p, "photo", f, &m)
		if !platform.Fails(err, "400") || errors.As(err, new(*migrated)) || errors.Is(err, channel.ErrGone) {
			return m.ID, err
		}
	}
	err := c.api.upload(ctx, "sendDocument", p, "document", f, &m)
	return m.ID, err
}

// Typing implements [channel.Typer]. Telegram shows it for five seconds.
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	return c.in(ctx, to, func(chat string) error {
		p := params{"chat_id": chat, "action": "typing"}
		addThread(p, to)
		return c.api.call(ctx, "sendChatAction", p, nil)
	})
}

// Edit implements [channel.Editor].
func (c *Channel) Edit(ctx context.Context, to channel.Address, id, text string) error {
	err := c.in(ctx, to, func(chat string) error {
		_, err := c.text(ctx, "editMessageText", params{"chat_id": chat, "message_id": number(id)}, text)
		return err
	})
	if says(err, "message is not modified") {
		return nil
	}
	return err
}

// React implements [channel.Reactor]. Telegram has a fixed set of emoji for it.
func (c *Channel) React(ctx context.Context, to channel.Address, emoji string) error {
	reaction := []params{}
	if emoji != "" {
		reaction = append(reaction, params{"type": "emoji", "emoji": emoji})
	}
	return c.in(ctx, to, func(chat string) error {
		return c.api.call(ctx, "setMessageReaction", params{"chat_id": chat, "message_id": number(to.Message), "reaction": reaction}, nil)
	})
}

// number is an ID of Telegram; 0, which it refuses, for what is none.
func number(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}

// SetMenu implements [channel.Menu]. Names that Telegram does not allow are left out.
func (c *Channel) SetMenu(ctx context.Context, commands []channel.Command) error {
	list := []params{}
	for _, command := range commands[:min(len(commands), 100)] {
		if len(command.Name) <= 32 && command.Name != "" && strings.Trim(command.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			list = append(list, params{"command": command.Name, "description": cmp.Or(printable.Line(command.Help, 256), command.Name)})
		}
	}
	return c.api.call(ctx, "setMyCommands", params{"commands": list}, nil)
}

// maxButtons is how many buttons a message may have; further ones are left out.
const maxButtons = 100

// keyboard puts a few short buttons into one row, others each into its own.
func (c *Channel) keyboard(buttons []channel.Button) keyboard {
	buttons = buttons[:min(len(buttons), maxButtons)]
	short := len(buttons) <= 3 && !slices.ContainsFunc(buttons, func(b channel.Button) bool { return utf8.RuneCountInString(b.Label) > 12 })
	var k keyboard
	for i, b := range buttons {
		one := button{cmp.Or(printable.Line(b.Label, 100), printable.Line(b.Text, 100), "…"), c.data(b.Text)}
		if i > 0 && short {
			k.Rows[0] = append(k.Rows[0], one)
		} else {
			k.Rows = append(k.Rows, []button{one})
		}
	}
	return k
}

// data is what Telegram sends when a button is pressed, at most 64 bytes: the text itself,
// or the hash of a longer one. Of those the last thousand are remembered; after that, or a
// restart, a button says so unless its label is its text.
func (c *Channel) data(text string) string {
	if len(text) < 64 {
		return "=" + text
	}
	sum := sha256.Sum256([]byte(text))
	key := "#" + base64.RawURLEncoding.EncodeToString(sum[:])
	c.texts.Put(key, text)
	return key
}

// meant returns the text of a button that was pressed; empty if it is unknown.
func (c *Channel) meant(cb *callback) string {
	if text, ok := strings.CutPrefix(cb.Data, "="); ok {
		return text
	}
	if text, ok := c.texts.Get(cb.Data); ok || cb.Message.Markup == nil {
		return text
	}
	for _, row := range cb.Message.Markup.Rows {
		for _, b := range row {
			if b.Data == cb.Data && c.data(b.Label) == cb.Data {
				return b.Label
			}
		}
	}
	return ""
}

// press makes a message of a pressed button.
func (c *Channel) press(ctx context.Context, cb *callback) (channel.Incoming, bool) {
	if cb.Message == nil {
		return channel.Incoming{}, false
	}
	m := cb.Message
	in := channel.Incoming{
		ID: "button-" + cb.ID, From: person(cb.From), Group: m.Chat.Type != "private", Mentioned: true,
		At: channel.Address{Chat: id(m.Chat.ID), Message: id(m.ID)}, Text: c.meant(cb),
	}
	if m.InTopic {
		in.At.Thread = id(m.Thread)
	}
	if in.Text == "" {
		return channel.Incoming{}, false
	}
	if in.Group {
		in.From.Roles = c.standing(ctx, member{m.Chat.ID, cb.From.ID})
	}
	return in, true
}

// pressed ends the waiting that a pressed button shows. It may fail: the button then waits
// for a while longer.
func (c *Channel) pressed(ctx context.Context, cb *callback, known bool) {
	p := params{"callback_query_id": cb.ID}
	if !known {
		p["text"] = "This button is no longer valid."
	}
	if err := c.api.call(ctx, "answerCallbackQuery", p, nil); err != nil {
		c.log.DebugContext(ctx, "a pressed button was not answered", "error", err)
	}
}
