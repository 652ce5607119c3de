package rank_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// The form of a value says what is asked about; its words do not.
func TestValues(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "read_file", Description: "Reads a file", Translations: map[string]string{"zh": "读取文件"}},
		{Name: "find_files", Description: "Finds files by name", Translations: map[string]string{"zh": "查找文件"}},
		{Name: "remove_file", Description: "Deletes a file", Translations: map[string]string{"zh": "删除文件"}},
		{Name: "read_image", Description: "Looks at an image file", Translations: map[string]string{"zh": "查看图片"}},
		{Name: "list_dir", Description: "Lists a folder", Translations: map[string]string{"zh": "列出文件夹"}},
		{Name: "calculate", Description: "Computes an expression", Aliases: []string{"计算"}},
		{Name: "query_logs", Description: "Searches the logs of the old app", Translations: map[string]string{"zh": "查询日志"}},
		{Name: "get_budget", Description: "Shows the budget of a share", Translations: map[string]string{"zh": "查询预算"}},
		{Name: "get_time", Description: "Tells the time and the date", Aliases: []string{"几点", "what day is it"}},
		{Name: "list_events", Description: "Lists appointments", Examples: []string{"what do I have on Friday?", "tomorrow afternoon", "明天下午有什么安排"}},
		{Name: "book_room", Description: "Books a meeting room", Translations: map[string]string{"zh": "预订会议室"}},
		{Name: "rate_cable", Description: "Says how many amps a cable takes"},
		{Name: "set_reminder", Description: "Reminds somebody", Translations: map[string]string{"zh": "设置提醒"}},
	}
	for question, want := range map[string]string{
		"show me share/budget.csv": "read_file", "看一下 share/budget.csv": "read_file", "what is in old/app.log?": "read_file",
		"where is budget.xlsx?": "find_files", "budget.xlsx 在哪": "find_files", "delete ./old/app.log": "remove_file", "删除 app.log": "remove_file",
		"看一下 share 里的 budget.csv": "read_file", "读 budget 文件夹下面的 a.txt": "read_file", "删除 share 目录里的 a.txt": "remove_file",
		`C:\share\old.log`: "read_file", "~/budget.md": "read_file", "look at budget.png": "read_image", "logs/": "list_dir",
		"327 times 18": "calculate", "three hundred and twenty-seven times eighteen": "calculate", "三百二十七乘以十八": "calculate", "what's 327 × 18": "calculate",
		"15% of 80": "calculate", "80的百分之十五": "calculate", "add 45 and 67": "calculate", "45和67相加": "calculate", "square root of 144": "calculate",
		"book a room this Friday": "book_room", "明天下午预订会议室": "book_room", "麻烦帮我后天上午预订会议室": "book_room", "remind me in half an hour": "set_reminder",
		"半小时后提醒我": "set_reminder", "what day is it tomorrow?": "get_time", "几点了": "get_time",
		"search the logs, e.g. of v1.2": "query_logs", "is 16 amps too much?": "rate_cable", "three times a week": "",
	} {
		got := found(tools, rank.Query{Text: question}, 1)
		if want == "" && slices.Contains(got, "calculate") || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%q finds %v, want %s", question, got, want)
		}
	}
}
