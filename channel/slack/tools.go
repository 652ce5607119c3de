package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/tool"
)

// Limits of what tools send.
const (
	maxReminder = 1000 // characters
	maxInputs   = 20   // variables of a workflow
)

// Tools returns the tools that call this workspace's Slack: a link into a huddle and, if
// they are configured, reminders and workflows.
func (c *Channel) Tools() []tool.Tool {
	link := platform.Definition(Platform, "slack_huddle_link",
		"Gives the link that opens the huddle, an audio call, of a Slack channel or direct message.",
		"给出打开 Slack 频道或私信抱团通话(huddle)的链接。",
		[]string{"huddle", "call link", "抱团通话", "语音通话链接"},
		[]string{"send me a link to the huddle of this channel", "let us have a call here"})
	link.Risk = tool.Read
	tools := []tool.Tool{tool.Func(link, c.huddle)}
	if c.config.UserToken != "" {
		tools = append(tools, tool.Func(platform.Definition(Platform, "slack_reminder",
			"Sets a reminder in Slack for the person whose token is configured, not for others.",
			"在 Slack 中为所配置令牌的所有者设置提醒。",
			[]string{"remind me in slack", "slack 提醒"},
			[]string{"remind me in Slack tomorrow at 9 to send the report"}), c.remind))
	}
	if names := slices.Sorted(maps.Keys(c.config.Workflows)); len(names) > 0 {
		d := platform.Definition(Platform, "slack_workflow",
			"Starts a Slack workflow. Its name is one of: "+strings.Join(names, ", ")+".",
			"启动一个 Slack 工作流。",
			append([]string{"start workflow", "工作流"}, names...),
			[]string{"start the Slack workflow " + names[0]})
		var err error
		if d.Parameters, err = json.Marshal(map[string]any{
			"type": "object", "required": []string{"name"}, "additionalProperties": false,
			"properties": map[string]any{
				"name": map[string]any{"type": "string", "enum": names},
				"inputs": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"},
					"maxProperties": maxInputs, "description": "the workflow's variables, by the names of its webhook"},
			},
		}); err == nil { // it always is: these are texts
			tools = append(tools, tool.Func(d, c.workflow))
		}
	}
	return tools
}

type huddleInput struct {
	Channel string `json:"channel,omitempty" jsonschema:"ID of the channel, such as C0123456789; the chat of the question if it is left out"`
}

func (c *Channel) huddle(ctx context.Context, in huddleInput) (string, error) {
	if in.Channel == "" {
		in.Channel = tool.Caller(ctx).Chat
	}
	if len(in.Channel) < 3 || !strings.Contains("CDG", in.Channel[:1]) ||
		strings.Trim(in.Channel, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return "", fmt.Errorf("%q is not the ID of a Slack channel; it looks like C0123456789",
			platform.Word(in.Channel))
	}
	self := c.self.Load()
	if self == nil {
		var err error
		if self, err = c.ask(ctx); err != nil {
			return "", err
		}
	}
	return "https://app.slack.com/huddle/" + url.PathEscape(self.Team) + "/" + in.Channel, nil
}

type reminderInput struct {
	Text string `json:"text" jsonschema:"what to be reminded of"`
	Time string `json:"time" jsonschema:"when: a Unix timestamp, or words such as in 15 minutes, tomorrow at 9am, every Thursday"`
}

func (c *Channel) remind(ctx context.Context, in reminderInput) (string, error) {
	if in.Text == "" || in.Time == "" || len(in.Text) > maxReminder {
		return "", fmt.Errorf("a reminder has a text of 1 to %d bytes, and a time", maxReminder)
	}
	if err := c.call(ctx, c.config.UserToken, "reminders.add", url.Values{"text": {in.Text}, "time": {in.Time}},
		nil); err != nil {
		return "", err
	}
	return "Slack will remind the owner of the token.", nil
}

type workflowInput struct {
	Name   string            `json:"name"`
	Inputs map[string]string `json:"inputs,omitempty"`
}

func (c *Channel) workflow(ctx context.Context, in workflowInput) (string, error) {
	address, ok := c.config.Workflows[in.Name]
	if !ok {
		return "", fmt.Errorf("there is no workflow %q; there are %s", platform.Word(in.Name),
			strings.Join(slices.Sorted(maps.Keys(c.config.Workflows)), ", "))
	}
	if len(in.Inputs) > maxInputs {
		return "", fmt.Errorf("a workflow takes at most %d inputs", maxInputs)
	}
	if in.Inputs == nil {
		in.Inputs = map[string]string{}
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the workflow's URL is not valid")
	}
	if _, err := c.api.Do(ctx, platform.Request{Call: "starting the workflow " + in.Name, URL: u, Body: in.Inputs,
		Raw: true}); err != nil {
		return "", err
	}
	return "The workflow " + in.Name + " has been started.", nil
}
