package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// Send implements [channel.Channel]. The ID of a message is the chat's and the message's
// timestamp; a message of nothing but files has the ID of the first one.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	uploaded := ""
	if len(m.Files) > 0 { // first, as it fails more often than a text
		var err error
		if uploaded, err = c.upload(ctx, m.Files); err != nil {
			return "", err
		}
	}
	id := ""
	if m.Text != "" || len(m.Buttons) > 0 {
		known := false
		if uploaded != "" && m.Key != "" {
			id, known = c.posted.Get(m.Key)
		}
		if !known {
			var err error
			if id, err = c.post(ctx, m); err != nil {
				return "", err
			}
			if uploaded != "" && m.Key != "" {
				c.posted.Put(m.Key, id)
			}
		}
	}
	if uploaded == "" {
		if id == "" {
			return "", errors.New("slack: the message is empty")
		}
		return id, nil
	}
	to := m.To
	if id != "" {
		to.Chat, _ = splitID(id) // the direct chat, if a person's ID was given
	}
	first, err := c.share(ctx, to, uploaded)
	if id == "" {
		id = first
	}
	return id, err
}

// post posts a text and buttons.
func (c *Channel) post(ctx context.Context, m channel.Outgoing) (string, error) {
	text := c.dialect.Render(m.Text)
	args := url.Values{
		"channel": {m.To.Chat}, "text": {text},
		// Slack would load the pages of links. A link that a model was tricked into writing
		// could tell their servers something.
		"unfurl_links": {"false"}, "unfurl_media": {"false"},
	}
	if m.To.Thread != "" {
		args.Set("thread_ts", m.To.Thread)
	}
	if len(m.Buttons) > 0 {
		blocks, err := c.blocks(ctx, text, m.Buttons)
		if err != nil {
			return "", err
		}
		args.Set("blocks", blocks)
	}
	var answer struct{ Channel, TS string }
	if err := c.call(ctx, c.config.Token, "chat.postMessage", args, &answer); err != nil {
		return "", err
	}
	if answer.Channel == "" || answer.TS == "" {
		return "", errors.New("slack: chat.postMessage names no message")
	}
	return messageID(answer.Channel, answer.TS), nil
}

// Limits of Block Kit.
const (
	maxSection = 3000 // characters of the text of a section
	maxLabel   = 75   // characters of a button's label; the rest is left out
	maxValue   = 2000 // bytes of what a button says; one that says more is left out
	maxRow     = 25   // buttons of a block
	maxButtons = 100  // buttons of a message; more are left out
)

// blocks returns a text with buttons below as blocks.
func (c *Channel) blocks(ctx context.Context, text string, buttons []channel.Button) (string, error) {
	type object map[string]any
	var blocks []object
	for text != "" {
		head := firstPart(text, maxSection)
		text = strings.TrimPrefix(text[len(head):], "\n")
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": head}})
	}
	var row []object
	for i, b := range buttons[:min(len(buttons), maxButtons)] {
		if b.Text == "" || len(b.Text) > maxValue {
			c.log.WarnContext(ctx, "a button is left out, as slack takes 1 to 2000 bytes of its text", "bytes", len(b.Text))
			continue
		}
		label := b.Label
		if label == "" {
			label = b.Text
		}
		if r := []rune(label); len(r) > maxLabel {
			label = string(r[:maxLabel-1]) + "…"
		}
		row = append(row, object{"type": "button", "action_id": pressed + strconv.Itoa(i), "value": b.Text, "text": object{"type": "plain_text", "text": label}})
		if len(row) == maxRow {
			blocks, row = append(blocks, object{"type": "actions", "elements": row}), nil
		}
	}
	if len(row) > 0 {
		blocks = append(blocks, object{"type": "actions", "elements": row})
	}
	out, err := json.Marshal(blocks)
	return string(out), err
}

// firstPart returns the beginning of a text, no longer than limit bytes and, if possible,
// up to the end of a line.
func firstPart(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 1 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	head := text[:limit]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		return head[:i]
	}
	if i := strings.LastIndexByte(head, '&'); i > limit-6 {
		return head[:i] // not within &amp;
	}
	return head
}

// Edit implements [channel.Editor]. Buttons go away.
func (c *Channel) Edit(ctx context.Context, to channel.Address, id, text string) error {
	chat, ts := splitID(id)
	if chat == "" {
		chat = to.Chat
	}
	return c.call(ctx, c.config.Token, "chat.update", url.Values{"channel": {chat}, "ts": {ts}, "text": {c.dialect.Render(text)}, "blocks": {"[]"}}, nil)
}

// React implements [channel.Reactor]. The bot has one emoji on a message; another one
// replaces it. Which one it is the channel knows until it ends.
func (c *Channel) React(ctx context.Context, to channel.Address, emoji string) error {
	chat, ts := splitID(to.Message)
	if ts == "" {
		return errors.New("slack: no message is named to react to")
	}
	if chat == "" {
		chat = to.Chat
	}
	name := ""
	if emoji != "" {
		if name = platform.EmojiName(emoji); name == "" {
			return fmt.Errorf("slack: no name is known for the emoji %q", platform.Word(emoji))
		}
	}
	change := func(method, name, done string) error {
		err := c.call(ctx, c.config.Token, method, url.Values{"channel": {chat}, "timestamp": {ts}, "name": {name}}, nil)
		if platform.Fails(err, done) {
			return nil
		}
		return err
	}
	return c.reactions.Replace(messageID(chat, ts), name,
		func(old string) error { return change("reactions.remove", old, "no_reaction") },
		func() (string, error) { return name, change("reactions.add", name, "already_reacted") })
}

// Typing implements [channel.Typer] in threads: Slack shows there what an app does. Other
// places have nothing of the kind for apps.
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	if to.Thread == "" || c.quiet.Load() {
		return nil
	}
	err := c.call(ctx, c.config.Token, "assistant.threads.setStatus", url.Values{"channel_id": {to.Chat}, "thread_ts": {to.Thread}, "status": {"is writing…"}}, nil)
	if errors.Is(err, channel.ErrRefused) || platform.Fails(err, "unknown_method", "method_not_supported_for_channel_type", "not_allowed", "access_denied", "feature_not_enabled") {
		c.quiet.Store(true)
		c.log.InfoContext(ctx, "slack does not let this app show that it is writing", "error", err)
		return nil
	}
	return err
}
