package wecom

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
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

// Send implements [channel.Channel].
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	to, group, err := target(m.To.Chat)
	if err != nil {
		return "", err
	}
	return c.sent.Each(m, compose(m, group), func(part channel.Outgoing) (string, error) {
		switch {
		case len(part.Files) > 0:
			id, err := c.upload(ctx, part.Files[0])
			if err != nil {
				return "", err
			}
			return c.send(ctx, to, group, kind(part.Files[0]), map[string]string{"media_id": id})
		case len(part.Buttons) > 0:
			return c.send(ctx, to, group, "template_card", card(part.Text, part.Buttons))
		}
		text, marked := render(part.Text)
		if marked && !m.Plain {
			return c.send(ctx, to, group, "markdown", map[string]string{"content": text})
		}
		return c.send(ctx, to, group, "text", map[string]string{"content": text})
	})
}

// target returns the member or the group of a chat.
func target(at string) (to string, group bool, err error) {
	if to, group = strings.CutPrefix(at, "group:"); !name(to) {
		err = fmt.Errorf("%w: %q names no member and no group of WeCom", channel.ErrGone, printable.Line(at, 80))
	}
	return to, group, err
}

// compose returns the messages of the platform that make up a message: a text, cards with
// buttons, and files. The platform takes no small files.
func compose(m channel.Outgoing, group bool) (parts []channel.Outgoing) {
	buttons, above := m.Buttons, ""
	if group { // which shows no cards
		for _, b := range buttons {
			m.Text += "\n- " + b.Label + ": " + b.Text
		}
		buttons = nil
	}
	if plain, marked := render(m.Text); len(buttons) > 0 && !marked && utf8.RuneCountInString(plain) <= cardText {
		above, m.Text = plain, ""
	}
	if m.Text != "" {
		parts = append(parts, channel.Outgoing{Text: m.Text})
	}
	for some := range slices.Chunk(buttons, cardButtons) {
		parts = append(parts, channel.Outgoing{Text: above, Buttons: some})
		above = ""
	}
	for _, f := range m.Files {
		part := channel.Outgoing{Files: []chat.File{f}}
		if len(f.Data) < minUpload {
			part = channel.Outgoing{Text: fmt.Sprintf("%s: %s", cmp.Or(f.Name, "file"),
				strings.ToValidUTF8(string(f.Data), ""))}
		}
		parts = append(parts, part)
	}
	return parts
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
		return "", fmt.Errorf("%w: wecom: message/send: %s does not exist or may not see the application",
			channel.ErrGone, to)
	case sent.Unlicensed != "":
		return "", fmt.Errorf("%w: wecom: message/send: %s has no licence for the API (基础接口许可)",
			channel.ErrRefused, to)
	}
	return sent.ID, nil
}

// card is a card with buttons. The key of a button is its label and what it says; one with a
// longer key is left out.
func card(text string, buttons []channel.Button) map[string]any {
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
	lang := phrase.English
	if chat.Chinese(text + buttons[0].Label) {
		lang = phrase.Chinese
	}
	content := map[string]any{
		"card_type":   "button_interaction",
		"main_title":  map[string]string{"title": phrase.In(lang, "Please choose")},
		"task_id":     rand.Text(), // no other card of the application may have it
		"button_list": list,
	}
	if text != "" {
		content["sub_title_text"] = text
	}
	return content
}
