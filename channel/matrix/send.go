package matrix

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

type object = map[string]any

// Send implements [channel.Channel]. Address.Chat is the ID of a room, or of a person.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	return c.sent.Parts(m, func(part channel.Outgoing) (string, error) {
		room, err := c.place(ctx, m.To.Chat)
		if err != nil {
			return "", err
		}
		body := c.text(part.Text)
		if part.Plain {
			delete(body, "format")
			delete(body, "formatted_body")
		}
		if len(part.Files) > 0 {
			if body, err = c.upload(ctx, part.Files[0]); err != nil {
				return "", err
			}
		}
		if to := c.relation(ctx, room, part.To); to != nil && (!roomID(m.To.Chat) || room == m.To.Chat) {
			body["m.relates_to"] = to
		}
		return c.post(ctx, room, typeMessage, part.Key, body)
	})
}

// place returns the room of an address.
func (c *Channel) place(ctx context.Context, chat string) (string, error) {
	switch {
	case roomID(chat):
		return c.moves.Newest(chat), nil
	case userID(chat):
		room, err := c.person(ctx, chat)
		return room, platform.Means(err, channel.ErrGone, forbidden, notFound, badParameter)
	}
	return "", fmt.Errorf("matrix: %q is not the ID of a room or person: %w", platform.Word(chat), channel.ErrGone)
}

// text is a message with a text. Nobody is notified of a name that a model writes.
func (c *Channel) text(markdown string) object {
	body := object{"msgtype": "m.text", "body": markdown, "m.mentions": object{}, agentKey: true}
	if html := render(c.markdown, markdown); html != "" && len(html) <= maxHTML {
		body["format"], body["formatted_body"] = "org.matrix.custom.html", html
	}
	return body
}

// relation says to what a message belongs: a thread, or in a group the message that it
// answers.
func (c *Channel) relation(ctx context.Context, room string, to channel.Address) object {
	if eventID(to.Thread) {
		last := to.Thread // of the thread, for clients that know none
		if eventID(to.Message) {
			last = to.Message
		}
		return object{"rel_type": "m.thread", "event_id": to.Thread, "is_falling_back": true,
			"m.in_reply_to": object{"event_id": last}}
	}
	if !eventID(to.Message) {
		return nil
	}
	if group, err := c.group(ctx, room); err != nil || !group {
		return nil // in a direct chat it stands below it anyway
	}
	return object{"m.in_reply_to": object{"event_id": to.Message}}
}

// post puts an event into a room. Its transaction ID is the same one for the same key in the same
// room and store.
func (c *Channel) post(ctx context.Context, room, kind, key string, body object) (string, error) {
	transaction := rand.Text()
	if key != "" {
		if c.salt.Load() == nil {
			if err := c.change(ctx, func(*record) {}); err != nil {
				return "", err
			}
		}
		transaction = platform.Digest(32, *c.salt.Load(), room, key)
	}
	var answer struct {
		Event string `json:"event_id"`
	}
	err := c.call(ctx, "PUT", "v3/rooms/{}/send/{}/{}", []string{room, kind, transaction}, nil, body, &answer)
	err = platform.Means(err, channel.ErrGone, forbidden, notFound, noVersion)
	if err == nil && !eventID(answer.Event) {
		err = errors.New("matrix: the homeserver names no event that was sent")
	}
	if err == nil {
		c.mine.Add(answer.Event)
	}
	return answer.Event, err
}

// maxFallback is how many bytes of an edited text clients see that know no edits.
const maxFallback = 2000

// Edit implements [channel.Editor].
func (c *Channel) Edit(ctx context.Context, to channel.Address, id, text string) error {
	room, err := c.place(ctx, to.Chat)
	if err != nil {
		return err
	}
	if roomID(to.Chat) && room != to.Chat {
		return fmt.Errorf("matrix: the room was replaced, and its messages are not there: %w", channel.ErrRejected)
	}
	fallback := text
	if len(fallback) > maxFallback {
		fallback = strings.ToValidUTF8(fallback[:maxFallback], "") + "…"
	}
	_, err = c.post(ctx, room, typeMessage, "", object{
		"msgtype": "m.text", "body": "* " + fallback, "m.mentions": object{}, agentKey: true,
		"m.new_content": c.text(text), "m.relates_to": object{"rel_type": "m.replace", "event_id": id},
	})
	return err
}

// Typing implements [channel.Typer].
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	me, err := c.who(ctx)
	if err != nil {
		return err
	}
	room, err := c.place(ctx, to.Chat)
	if err != nil {
		return err
	}
	return c.call(ctx, "PUT", "v3/rooms/{}/typing/{}", []string{room, me.ID}, nil,
		object{"typing": true, "timeout": 6000}, nil)
}

// render returns the HTML that clients show of a text, org.matrix.custom.html; empty if it says no
// more than the text.
func render(m goldmark.Markdown, text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b bytes.Buffer
	if m.Convert([]byte(text), &b) != nil { // it writes into memory
		return ""
	}
	out := strings.TrimSpace(b.String())
	if out == "<p>"+html.EscapeString(strings.TrimSpace(text))+"</p>" {
		return ""
	}
	return out
}
