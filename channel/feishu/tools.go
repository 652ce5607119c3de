package feishu

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/tool"
)

// Tools returns the tools that act at the platform: feishu_task and feishu_event. They act
// as the bot, for the chat that the call comes from, and for nobody else.
func (c *Channel) Tools() []tool.Tool {
	task := platform.Definition(Platform, "feishu_task",
		"Creates a task in Feishu / Lark Tasks for the person who asks, with a due date if one is given.",
		"在飞书任务中为提问者创建任务，可设截止时间。",
		[]string{"to-do", "todo", "assign a task", "创建任务", "待办", "飞书任务"},
		[]string{"put this on my task list for Friday", "帮我建一个周五到期的任务"})
	event := platform.Definition(Platform, "feishu_event",
		"Creates an event with a video meeting in the Feishu / Lark calendar, and invites the person who asks, "+
			"or everybody in the group if it is asked for in a group.",
		"在飞书日历中创建带视频会议的日程，邀请提问者；在群里则邀请全群。",
		[]string{"calendar event", "schedule a meeting", "video meeting", "创建日程", "预约会议", "飞书日历"},
		[]string{"schedule a meeting with this group tomorrow at ten", "明天十点和大家开会"})
	task.Replay, event.Replay = tool.Keyed, tool.Keyed
	return []tool.Tool{tool.Func(task, c.task), tool.Func(event, c.event)}
}

// here returns the chat that a call comes from, and the person who asks: empty if the
// platform's ID is not known.
func (c *Channel) here(ctx context.Context) (chat, who string, err error) {
	at, err := platform.Here(ctx, Platform, func(at channel.Address) bool { return isID(at.Chat, "oc_") })
	if err != nil {
		return "", "", err
	}
	if user := tool.Caller(ctx).User; isID(user, "ou_") {
		return at.Chat, user, nil
	}
	who, _ = c.peers.Get(at.Chat) // a direct chat has one person
	return at.Chat, who, nil
}

// moment reads a time.
func moment(layout, s string) (time.Time, bool) {
	t, err := time.Parse(layout, s)
	return t, err == nil
}

func long(s string, most int) bool { return utf8.RuneCountInString(s) > most }

type taskInput struct {
	Title string `json:"title" jsonschema:"at most 3000 characters"`
	About string `json:"about,omitempty" jsonschema:"what it is about"`
	Due   string `json:"due,omitempty" jsonschema:"when it is due: a day as 2026-11-30, or a moment in RFC 3339 with its offset, 2026-11-30T18:00:00+08:00"`
}

// task creates a task (创建任务, task-v2/task/create).
func (c *Channel) task(ctx context.Context, in taskInput) (chat.Result, error) {
	_, who, err := c.here(ctx)
	switch {
	case err != nil:
		return chat.Result{}, err
	case who == "":
		return tool.Failure("Feishu's ID of the person is not known here; let the person ask in a direct chat"), nil
	case strings.TrimSpace(in.Title) == "" || long(in.Title, 3000) || long(in.About, 3000):
		return tool.Failure("a task has a title, and title and text have at most 3000 characters"), nil
	}
	body := map[string]any{
		"summary": printable.OneLine(in.Title), "description": printable.Text(in.About),
		"members": []map[string]string{{"id": who, "type": "user", "role": "assignee"}},
	}
	if key := tool.IdempotencyKey(ctx); key != "" {
		body["client_token"] = platform.Digest(40, key)
	}
	if in.Due != "" {
		due, allDay := moment(time.DateOnly, in.Due)
		if !allDay {
			var ok bool
			if due, ok = moment(time.RFC3339, in.Due); !ok {
				return tool.Failure("the due date is %q; it looks like 2026-11-30 or 2026-11-30T18:00:00+08:00",
					printable.Line(in.Due, 40)), nil
			}
		}
		body["due"] = map[string]any{"timestamp": strconv.FormatInt(due.UnixMilli(), 10), "is_all_day": allDay}
	}
	var done struct {
		Task struct {
			ID  string `json:"guid"`
			URL string
		}
	}
	if err := c.call(ctx, http.MethodPost, "task/v2/tasks", openID, body, &done); err != nil {
		return tool.Failure("the task was not created: %v", err), nil
	}
	return tool.Text(strings.TrimSpace(fmt.Sprintf("The task was created with the ID %s. %s",
		platform.Word(done.Task.ID), platform.Word(done.Task.URL)))), nil
}

