package wecom

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/tool"
)

// Tools returns the tools that act in the company: wecom_approval and wecom_meeting. They
// act for the member who writes, and for nobody else.
func (c *Channel) Tools() []tool.Tool {
	return []tool.Tool{
		tool.Func(platform.Definition(Platform, "wecom_approval",
			"Applies for an approval (leave, expense, purchase) in WeCom, in the name of the person who asks, by a template of the company. "+
				"If a field is missing or unknown, the answer lists the template's fields.",
			"以提问者的名义，按企业的审批模板提交企业微信审批申请。",
			[]string{"apply for approval", "expense claim", "leave request", "提交审批", "发起审批", "报销", "请假",
				"采购申请"}, nil), c.apply),
		tool.Func(platform.Definition(Platform, "wecom_meeting",
			"Schedules an online meeting in WeCom (Tencent Meeting), in the name of the person who asks.",
			"以提问者的名义预约企业微信会议。",
			[]string{"schedule a meeting", "video call", "预约会议", "开会", "约会议", "腾讯会议"}, nil), c.meet),
	}
}

// caller is the member who writes. All that arrives is direct, so the chat is the member.
func caller(ctx context.Context) (string, bool) {
	f := tool.Caller(ctx)
	member := strings.TrimPrefix(f.Chat, f.Attrs["account"]+"/")
	return member, f.Channel == Platform && name(member)
}

func elsewhere() chat.Result {
	return tool.Failure("this works only for somebody who writes to the application in WeCom; say so")
}

type approval struct {
	Template string            `json:"template" jsonschema:"ID of the approval template"`
	Fields   map[string]string `json:"fields" jsonschema:"the form: a field's title, and its value; a date as 2006-01-02 or 2006-01-02 15:04; several choices separated by line breaks"`
}

// texts are one text in several languages.
type texts []translation

type translation struct {
	Text string `json:"text"`
	Lang string `json:"lang"`
}

// String is the Chinese text, or the first one.
func (t texts) String() string {
	for _, one := range t {
		if one.Lang == "zh_CN" {
			return one.Text
		}
	}
	if len(t) > 0 {
		return t[0].Text
	}
	return ""
}

// field is a control of an approval template (获取审批模板详情, document/path/91982).
type field struct {
	Property struct {
		Control string `json:"control"`
		ID      string `json:"id"`
		Title   texts  `json:"title"`
		Require int    `json:"require"`
	} `json:"property"`
	Config struct {
		Date struct {
			Type string `json:"type"`
		} `json:"date"`
		Selector struct {
			Type    string `json:"type"`
			Options []struct {
				Key   string `json:"key"`
				Value texts  `json:"value"`
			} `json:"options"`
		} `json:"selector"`
	} `json:"config"`
}

// apply hands in an approval (提交审批申请, document/path/91853).
func (c *Channel) apply(ctx context.Context, in approval) (chat.Result, error) {
	person, ok := caller(ctx)
	if !ok {
		return elsewhere(), nil
	}
	var template struct {
		Names   texts `json:"template_names"`
		Content struct {
			Controls []field `json:"controls"`
		} `json:"template_content"`
	}
	if err := c.post(ctx, "oa/gettemplatedetail", nil,
		map[string]string{"template_id": printable.Line(in.Template, 200)}, &template); err != nil {
		return tool.Failure("the template could not be read: %v", err), nil
	}
	fields := template.Content.Controls
	for title := range in.Fields {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.is(title) }) {
			return tool.Failure("the template has no field %q. %s", printable.Line(title, 80), describe(fields)), nil
		}
	}
	type value struct {
		Control string `json:"control"`
		ID      string `json:"id"`
		Value   any    `json:"value"`
	}
	var contents []value
	var summary []any
	for _, f := range fields {
		said := ""
		for title, v := range in.Fields {
			if f.is(title) {
				said = strings.TrimSpace(printable.Text(v))
			}
		}
		if said == "" {
			if f.Property.Require == 1 {
				return tool.Failure("the field %q must be filled in. %s", f.Property.Title, describe(fields)), nil
			}
			continue
		}
		v, err := f.value(said)
		if err != nil {
			return tool.Failure("the field %q: %v", f.Property.Title, err), nil
		}
		contents = append(contents, value{f.Property.Control, f.Property.ID, v})
		if len(summary) < 3 { // the platform shows three lines of 20 characters
			line := printable.Line(f.Property.Title.String()+": "+said, 20)
			summary = append(summary, map[string]texts{"summary_info": {{line, "zh_CN"}}})
		}
	}
	if len(contents) == 0 {
		return tool.Failure("no field is filled in. %s", describe(fields)), nil
	}
	var done struct {
		Number string `json:"sp_no"`
	}
	err := c.post(ctx, "oa/applyevent", nil, map[string]any{
		"creator_userid": person, "template_id": printable.Line(in.Template, 200), "use_template_approver": 1,
		"apply_data": map[string]any{"contents": contents}, "summary_list": summary,
	}, &done)
	if err != nil {
		return tool.Failure("the approval was not handed in: %v", err), nil
	}
	return tool.Text(fmt.Sprintf("The approval %s (%s) is handed in and waits for those who approve.", done.Number,
		template.Names)), nil
}

func (f field) is(title string) bool {
	return title == f.Property.ID ||
		slices.ContainsFunc(f.Property.Title, func(t translation) bool { return t.Text == title })
}

