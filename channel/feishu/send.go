package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// maxText is how many bytes a text has in the request that sends it. A request with a card
// has 30 KB at most (发送消息, im-v1/message/create).
const maxText = 24 << 10

// The bounds of the buttons of a card.
const (
	maxButtons = 50   // more are left out
	maxLabel   = 60   // characters of a label; the rest is left out
	maxSay     = 2000 // bytes of what a button says; one that says more is left out
)

// progress is how much of a message was sent when the platform failed.
type progress struct {
	sent int
	id   string // of the first one
}

// part is one message of the platform.
type part func(ctx context.Context) (id string, err error)

// Send implements [channel.Channel]. A message becomes several of the platform: a card, and
// one for each file. Those that were sent are not sent again with the same key. The ID is
// that of the first one.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	parts := c.compose(m)
	if len(parts) == 0 {
		return "", errors.New("feishu: the message is empty")
	}
	var p progress
	if m.Key != "" {
		p, _ = c.parts.Get(m.Key)
	}
	for _, part := range parts[min(p.sent, len(parts)):] {
		id, err := part(ctx)
		if err != nil {
			return "", err
		}
		if p.sent++; p.sent == 1 {
			p.id = id
		}
		if m.Key != "" {
			c.parts.Put(m.Key, p)
		}
	}
	return p.id, nil
}

// compose returns the messages of the platform that make up a message.
func (c *Channel) compose(m channel.Outgoing) (parts []part) {
	number := 0
	send := func(content func(ctx context.Context) (kind, any, error)) part {
		number++
		key := unique(m, number)
		return func(ctx context.Context) (string, error) {
			k, v, err := content(ctx)
			if err != nil {
				return "", err
			}
			return c.deliver(ctx, m.To, k, v, key)
		}
	}
	text := m.Text
	files := m.Files[:0:0]
	for _, f := range m.Files {
		if len(f.Data) == 0 { // the platform takes no empty files
			text += fmt.Sprintf("\n\n%s (0 B)", printable.OneLine(f.Name))
			continue
		}
		files = append(files, f)
	}
	if text != "" || len(m.Buttons) > 0 {
		parts = append(parts, c.text(m, text, send))
	}
	for _, f := range files {
		parts = append(parts, send(func(ctx context.Context) (kind, any, error) { return c.upload(ctx, f) }))
	}
	return parts
}

// text returns the message with the text and the buttons: a card, or if the platform cannot
// make it a card, a rich text without markup.
func (c *Channel) text(m channel.Outgoing, text string, send func(func(context.Context) (kind, any, error)) part) part {
	markdown := c.dialect.Render(text)
	asCard := send(func(context.Context) (kind, any, error) { return kindCard, card(markdown, buttons(m)), nil })
	asPost := send(func(context.Context) (kind, any, error) { return kindPost, plainPost(text, m.Buttons), nil })
	return func(ctx context.Context) (string, error) {
		id, err := asCard(ctx)
		if platform.Fails(err, badCard) {
			c.log.WarnContext(ctx, "feishu does not show a text as a card; it is sent without markup", "error", err)
			return asPost(ctx)
		}
		if err == nil && len(m.Buttons) > 0 {
			c.cards.Put(id, markdown)
		}
		return id, err
	}
}

// unique is the uuid of a message: the platform sends one with the same only once within an
// hour. It has 50 characters at most.
func unique(m channel.Outgoing, number int) string {
	if m.Key == "" {
		return ""
	}
	return sum(m.To.Chat + "\x00" + m.Key + "\x00" + strconv.Itoa(number))
}

// sum is a key of the platform for one of etui.
func sum(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:20])
}

// deliver sends one message of the platform: as a reply where a message is answered in a
// group or in a thread, else to the chat (发送消息 and 回复消息, im-v1/message/create and
// reply).
func (c *Channel) deliver(ctx context.Context, to channel.Address, k kind, content any, key string) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("feishu: %w", err)
	}
	body := map[string]any{"msg_type": k, "content": string(text)}
	if key != "" {
		body["uuid"] = key
	}
	id, err := c.reply(ctx, to, body)
	if id == "" && err == nil {
		kind, ok := receiver(to.Chat)
		if !ok {
			return "", fmt.Errorf("%w: %q names no chat and nobody in Feishu", channel.ErrGone, platform.Word(to.Chat))
		}
		body["receive_id"] = to.Chat
		delete(body, "reply_in_thread")
		id, err = c.write(ctx, http.MethodPost, "im/v1/messages", url.Values{"receive_id_type": {kind}}, body)
	}
	if err == nil {
		c.mine.Put(id, k)
	}
	return id, err
}

// reply answers a message. It returns no ID if there is none to answer.
func (c *Channel) reply(ctx context.Context, to channel.Address, body map[string]any) (string, error) {
	message := messageOf(to.Message)
	_, direct := c.peers.Get(to.Chat)
	switch {
	case to.Thread != "":
		body["reply_in_thread"] = true
		if message == "" {
			message = messageOf(to.Thread)
		}
		if message == "" {
			return "", fmt.Errorf("%w: %q names no thread in Feishu", channel.ErrGone, platform.Word(to.Thread))
		}
	case direct, message == "":
		return "", nil
	}
	id, err := c.write(ctx, http.MethodPost, "im/v1/messages/"+message+"/reply", nil, body)
	if !platform.Fails(err, withdrawn...) {
		return id, err
	}
	if to.Thread == "" {
		return "", nil // the question was taken back; the answer goes to the chat
	}
	if root := messageOf(to.Thread); root != "" && root != message {
		id, err = c.write(ctx, http.MethodPost, "im/v1/messages/"+root+"/reply", nil, body)
	}
	if platform.Fails(err, withdrawn...) {
		err = fmt.Errorf("%w: %w", channel.ErrGone, err)
	}
	return id, err
}

