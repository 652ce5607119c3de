package wecom

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

// maxText is the longest text of a message in bytes, plain or as Markdown (发送应用消息,
// document/path/90236).
const maxText = 2048

// The bounds of a card with buttons (模板卡片消息, the same page).
const (
	cardButtons = 6
	cardText    = 160  // characters
	cardLabel   = 10   // characters
	cardKey     = 1024 // bytes
)

// progress is how much of a message was sent when the platform failed.
type progress struct {
	sent int
	id   string
}

// part is one message of the platform: the name of its type, and what it consists of.
type part func(ctx context.Context) (kind string, content any, err error)

// Send implements [channel.Channel]. A message becomes several of the platform, of which
// those that were sent are not sent again with the same key.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	to, group := strings.CutPrefix(m.To.Chat, "group:")
	if !name(to) {
		return "", fmt.Errorf("%w: %q names no member and no group of WeCom", channel.ErrGone, printable.Line(m.To.Chat, 80))
	}
	parts := c.compose(m, group)
	var p progress
	if m.Key != "" {
		p, _ = c.parts.Get(m.Key)
	}
	for _, part := range parts[min(p.sent, len(parts)):] {
		kind, content, err := part(ctx)
		if err == nil {
			p.id, err = c.send(ctx, to, group, kind, content)
		}
		if err != nil {
			return "", err
		}
		if p.sent++; m.Key != "" {
			c.parts.Put(m.Key, p)
		}
	}
	if m.Key != "" {
		c.parts.Put(m.Key, progress{})
	}
	return p.id, nil
}

// name reports whether s can be a member or a group. Others would mean several members,
// and "@all" the whole company.
func name(s string) bool {
	return named.MatchString(s)
}

var named = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.@/-]{0,127}$`)

// send sends one message of the platform. Groups give no ID.
func (c *Channel) send(ctx context.Context, to string, group bool, kind string, content any) (string, error) {
	if group {
		err := c.post(ctx, "appchat/send", nil, map[string]any{"chatid": to, "msgtype": kind, kind: content}, nil)
		return "", err
	}
	var sent struct {
		ID         string `json:"msgid"`
		Invalid    string `json:"invaliduser"`
		Unlicensed string `json:"unlicenseduser"`
	}
	body := map[string]any{"touser": to, "agentid": c.config.Agent, "msgtype": kind, kind: content}
	if err := c.post(ctx, "message/send", nil, body, &sent); err != nil {
		return "", err
	}
	switch {
	case sent.Invalid != "":
		return "", fmt.Errorf("%w: wecom: message/send: %s does not exist or may not see the application", channel.ErrGone, to)
	case sent.Unlicensed != "":
		return "", fmt.Errorf("%w: wecom: message/send: %s has no licence for the API (基础接口许可)", channel.ErrRefused, to)
	}
	return sent.ID, nil
}

// compose returns the messages of the platform that make up a message.
func (c *Channel) compose(m channel.Outgoing, group bool) []part {
	var parts []part
	say := func(text string) {
		text, marked := render(text)
		for _, piece := range pieces(text, maxText) {
			kind := "text"
			if marked {
				kind = "markdown"
			}
			parts = append(parts, func(context.Context) (string, any, error) {
				return kind, map[string]string{"content": piece}, nil
			})
		}
	}
	buttons, text := m.Buttons, m.Text
	if group && len(buttons) > 0 { // groups show no cards
		for _, b := range buttons {
			text += "\n- " + b.Label + ": " + b.Text
		}
		buttons = nil
	}
	above := ""
	if plain, marked := render(text); len(buttons) > 0 && !marked && utf8.RuneCountInString(plain) <= cardText {
		above, text = plain, ""
	}
	if text != "" {
		say(text)
	}
	for len(buttons) > 0 {
		n := min(len(buttons), cardButtons)
		parts = append(parts, card(above, buttons[:n]))
		above, buttons = "", buttons[n:]
	}
	for _, f := range m.Files {
		if len(f.Data) < minUpload {
			say(fmt.Sprintf("%s: %s", cmp.Or(f.Name, "file"), strings.ToValidUTF8(string(f.Data), "")))
			continue
		}
		parts = append(parts, func(ctx context.Context) (string, any, error) {
			id, err := c.upload(ctx, f)
			return kind(f), map[string]string{"media_id": id}, err
		})
	}
	return parts
}

// card is a card with buttons. The key of a button is its label and what it says; one with a
// longer key is left out.
func card(text string, buttons []channel.Button) part {
	type button struct {
		Text  string `json:"text"`
		Style int    `json:"style"`
		Key   string `json:"key"`
	}
	var list []button
	for i, b := range buttons {
		label := printable.Line(b.Label, cardLabel)
		if key := strings.ReplaceAll(label, "|", "/") + "|" + printable.Text(b.Text); len(key) <= cardKey {
			list = append(list, button{label, 1 + min(i, 1), key})
		}
	}
	content := map[string]any{
		"card_type":   "button_interaction",
		"main_title":  map[string]string{"title": "请选择 · Please choose"},
		"task_id":     rand.Text(), // no other card of the application may have it
		"button_list": list,
	}
	if text != "" {
		content["sub_title_text"] = text
	}
	return func(context.Context) (string, any, error) { return "template_card", content, nil }
}

// pieces cuts a text into pieces of at most so many bytes, where possible between lines or
// words.
func pieces(text string, most int) []string {
	var all []string
	for len(text) > most {
		at := strings.LastIndexByte(text[:most+1], '\n')
		if at <= 0 {
			at = strings.LastIndexByte(text[:most+1], ' ')
		}
		next := at + 1
		if at <= 0 {
			for at = most; !utf8.RuneStart(text[at]); at-- {
			}
			next = at
		}
		all = append(all, text[:at])
		text = text[next:]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}
