package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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

// Send implements [channel.Channel]. The text is a card, or if the platform cannot make it one,
// a rich text without markup.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	return c.sent.Parts(m, func(part channel.Outgoing) (string, error) {
		if len(part.Files) > 0 && len(part.Files[0].Data) > 0 {
			kind, content, err := c.upload(ctx, part.Files[0])
			if err != nil {
				return "", err
			}
			return c.deliver(ctx, part, kind, content)
		}
		if len(part.Files) > 0 { // the platform takes no empty files
			part.Text = printable.OneLine(part.Files[0].Name) + " (0 B)"
		}
		if part.Plain {
			return c.deliver(ctx, part, kindPost, plainPost(part.Text, nil))
		}
		markdown := c.dialect.Render(part.Text)
		shown := platform.Buttons(c.log, part.Buttons, maxButtons, maxLabel, maxSay)
		id, err := c.deliver(ctx, part, kindCard, card(markdown, buttons(shown, part.To.Thread)))
		if platform.Fails(err, badCard) {
			c.log.WarnContext(ctx, "feishu does not show a text as a card; it is sent without markup", "error", err)
			if part.Key != "" {
				part.Key += "/plain" // the platform may have kept the card under the other one
			}
			return c.deliver(ctx, part, kindPost, plainPost(part.Text, shown))
		}
		if err == nil && len(shown) > 0 {
			c.cards.Put(id, markdown)
		}
		return id, err
	})
}

// deliver sends one message of the platform: as a reply where a message is answered in a
// group or in a thread, else to the chat (发送消息 and 回复消息, im-v1/message/create and
// reply).
func (c *Channel) deliver(ctx context.Context, m channel.Outgoing, k kind, content any) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("feishu: %w", err)
	}
	body := map[string]any{"msg_type": k, "content": string(text)}
	if m.Key != "" {
		// The platform sends a message with the same uuid only once within an hour. It has 50
		// characters at most.
		body["uuid"] = platform.Digest(40, m.To.Chat, m.Key)
	}
	id, err := c.reply(ctx, m.To, body)
	if id == "" && err == nil {
		kind, ok := receiver(m.To.Chat)
		if !ok {
			return "", fmt.Errorf("%w: %q names no chat and nobody in Feishu", channel.ErrGone,
				platform.Word(m.To.Chat))
		}
		body["receive_id"] = m.To.Chat
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
		"config": object{"update_multi": true, "enable_forward": len(buttons) == 0,
			"summary": object{"content": summary(markdown)}},
		"body": object{"elements": append(elements, buttons...)},
	}
}

// buttons are the buttons of a message in a thread.
func buttons(shown []channel.Button, thread string) (list []any) {
	type object map[string]any
	for i, b := range shown {
		list = append(list, object{
			"tag": "button", "type": []string{"primary", "default"}[min(i, 1)],
			"text":      object{"tag": "plain_text", "content": b.Label},
			"behaviors": []object{{"type": "callback", "value": value{b.Text, b.Label, thread}}},
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

// Mark implements [channel.Marker] by an emoji: the platform does not show that a bot is typing
// (添加消息表情回复, im-v1/message-reaction/create).
func (c *Channel) Mark(ctx context.Context, to channel.Address, busy bool) error {
	message := messageOf(to.Message)
	if message == "" {
		return errors.New("feishu: no message is named to react to")
	}
	path := "im/v1/messages/" + message + "/reactions"
	if id, had := c.marks.Get(message); had && !busy {
		c.marks.Remove(message)
		return c.call(ctx, http.MethodDelete, path+"/"+url.PathEscape(id), nil, nil, nil)
	} else if had || !busy {
		return nil
	}
	var answer struct {
		ID string `json:"reaction_id"`
	}
	body := map[string]any{"reaction_type": map[string]string{"emoji_type": "GLANCE"}} // 👀
	err := c.call(ctx, http.MethodPost, path, nil, body, &answer)
	if err == nil {
		c.marks.Put(message, answer.ID)
	}
	return err
}
