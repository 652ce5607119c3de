package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type pollInput struct {
	Question string   `json:"question" jsonschema:"at most 300 characters"`
	Options  []string `json:"options" jsonschema:"1 to 10 answers of at most 55 characters each"`
	Multiple bool     `json:"multiple,omitempty" jsonschema:"people may choose several answers"`
	Hours    int      `json:"hours,omitempty" jsonschema:"how long people can vote, 1 to 768 hours; 24 if it is left out"`
}

// Tools returns the tool that the bot offers: discord_poll. It writes to the chat that the
// call comes from, and to no other.
func (c *Channel) Tools() []tool.Tool {
	return []tool.Tool{tool.Func(tool.Definition{
		Name: "discord_poll", Description: "Post a poll in this Discord channel; people vote by choosing an answer.",
		Translations: map[string]string{"zh": "在当前 Discord 频道中发起投票。"},
		Aliases:      []string{"poll", "vote", "survey", "投票", "问卷"}, Examples: []string{"ask the server which game to play", "let everybody vote on the date", "发起一个投票"},
		Groups: []string{Platform}, Channels: []string{Platform}, Risk: tool.Write, Timeout: time.Minute, Source: "channel",
	}, c.poll)}
}

func (c *Channel) poll(ctx context.Context, in pollInput) (chat.Result, error) {
	f := tool.Caller(ctx)
	to := channel.Address{Chat: cmp.Or(f.Chat, f.Attrs["chat"]), Thread: f.Attrs["thread"]}
	if f.Channel != Platform || !snowflake(cmp.Or(to.Thread, to.Chat)) {
		return chat.Result{}, errors.New("this works in a chat of Discord only")
	}
	long := func(s string, most int) bool {
		return strings.TrimSpace(s) == "" || utf8.RuneCountInString(s) > most
	}
	switch {
	case long(in.Question, 300):
		return tool.Failure("the question must have 1 to 300 characters"), nil
	case len(in.Options) < 1 || len(in.Options) > 10:
		return tool.Failure("a poll has 1 to 10 options, not %d", len(in.Options)), nil
	case slices.ContainsFunc(in.Options, func(o string) bool { return long(o, 55) }):
		return tool.Failure("every option must have 1 to 55 characters"), nil
	case in.Hours < 0 || in.Hours > 768:
		return tool.Failure("people can vote for 1 to 768 hours, not %d", in.Hours), nil
	}
	answers := make([]map[string]any, len(in.Options))
	for i, o := range in.Options {
		answers[i] = map[string]any{"poll_media": map[string]any{"text": o}}
	}
	id, err := c.write(ctx, "POST", "channels/{}/messages", []string{cmp.Or(to.Thread, to.Chat)}, map[string]any{
		"allowed_mentions": none, "poll": map[string]any{
			"question": map[string]any{"text": in.Question}, "answers": answers, "allow_multiselect": in.Multiple, "duration": cmp.Or(in.Hours, 24),
		},
	}, nil)
	if err != nil {
		return chat.Result{}, err
	}
	return tool.Text(fmt.Sprintf("The poll was posted as message %s.", id)), nil
}
