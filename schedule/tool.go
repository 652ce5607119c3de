package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/tool"
)

// toolInput are the arguments of the tool schedule.
type toolInput struct {
	// add, list or remove
	Action string `json:"action"`
	// For add: what to do at that time, written as a message to yourself
	Text string `json:"text,omitempty"`
	// For add: a time such as 2026-12-24T18:00 for once, or a cron expression such as 0 9 * * 1-5 or @every 2h
	When string `json:"when,omitempty"`
	// For add: IANA time zone of when, such as Asia/Shanghai
	Zone string `json:"zone,omitempty"`
	// For remove: the ID of the task
	ID string `json:"id,omitempty"`
}

// Tool is the tool with which a model has something done later, in the same conversation and for
// the same user. The tasks must be known when it is called first.
func Tool(tasks func() *Tasks) tool.Tool {
	return tool.Func(tool.Definition{
		Name: "schedule",
		Description: "Remind the user or do something later, once or regularly: add, list or remove scheduled tasks of this user. " +
			"The task's text comes back as a message in this conversation at its time.",
		Translations: map[string]string{"zh": "定时提醒或定期执行任务：添加、列出或删除。"},
		Aliases: []string{"remind me", "reminder", "wake me", "alarm", "every monday", "cron", "提醒我",
			"定时任务"},
		Groups: []string{"time"}, Risk: tool.Write, Source: "builtin",
	}, func(ctx context.Context, in toolInput) (string, error) {
		f := tool.Caller(ctx)
		if f.Session == "" {
			return "", errors.New("there is no conversation to come back to")
		}
		switch in.Action {
		case "add":
			t, err := tasks().AddFromTurn(ctx, Task{Text: in.Text, When: in.When, Zone: in.Zone})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Task %s runs next at %s.", t.ID, t.NextRun()), nil
		case "list", "remove":
		default:
			return "", fmt.Errorf("action is add, list or remove, not %q", in.Action)
		}
		list, err := tasks().Of(ctx, f)
		if err != nil {
			return "", err
		}
		var lines []string
		for _, t := range list {
			if in.Action == "remove" && t.ID == in.ID {
				_, err := tasks().Remove(ctx, t.ID)
				return "Task " + t.ID + " is removed.", err
			}
			next := "paused"
			if !t.Paused {
				next = "next " + t.NextRun()
			}
			lines = append(lines, fmt.Sprintf("%s (%s, %s): %s", t.ID, t.When, next, t.Text))
		}
		switch {
		case in.Action == "remove":
			return "", fmt.Errorf("this user has no task %q", in.ID)
		case len(lines) == 0:
			return "This user has no tasks.", nil
		}
		return strings.Join(lines, "\n"), nil
	})
}
