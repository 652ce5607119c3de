package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// Send implements [channel.Channel]. In a group the message answers the one at
// Address.Message; in a direct chat it stands below it anyway.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	return c.sent.Parts(m, func(part channel.Outgoing) (string, error) {
		var sent message
		err := c.in(ctx, part.To, func(at channel.Address) error {
			p := params{"chat_id": at.Chat}
			addThread(p, at)
			if n := number(at.Message); n > 0 && strings.HasPrefix(at.Chat, "-") {
				p["reply_parameters"] = params{"message_id": n, "allow_sending_without_reply": true}
			}
			if buttons := platform.Buttons(c.log, part.Buttons, maxButtons, maxLabel, maxData); len(buttons) > 0 {
				p["reply_markup"] = keyboardOf(buttons)
			}
			if len(part.Files) > 0 {
				return c.file(ctx, p, part.Files[0], &sent)
			}
			return c.text(ctx, "sendMessage", p, part.Text, part.Plain, &sent)
		})
		return id(sent.ID), err
	})
}

// maxHops is how often a chat may have a new ID while one message is sent.
const maxHops = 3

// in calls f with an address, and again where its chat has a new ID. The IDs of messages and topics are not
// those of the old chat there.
func (c *Channel) in(ctx context.Context, to channel.Address, f func(at channel.Address) error) error {
	at := to
	if now := c.moves.Newest(to.Chat); now != to.Chat {
		at = channel.Address{Chat: now}
	}
	err := f(at)
	var now *migrated
	for hop := 0; hop < maxHops && errors.As(err, &now); hop++ {
		c.moves.Move(ctx, at.Chat, id(now.to))
		at = channel.Address{Chat: id(now.to)}
		err = f(at)
	}
	return err
}

func addThread(p params, to channel.Address) {
	if n := number(to.Thread); n > 0 {
		p["message_thread_id"] = n
	}
}

// text sends or replaces a text. Telegram shows no previews of links: it would fetch an
// address that the model wrote, and so give away what is in it.
func (c *Channel) text(ctx context.Context, method string, p params, markdown string, plain bool, sent *message) error {
	markup := c.html(markdown)
	p["text"], p["parse_mode"], p["link_preview_options"] = markup, "HTML", params{"is_disabled": true}
	if !plain {
		err := c.api.call(ctx, method, p, sent)
		if !platform.Says(err, "can't parse entities") {
			return err
		}
		c.log.WarnContext(ctx, "Telegram does not read the markup of a message, which is sent without it", "error", err)
	}
	delete(p, "parse_mode")
	p["text"] = visible(markup)
	return c.api.call(ctx, method, p, sent)
}

// pictures are the media types that sendPhoto takes.
var pictures = []string{"image/jpeg", "image/png", "image/webp"}

// file sends a file: a picture as one, and if Telegram does not like its size or shape, as
// a document.
func (c *Channel) file(ctx context.Context, p params, f chat.File, sent *message) error {
	if slices.Contains(pictures, f.MediaType) && len(f.Data) <= maxPicture {
		err := c.api.upload(ctx, "sendPhoto", p, "photo", f, sent)
		if !platform.Fails(err, "400") || errors.As(err, new(*migrated)) || errors.Is(err, channel.ErrGone) {
			return err
		}
	}
	return c.api.upload(ctx, "sendDocument", p, "document", f, sent)
}

// Typing implements [channel.Typer]. Telegram shows it for five seconds.
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	return c.in(ctx, to, func(at channel.Address) error {
		p := params{"chat_id": at.Chat, "action": "typing"}
		addThread(p, at)
		return c.api.call(ctx, "sendChatAction", p, nil)
	})
}

// Edit implements [channel.Editor].
func (c *Channel) Edit(ctx context.Context, to channel.Address, id, text string) error {
	err := c.in(ctx, to, func(at channel.Address) error {
		if at.Chat != to.Chat {
			return fmt.Errorf("telegram: the chat has moved, and its messages are not there: %w", channel.ErrRejected)
		}
		return c.text(ctx, "editMessageText", params{"chat_id": at.Chat, "message_id": number(id)}, text, false, nil)
	})
	if platform.Says(err, "message is not modified") {
		return nil
	}
	return err
}

// number is an ID of Telegram; 0, which it refuses, for what is none.
func number(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}

// SetMenu implements [channel.Menu]. Names that Telegram does not allow are left out.
func (c *Channel) SetMenu(ctx context.Context, commands []channel.Command) error {
	for _, lang := range []string{"", phrase.Chinese} { // the first is for all others
		list := []params{}
		for _, command := range commands[:min(len(commands), 100)] {
			if len(command.Name) <= 32 && command.Name != "" &&
				strings.Trim(command.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
				help := printable.Line(phrase.Word(lang, command.Help), 256)
				list = append(list, params{"command": command.Name, "description": cmp.Or(help, command.Name)})
			}
		}
		menu := params{"commands": list}
		if lang != "" {
			menu["language_code"] = lang
		}
		if err := c.api.call(ctx, "setMyCommands", menu, nil); err != nil {
			return err
		}
	}
	return nil
}

// Limits of buttons; further ones are left out.
const (
	maxButtons = 100
	maxLabel   = 100 // characters
	maxData    = 63  // bytes of what a button says; Telegram takes 64, and say is one
)

// say begins what Telegram sends when a button is pressed.
const say = "="

// keyboardOf puts a few short buttons into one row, others each into its own.
func keyboardOf(buttons []channel.Button) (k keyboard) {
	long := func(b channel.Button) bool { return utf8.RuneCountInString(b.Label) > 12 }
	short := len(buttons) <= 3 && !slices.ContainsFunc(buttons, long)
	for i, b := range buttons {
		one := button{b.Label, say + b.Text}
		if i > 0 && short {
			k.Rows[0] = append(k.Rows[0], one)
		} else {
			k.Rows = append(k.Rows, []button{one})
		}
	}
	return k
}

// press makes a message of a pressed button.
func (c *Channel) press(ctx context.Context, cb *callback) (channel.Incoming, bool) {
	if cb.Message == nil {
		return channel.Incoming{}, false
	}
	m := cb.Message
	in := channel.Incoming{
		ID: "button-" + cb.ID, From: person(cb.From), Group: m.Chat.Type != "private", Mentioned: true,
		At: channel.Address{Chat: id(m.Chat.ID), Message: id(m.ID)}, Former: c.Former(id(m.Chat.ID)),
	}
	in.Text, _ = strings.CutPrefix(cb.Data, say)
	if m.InTopic {
		in.At.Thread = id(m.Thread)
	}
	if in.Text == cb.Data || in.Text == "" {
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
		p["text"] = phrase.In(phrase.Match(cb.From.Language), "This button is no longer valid.")
	}
	if err := c.api.call(ctx, "answerCallbackQuery", p, nil); err != nil {
		c.log.DebugContext(ctx, "a pressed button was not answered", "error", err)
	}
}