// write calls what sends a message, and returns its ID.
func (c *Channel) write(ctx context.Context, method, path string, query url.Values, body any) (string, error) {
	var answer struct {
		ID string `json:"message_id"`
	}
	if err := c.call(ctx, method, path, query, body, &answer); err != nil {
		return "", err
	}
	if !isID(answer.ID, "om_") {
		return "", fmt.Errorf("feishu: %s names no message", path)
	}
	return answer.ID, nil
}

// receiver returns the type of an ID that a message can be sent to.
func receiver(id string) (kind string, ok bool) {
	for prefix, kind := range map[string]string{"oc_": "chat_id", "ou_": "open_id", "on_": "union_id"} {
		if isID(id, prefix) {
			return kind, true
		}
	}
	return "", false
}

// card is a card of one text with buttons below (卡片 JSON 2.0 结构,
// feishu-cards/card-json-v2-structure). It can be changed later, as update_multi says, and
// not be forwarded: its buttons belong to the chat.
func card(markdown string, buttons []any) any {
	type object map[string]any
	elements := []any{}
	if markdown != "" {
		elements = append(elements, object{"tag": "markdown", "content": markdown})
	}
	return object{
		"schema": "2.0",
		"config": object{"update_multi": true, "enable_forward": len(buttons) == 0, "summary": object{"content": summary(markdown)}},
		"body":   object{"elements": append(elements, buttons...)},
	}
}

// buttons are the buttons of a message.
func buttons(m channel.Outgoing) (list []any) {
	type object map[string]any
	for _, b := range m.Buttons {
		if b.Text == "" || len(b.Text) > maxSay || len(list) == maxButtons {
			continue
		}
		label := printable.Line(b.Label, maxLabel)
		if label == "" {
			label = printable.Line(b.Text, maxLabel)
		}
		style := "default"
		if len(list) == 0 {
			style = "primary"
		}
		list = append(list, object{
			"tag": "button", "type": style, "text": object{"tag": "plain_text", "content": label},
			"behaviors": []object{{"type": "callback", "value": value{b.Text, label, m.To.Thread}}},
		})
	}
	return list
}

// plainPost is a rich text of nothing but text, in which nothing is markup.
func plainPost(text string, buttons []channel.Button) any {
	type object map[string]any
	for _, b := range buttons {
		text += "\n- " + b.Label + ": " + b.Text
	}
	lines := [][]object{}
	for line := range strings.Lines(text) {
		lines = append(lines, []object{{"tag": "text", "text": strings.TrimRight(line, "\n")}})
	}
	return object{"zh_cn": object{"title": "", "content": lines}}
}

// Edit implements [channel.Editor]. Buttons go away. A card can be changed for 14 days, five
// times a second (更新已发送的消息卡片, im-v1/message/patch), a rich text 20 times (编辑消息,
// im-v1/message/update).
func (c *Channel) Edit(ctx context.Context, _ channel.Address, id, text string) error {
	message := messageOf(id)
	if message == "" {
		return fmt.Errorf("feishu: %q is not the ID of a message", platform.Word(id))
	}
	method, body := http.MethodPatch, map[string]any{}
	var content any
	if k, _ := c.mine.Get(message); k == kindPost {
		method, content = http.MethodPut, plainPost(text, nil)
		body["msg_type"] = kindPost
	} else {
		content = card(c.dialect.Render(text), nil)
	}
	out, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("feishu: %w", err)
	}
	body["content"] = string(out)
	c.cards.Remove(message)
	return c.call(ctx, method, "im/v1/messages/"+message, nil, body, nil)
}

// React implements [channel.Reactor]. The bot has one emoji on a message; another one
// replaces it. Which one it is the channel knows until it ends (添加消息表情回复,
// im-v1/message-reaction/create).
func (c *Channel) React(ctx context.Context, to channel.Address, emoji string) error {
	message := messageOf(to.Message)
	if message == "" {
		return errors.New("feishu: no message is named to react to")
	}
	name := ""
	if emoji != "" {
		if name = emojiName(emoji); name == "" {
			return fmt.Errorf("feishu: no name is known for the emoji %q", platform.Word(emoji))
		}
	}
	path := "im/v1/messages/" + message + "/reactions"
	return c.reacts.Replace(message, name, func(id string) error {
		return c.call(ctx, http.MethodDelete, path+"/"+url.PathEscape(id), nil, nil, nil)
	}, func() (string, error) {
		var answer struct {
			ID string `json:"reaction_id"`
		}
		body := map[string]any{"reaction_type": map[string]string{"emoji_type": name}}
		err := c.call(ctx, http.MethodPost, path, nil, body, &answer)
		return answer.ID, err
	})
}
