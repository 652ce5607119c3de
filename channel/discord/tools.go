package discord

import (
	"cmp"
	"context"
	"fmt"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
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
	return []tool.Tool{tool.Func(platform.Definition(Platform, "discord_poll",
		"Post a poll in this Discord channel; people vote by choosing an answer.",
		"在当前 Discord 频道中发起投票。", []string{"poll", "vote", "survey", "投票", "问卷"},
		[]string{"ask the server which game to play", "let everybody vote on the date", "发起一个投票"}), c.poll)}
}

func (c *Channel) poll(ctx context.Context, in pollInput) (chat.Result, error) {
	to, err := platform.Here(ctx, Platform,
		func(at channel.Address) bool { return snowflake(cmp.Or(at.Thread, at.Chat)) })
	if err != nil {
		return chat.Result{}, err
	}
	if wrong := platform.CheckPoll(in.Question, in.Options, 300, 1, 10, 55); wrong != "" {
		return tool.Failure("%s", wrong), nil
	}
	if in.Hours < 0 || in.Hours > 768 {
		return tool.Failure("people can vote for 1 to 768 hours, not %d", in.Hours), nil
	}
	answers := make([]map[string]any, len(in.Options))
	for i, o := range in.Options {
		answers[i] = map[string]any{"poll_media": map[string]any{"text": o}}
	}
	id, err := c.write(ctx, "POST", "channels/{}/messages", []string{cmp.Or(to.Thread, to.Chat)}, map[string]any{
		"allowed_mentions": none, "poll": map[string]any{
			"question": map[string]any{"text": in.Question}, "answers": answers, "allow_multiselect": in.Multiple,
			"duration": cmp.Or(in.Hours, 24),
		},
	}, nil)
	if err != nil {
		return chat.Result{}, err
	}
	return tool.Text(fmt.Sprintf("The poll was posted as message %s.", id)), nil
}
