package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type pollInput struct {
	Question string   `json:"question" jsonschema:"at most 300 characters"`
	Options  []string `json:"options" jsonschema:"2 to 12 answers of at most 100 characters each"`
	Multiple bool     `json:"multiple,omitempty" jsonschema:"people may choose several answers"`
	Public   bool     `json:"public,omitempty" jsonschema:"show who chose what"`
	Correct  int      `json:"correct,omitempty" jsonschema:"for a quiz: the number of the right answer, from 1"`
}

type stickerInput struct {
	Emoji string `json:"emoji" jsonschema:"the emoji of the sticker"`
	Set   string `json:"set" jsonschema:"the name of the set of stickers, as people's stickers show it or as in t.me/addstickers/NAME"`
}

// Tools returns the tools that the bot offers: telegram_poll and telegram_sticker. They
// write to the chat that the call comes from, and to no other.
func (c *Channel) Tools() []tool.Tool {
	return []tool.Tool{
		tool.Func(platform.Definition(Platform, "telegram_poll",
			"Post a poll or quiz in this Telegram chat; people vote by pressing an answer.",
			"在当前 Telegram 聊天中发起投票或测验。",
			[]string{"poll", "vote", "survey", "quiz", "投票", "问卷", "测验"},
			[]string{"ask the group where to eat", "let everybody vote on the date", "发起一个投票"}), c.sendPoll),
		tool.Func(platform.Definition(Platform, "telegram_sticker", "Send a sticker to this Telegram chat.",
			"向当前 Telegram 聊天发送贴纸。",
			[]string{"sticker", "贴纸", "表情包"}, []string{"send a thumbs-up sticker", "发一个贴纸"}), c.sendSticker),
	}
}

func here(ctx context.Context) (channel.Address, error) {
	return platform.Here(ctx, Platform, func(at channel.Address) bool { return number(at.Chat) != 0 })
}

func (c *Channel) sendPoll(ctx context.Context, in pollInput) (chat.Result, error) {
	to, err := here(ctx)
	if err != nil {
		return chat.Result{}, err
	}
	wrong := platform.CheckPoll(in.Question, in.Options, 300, 2, 12, 100)
	switch {
	case wrong != "":
		return tool.Failure("%s", wrong), nil
	case in.Correct < 0 || in.Correct > len(in.Options):
		return tool.Failure("correct is the number of an option, from 1 to %d", len(in.Options)), nil
	case in.Correct > 0 && in.Multiple:
		return tool.Failure("a quiz has one right answer: leave out multiple"), nil
	}
	options := make([]params, len(in.Options))
	for i, o := range in.Options {
		options[i] = params{"text": o}
	}
	p := params{"question": in.Question, "options": options, "is_anonymous": !in.Public,
		"allows_multiple_answers": in.Multiple}
	if in.Correct > 0 {
		// correct_option_id was replaced by a list in Bot API 9.6; a server ignores the one
		// that it does not know.
		p["type"], p["correct_option_id"], p["correct_option_ids"] = "quiz", in.Correct-1, []int{in.Correct - 1}
	}
	m, err := c.post(ctx, to, "sendPoll", p)
	if err != nil {
		return chat.Result{}, err
	}
	return tool.Text(fmt.Sprintf("The poll was posted as message %d.", m.ID)), nil
}

func (c *Channel) sendSticker(ctx context.Context, in stickerInput) (chat.Result, error) {
	to, err := here(ctx)
	if err != nil {
		return chat.Result{}, err
	}
	var set struct {
		Stickers []sticker `json:"stickers"`
	}
	err = c.api.call(ctx, "getStickerSet", params{"name": in.Set}, &set)
	if platform.Fails(err, "400") {
		return tool.Failure("Telegram has no set of stickers with the name %q", in.Set), nil
	}
	if err != nil {
		return chat.Result{}, err
	}
	bare := func(emoji string) string { return strings.ReplaceAll(emoji, "\uFE0F", "") }
	i := slices.IndexFunc(set.Stickers, func(s sticker) bool { return bare(s.Emoji) == bare(in.Emoji) })
	if i < 0 {
		var has []string
		for _, s := range set.Stickers {
			if !slices.Contains(has, s.Emoji) {
				has = append(has, s.Emoji)
			}
		}
		return tool.Failure("the set %s has no sticker for %s; it has %s", in.Set, in.Emoji,
			strings.Join(has[:min(len(has), 60)], " ")), nil
	}
	if _, err := c.post(ctx, to, "sendSticker", params{"sticker": set.Stickers[i].ID}); err != nil {
		return chat.Result{}, err
	}
	return tool.Text("The sticker was sent."), nil
}

// post calls a method that posts a message in a chat.
func (c *Channel) post(ctx context.Context, to channel.Address, method string, p params) (m message, err error) {
	return m, c.in(ctx, to, func(at channel.Address) error {
		delete(p, "message_thread_id")
		addThread(p, at)
		p["chat_id"] = at.Chat
		return c.api.call(ctx, method, p, &m)
	})
}
