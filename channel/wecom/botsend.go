package wecom

import (
	"context"
	"crypto/md5" //nolint:gosec // the platform's checksum
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

var errNotConnected = errors.New("wecom: the bot is not connected now")

// maxChunk is how many bytes of a file a frame carries.
const maxChunk = 512 << 10

// Send implements [channel.Channel]. The first text answers the message itself, by the ID of its frame:
// that needs no right to write by oneself (aibot_respond_msg). All others, and this one if that fails,
// are messages to the chat (aibot_send_msg).
func (b *Bot) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	to, group, err := target(m.To.Chat)
	if err != nil {
		return "", err
	}
	c := b.open.Load()
	if c == nil {
		return "", errNotConnected
	}
	return b.sent.Each(m, compose(m, false), func(part channel.Outgoing) (string, error) {
		switch {
		case len(part.Files) > 0:
			id, err := c.upload(ctx, part.Files[0])
			if err != nil {
				return "", err
			}
			return c.post(ctx, to, group, kind(part.Files[0]), map[string]string{"media_id": id})
		case len(part.Buttons) > 0:
			content := card(part.Text, part.Buttons)
			b.cards.Put(fmt.Sprint(content["task_id"]), part.Text)
			return c.post(ctx, to, group, "template_card", content)
		}
		text := b.dialect.Render(part.Text)
		if m.Plain {
			text = escapeBot(part.Text)
		}
		if part.To.Message != "" && part.To.Answer != "" {
			err := c.respond(ctx, part.To.Answer, text, true)
			if err == nil {
				return part.To.Message + "-answer", nil
			}
			c.log.DebugContext(ctx, "WeCom does not take an answer to a message; it is sent to the chat", "error", err)
		}
		return c.post(ctx, to, group, "markdown", map[string]string{"content": text})
	})
}

// botDialect is the Markdown of bots, which is the usual one with tables and code, unlike that of
// applications. A picture is a link, which no reader's program loads.
func botDialect() markup.Dialect {
	d := markup.Markdown(escapeBot)
	d.Link = func(l markup.Link) string {
		switch target, ok := markup.Address(l.Target); {
		case !ok || !l.Web():
			return escapeBot(l.Plain())
		case l.Bare || l.Label == "" || l.Label == l.Target:
			return markup.InLink(target)
		default:
			return "[" + strings.ReplaceAll(escapeBot(l.Label), "]", `\]`) + "](" + markup.InLink(target) + ")"
		}
	}
	return d
}

// within is a sign that means nothing between letters and digits.
var within = regexp.MustCompile(`([\pL\pN]\\?)\\_`)

// escapeBot writes text without meaning. Within a word an underline needs no sign before it.
func escapeBot(s string) string {
	return within.ReplaceAllString(markup.EscapeMarkdown(s), "${1}_")
}

// respond answers the message of a frame with a text that grows until it is final. Nothing follows that.
func (c *link) respond(ctx context.Context, frame, text string, final bool) error {
	wanted := func() bool {
		if final {
			c.final.Put(frame, true)
			return true
		}
		ended, _ := c.final.Get(frame)
		return !ended
	}
	return c.askIf(ctx, "aibot_respond_msg", frame, wanted, map[string]any{
		"msgtype": "stream", "stream": map[string]any{"id": platform.Digest(32, frame), "finish": final,
			"content": text},
	}, nil)
}

// chosen shows the button of a card that was pressed in place of its buttons. What fails leaves them there,
// and the press counts all the same.
func (c *link) chosen(ctx context.Context, frame string, p pressKey) {
	label, _, ok := strings.Cut(p.Key, "|")
	if !ok || p.Task == "" {
		return
	}
	content := map[string]any{
		"card_type": "text_notice", "task_id": p.Task,
		"main_title":  map[string]string{"title": "✓ " + label},
		"card_action": map[string]any{"type": 1, "url": "https://work.weixin.qq.com"}, // such a card needs one
	}
	if text, _ := c.cards.Get(p.Task); text != "" {
		content["sub_title_text"] = text
	}
	body := map[string]any{"response_type": "update_template_card", "template_card": content}
	if err := c.ask(ctx, "aibot_respond_update_msg", frame, body, nil); err != nil {
		c.log.DebugContext(ctx, "the buttons of a card of WeCom stay", "error", err)
	}
}

// post sends a message to a chat. The platform gives no ID.
func (c *link) post(ctx context.Context, to string, group bool, kind string, content any) (string, error) {
	id := "aibot_send_msg_" + rand.Text()
	body := map[string]any{"chatid": to, "chat_type": 1, "msgtype": kind, kind: content}
	if group {
		body["chat_type"] = 2
	}
	return id, c.ask(ctx, "aibot_send_msg", id, body, nil)
}

// Mark implements [channel.Marker]: the answer begins with dots. It ends them, too.
func (b *Bot) Mark(ctx context.Context, to channel.Address, busy bool) error {
	c := b.open.Load()
	if c == nil || to.Answer == "" || !busy {
		return nil
	}
	return c.respond(ctx, to.Answer, "…", false)
}

// upload hands a file to the platform and returns its media ID (上传临时素材).
func (c *link) upload(ctx context.Context, f chat.File) (string, error) {
	sum := md5.Sum(f.Data) //nolint:gosec // as above
	chunks := slices.Collect(slices.Chunk(f.Data, maxChunk))
	var begun struct {
		ID string `json:"upload_id"`
	}
	ask := func(step string, body, into any) error {
		return c.ask(ctx, "aibot_upload_media_"+step, "aibot_upload_media_"+step+"_"+rand.Text(), body, into)
	}
	err := ask("init", map[string]any{
		"type": kind(f), "filename": printable.Line(f.Name,
			200), "total_size": len(f.Data), "total_chunks": len(chunks),
		"md5": hex.EncodeToString(sum[:]),
	}, &begun)
	for i := 0; err == nil && i < len(chunks); i++ {
		err = ask("chunk", map[string]any{
			"upload_id": begun.ID, "chunk_index": i, "base64_data": base64.StdEncoding.EncodeToString(chunks[i]),
		}, nil)
	}
	if err != nil {
		return "", err
	}
	var done struct {
		ID string `json:"media_id"`
	}
	err = ask("finish", map[string]string{"upload_id": begun.ID}, &done)
	if err == nil && done.ID == "" {
		err = errors.New("wecom: the platform has named no file that was sent")
	}
	return done.ID, err
}
