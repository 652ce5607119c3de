package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// Send implements [channel.Channel]. The ID of a text is the chat's and the message's
// timestamp, and that of a file its own.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	return c.sent.Parts(m, func(part channel.Outgoing) (string, error) {
		if len(part.Files) > 0 {
			return c.file(ctx, part.To, part.Files[0])
		}
		return c.post(ctx, part)
	})
}

// post posts a text and buttons.
func (c *Channel) post(ctx context.Context, m channel.Outgoing) (string, error) {
	text, marked := c.dialect.Render(m.Text), "true"
	if m.Plain {
		text, marked = escape(m.Text), "false"
	}
	args := url.Values{
		"channel": {m.To.Chat}, "text": {text}, "mrkdwn": {marked},
		// Slack would load the pages of links. A link that a model was tricked into writing
		// could tell their servers something.
		"unfurl_links": {"false"}, "unfurl_media": {"false"},
	}
	if m.To.Thread != "" {
		args.Set("thread_ts", m.To.Thread)
	}
	if buttons := platform.Buttons(c.log, m.Buttons, maxButtons, maxLabel, maxValue); len(buttons) > 0 {
		blocks, err := json.Marshal(blocksOf(text, buttons))
		if err != nil {
			return "", err
		}
		args.Set("blocks", string(blocks))
	}
	var answer struct{ Channel, TS string }
	err := c.call(ctx, c.config.Token, "chat.postMessage", args, &answer)
	if errors.Is(err, channel.ErrGone) && m.To.Answer != "" {
		if id, err := c.respond(ctx, m.To.Answer, text); err == nil {
			return id, nil
		}
	}
	if err != nil {
		return "", err
	}
	if answer.Channel == "" || answer.TS == "" {
		return "", errors.New("slack: chat.postMessage names no message")
	}
	return messageID(answer.Channel, answer.TS), nil
}

// respond answers a slash command where the app is no member, so that only the person who wrote it sees
// the answer. The address, which anybody might have sent, takes five answers within half an hour
// (interactivity/handling-user-interaction, response_url).
func (c *Channel) respond(ctx context.Context, to, text string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || !c.api.Trusts(u, "slack.com") {
		return "", errors.New("slack: the response_url of a command is no address of Slack")
	}
	body := map[string]any{"response_type": "ephemeral", "text": text, "replace_original": false}
	_, err = c.api.Do(ctx, platform.Request{Call: "response_url", URL: u, Body: body, Raw: true})
	return "response", err
}

// Limits of Block Kit.
const (
	maxSection = 3000 // characters of the text of a section
	maxLabel   = 75   // characters of a button's label; the rest is left out
	maxValue   = 2000 // bytes of what a button says; one that says more is left out
	maxRow     = 25   // buttons of a block
	maxButtons = 100  // buttons of a message; more are left out
)

// blocksOf returns a text with buttons below as blocks.
func blocksOf(text string, buttons []channel.Button) (blocks []map[string]any) {
	type object = map[string]any
	for text != "" {
		head := firstPart(text, maxSection)
		text = strings.TrimPrefix(text[len(head):], "\n")
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": head}})
	}
	for some := range slices.Chunk(buttons, maxRow) {
		var row []object
		for i, b := range some {
			row = append(row, object{
				"type": "button", "action_id": pressed + strconv.Itoa(i), "value": b.Text,
				"text": object{"type": "plain_text", "text": b.Label},
			})
		}
		blocks = append(blocks, object{"type": "actions", "elements": row})
	}
	return blocks
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
	return c.call(ctx, c.config.Token, "chat.update",
		url.Values{"channel": {chat}, "ts": {ts}, "text": {c.dialect.Render(text)}, "blocks": {"[]"}}, nil)
}

// Typing implements [channel.Typer] in threads: Slack shows there what an app does, in the words that it is told;
// dots are in every language. Other places have nothing of the kind for apps.
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	if to.Thread == "" || c.quiet.Load() {
		return nil
	}
	err := c.call(ctx, c.config.Token, "assistant.threads.setStatus",
		url.Values{"channel_id": {to.Chat}, "thread_ts": {to.Thread}, "status": {"…"}}, nil)
	if errors.Is(err, channel.ErrRefused) ||
		platform.Fails(err, "unknown_method", "method_not_supported_for_channel_type", "not_allowed", "access_denied",
			"feature_not_enabled") {
		c.quiet.Store(true)
		c.log.InfoContext(ctx, "slack does not let this app show that it is writing", "error", err)
		return nil
	}
	return err
}