// describe lists the fields of a template for the model.
func describe(fields []field) string {
	var b strings.Builder
	b.WriteString("The fields are:")
	for _, f := range fields {
		if f.Property.Control == "Tips" {
			continue
		}
		fmt.Fprintf(&b, "\n- %s: %s", f.Property.Title, f.Property.Control)
		if f.Property.Require == 1 {
			b.WriteString(", required")
		}
		if options := f.options(); len(options) > 0 {
			fmt.Fprintf(&b, ", %s of %s", f.Config.Selector.Type, strings.Join(options, " | "))
		}
		if b.Len() > 8<<10 {
			b.WriteString("\n…")
			break
		}
	}
	return b.String()
}

func (f field) options() []string {
	var all []string
	for _, o := range f.Config.Selector.Options {
		all = append(all, o.Value.String())
	}
	return all
}

// moment reads a date in one of the layouts, which mean China's time, or in RFC 3339.
func moment(s string, layouts ...string) (time.Time, bool) {
	china := time.FixedZone("CST", 8*60*60)
	for _, layout := range append(layouts, time.RFC3339) {
		if t, err := time.ParseInLocation(layout, s, china); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// value is what a field holds when somebody fills in a text.
func (f field) value(said string) (any, error) {
	switch f.Property.Control {
	case "Text", "Textarea":
		return map[string]string{"text": said}, nil
	case "Number", "Money":
		if _, err := strconv.ParseFloat(said, 64); err != nil {
			return nil, fmt.Errorf("%q is no number", said)
		}
		return map[string]string{"new_" + strings.ToLower(f.Property.Control): said}, nil
	case "Date":
		if t, ok := moment(said, "2006-01-02 15:04", time.DateOnly); ok {
			return map[string]any{"date": map[string]string{"type": f.Config.Date.Type,
				"s_timestamp": strconv.FormatInt(t.Unix(), 10)}}, nil
		}
		return nil, fmt.Errorf("%q is no date such as 2006-01-02 or 2006-01-02 15:04", said)
	case "Selector":
		lines := strings.Split(said, "\n")
		if len(lines) > 1 && f.Config.Selector.Type != "multi" {
			return nil, fmt.Errorf("it takes one of %s", strings.Join(f.options(), " | "))
		}
		var chosen []map[string]string
		for _, line := range lines {
			i := slices.Index(f.options(), strings.TrimSpace(line))
			if i < 0 {
				return nil, fmt.Errorf("%q is none of %s", line, strings.Join(f.options(), " | "))
			}
			chosen = append(chosen, map[string]string{"key": f.Config.Selector.Options[i].Key})
		}
		return map[string]any{"selector": map[string]any{"type": f.Config.Selector.Type, "options": chosen}}, nil
	}
	return nil, fmt.Errorf("a field of the type %s can be filled in only in WeCom itself", f.Property.Control)
}

type meeting struct {
	Title    string   `json:"title"`
	Start    string   `json:"start" jsonschema:"2006-01-02 15:04 in China's time, or RFC 3339"`
	Minutes  int      `json:"minutes" jsonschema:"5 to 1439"`
	Invitees []string `json:"invitees,omitempty" jsonschema:"user IDs of other members of the company"`
	About    string   `json:"about,omitempty" jsonschema:"what it is about"`
}

// meet schedules a meeting (创建预约会议, document/path/98148).
func (c *Channel) meet(ctx context.Context, in meeting) (chat.Result, error) {
	person, ok := caller(ctx)
	if !ok {
		return elsewhere(), nil
	}
	start, ok := moment(in.Start, "2006-01-02 15:04")
	switch {
	case !ok:
		return tool.Failure("the start is %q; it looks like 2006-01-02 15:04", printable.Line(in.Start, 40)), nil
	case !start.After(c.now()):
		return tool.Failure("the start is %s, which is past", start.Format(time.RFC3339)), nil
	case in.Minutes < 5 || in.Minutes > 1439:
		return tool.Failure("a meeting has 5 to 1439 minutes, not %d", in.Minutes), nil
	case strings.TrimSpace(in.Title) == "":
		return tool.Failure("the meeting has no title"), nil
	}
	for _, id := range in.Invitees {
		if !name(id) {
			return tool.Failure("%q is no user ID", printable.Line(id, 40)), nil
		}
	}
	var done struct {
		ID   string `json:"meetingid"`
		Code string `json:"meeting_code"`
		Link string `json:"meeting_link"`
	}
	err := c.post(ctx, "meeting/create", nil, map[string]any{
		"admin_userid": person, "title": printable.Line(in.Title, 255), "description": printable.Text(in.About),
		"meeting_start": start.Unix(), "meeting_duration": in.Minutes * 60,
		"invitees": map[string]any{"userid": append([]string{person}, in.Invitees...)},
	}, &done)
	if err != nil {
		return tool.Failure("the meeting was not scheduled: %v", err), nil
	}
	text := fmt.Sprintf("The meeting %q is scheduled for %s, %d minutes. Its ID is %s.", in.Title,
		start.Format(time.RFC3339), in.Minutes, done.ID)
	if done.Code != "" {
		text += " Its number is " + done.Code + "."
	}
	if done.Link != "" {
		text += " Its link is " + done.Link + " ."
	}
	return tool.Text(text), nil
}