type eventInput struct {
	Title   string `json:"title" jsonschema:"at most 1000 characters"`
	Start   string `json:"start" jsonschema:"RFC 3339 with its offset, 2026-11-30T10:00:00+08:00"`
	Minutes int    `json:"minutes" jsonschema:"1 to 1440"`
	About   string `json:"about,omitempty" jsonschema:"what it is about"`
}

// event creates an event in the bot's own calendar and invites (查询主日历信息,
// calendar-v4/calendar/primary; 创建日程, calendar-v4/calendar-event/create; 添加日程参与人,
// calendar-v4/calendar-event-attendee/create).
func (c *Channel) event(ctx context.Context, in eventInput) (chat.Result, error) {
	at, who, err := c.here(ctx)
	if err != nil {
		return chat.Result{}, err
	}
	start, ok := moment(time.RFC3339, in.Start)
	switch {
	case !ok:
		return tool.Failure("the start is %q; it looks like 2026-11-30T10:00:00+08:00", printable.Line(in.Start, 40)),
			nil
	case in.Minutes < 1 || in.Minutes > 1440:
		return tool.Failure("an event has 1 to 1440 minutes, not %d", in.Minutes), nil
	case strings.TrimSpace(in.Title) == "" || long(in.Title, 1000) || long(in.About, 40000):
		return tool.Failure("an event has a title of at most 1000 characters"), nil
	}
	guest := map[string]any{"type": "chat", "chat_id": at}
	if _, direct := c.peers.Get(at); direct || tool.Caller(ctx).Attrs["chat_kind"] == "direct" {
		if who == "" {
			return tool.Failure("Feishu's ID of the person is not known; let the person write again"), nil
		}
		guest = map[string]any{"type": "user", "user_id": who}
	}
	var calendars struct {
		Calendars []struct {
			Calendar struct {
				ID string `json:"calendar_id"`
			}
		}
	}
	if err := c.call(ctx, http.MethodPost, "calendar/v4/calendars/primary", nil, nil, &calendars); err != nil {
		return tool.Failure("the bot's calendar could not be read: %v", err), nil
	}
	if len(calendars.Calendars) == 0 || calendars.Calendars[0].Calendar.ID == "" {
		return tool.Failure("the bot has no calendar"), nil
	}
	path := "calendar/v4/calendars/" + url.PathEscape(calendars.Calendars[0].Calendar.ID) + "/events"
	stamp := func(t time.Time) map[string]string {
		return map[string]string{"timestamp": strconv.FormatInt(t.Unix(), 10)}
	}
	query := url.Values{}
	if key := tool.IdempotencyKey(ctx); key != "" {
		query.Set("idempotency_key", platform.Digest(40, key))
	}
	var done struct {
		Event struct {
			ID   string `json:"event_id"`
			Link string `json:"app_link"`
		}
	}
	err = c.call(ctx, http.MethodPost, path, query, map[string]any{
		"summary": printable.OneLine(in.Title), "description": printable.Text(in.About),
		"start_time": stamp(start), "end_time": stamp(start.Add(time.Duration(in.Minutes) * time.Minute)),
		"vchat": map[string]string{"vc_type": "vc"}, "attendee_ability": "can_see_others",
	}, &done)
	if err != nil {
		return tool.Failure("the event was not created: %v", err), nil
	}
	guests := map[string]any{"attendees": []any{guest}, "need_notification": true}
	if err := c.call(ctx, http.MethodPost, path+"/"+url.PathEscape(done.Event.ID)+"/attendees", openID, guests,
		nil); err != nil {
		return tool.Failure("the event %s was created, but nobody could be invited: %v", platform.Word(done.Event.ID),
			err), nil
	}
	return tool.Text(strings.TrimSpace(fmt.Sprintf("The event %q is in the calendar for %s, %d minutes, and the invitation is on its way. %s", printable.OneLine(in.Title), start.Format(time.RFC3339), in.Minutes, platform.Word(done.Event.Link)))), nil
}
