package matrix

import (
	"cmp"
	"context"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type pollInput struct {
	Question string   `json:"question" jsonschema:"at most 340 characters"`
	Options  []string `json:"options" jsonschema:"2 to 20 answers of at most 340 characters each"`
	Choices  int      `json:"choices,omitempty" jsonschema:"how many answers each person may choose; 1 if it is left out"`
}

type topicInput struct {
	Topic string `json:"topic" jsonschema:"at most 500 characters; empty removes the topic"`
}

// Tools returns the tools that the account offers: matrix_poll and matrix_topic. They work in the
// room that the call comes from, and in no other.
func (c *Channel) Tools() []tool.Tool {
	poll := platform.Definition(Platform, "matrix_poll",
		"Post a poll in this Matrix room; people vote by choosing an answer.",
		"在当前 Matrix 房间中发起投票。", []string{"poll", "vote", "survey", "投票", "问卷"},
		[]string{"ask the room where to have lunch", "let everybody vote on the date", "发起一个投票"})
	topic := platform.Definition(Platform, "matrix_topic",
		"Set the topic of this Matrix room, which everybody sees below its name.",
		"设置当前 Matrix 房间的主题。", []string{"room topic", "subject", "房间主题"},
		[]string{"set the topic to release week", "把房间主题改成发布周"})
	poll.Replay, topic.Replay = tool.Keyed, tool.Safe
	return []tool.Tool{tool.Func(poll, c.poll), tool.Func(topic, c.topic)}
}

func here(ctx context.Context) (channel.Address, error) {
	return platform.Here(ctx, Platform, func(at channel.Address) bool { return roomID(at.Chat) })
}

func (c *Channel) poll(ctx context.Context, in pollInput) (chat.Result, error) {
	to, err := here(ctx)
	if err != nil {
		return chat.Result{}, err
	}
	const most = 340 // what Element takes
	if wrong := platform.CheckPoll(in.Question, in.Options, most, 2, 20, most); wrong != "" {
		return tool.Failure("%s", wrong), nil
	}
	if in.Choices < 0 || in.Choices > len(in.Options) {
		return tool.Failure("choices is 1 to the number of options, %d", len(in.Options)), nil
	}
	body := poll(in.Question, in.Options, cmp.Or(in.Choices, 1))
	if relates := c.relation(ctx, to.Chat, to); relates != nil {
		body["m.relates_to"] = relates
	}
	id, err := c.post(ctx, to.Chat, typePoll, tool.IdempotencyKey(ctx), body)
	if err != nil {
		return chat.Result{}, err
	}
	return tool.Text("The poll was posted as message " + id + "."), nil
}

func (c *Channel) topic(ctx context.Context, in topicInput) (chat.Result, error) {
	to, err := here(ctx)
	if err != nil {
		return chat.Result{}, err
	}
	if utf8.RuneCountInString(in.Topic) > 500 {
		return tool.Failure("a topic has at most 500 characters"), nil
	}
	err = c.call(ctx, "PUT", "v3/rooms/{}/state/{}/", []string{to.Chat, typeTopic}, nil, object{"topic": in.Topic}, nil)
	if platform.Fails(err, forbidden) {
		return tool.Failure("the account may not change the topic here: an administrator of the room has to make it a moderator"), nil
	}
	if err != nil {
		return chat.Result{}, err
	}
	return tool.Text("The topic was set."), nil
}
