package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

// ordinary is a usual way to ask for what a built-in tool does. Its words say more than the ranking
// of single words can: which tool, and which word is which argument.
type ordinary struct {
	tool    string
	pattern *regexp.Regexp
	args    map[string]string // templates of [regexp.Regexp.Expand]
}

// file stands in a pattern for the name of a file, and site for that of a website.
const (
	file = `([^\s"“”'「」，。、？?!！:：=()]+\.[A-Za-z][A-Za-z0-9]{0,5})`
	site = `((?:[a-z0-9-]+\.)+(?:com|org|net|cn|io|dev))`
	see  = `(?:读取|查看|打开|显示|看看|瞧瞧|读|看|念)(?:一下|下)?(?:文件)?`
	show = `(?:read|open|show me|show|display|view|cat|print|look at|see)(?: the)?(?: file)?`
)

// ordinaries lists them; the first that matches counts. A way of both languages has both on its lines.
var ordinaries = lazilyAll([]way{
	{"web_fetch", `(?:打开|访问|读取|看看|看|读)(?:一下|下)?(?:网页|网站|网址)?\s*(https?://\S+)`, args{"url": "$1"}},
	{"web_fetch", show + ` (https?://\S+)`, args{"url": "$1"}},
	{"web_fetch", `(?:打开|访问|看看|看)(?:一下)?(?:网站|网址)?\s*` + site, args{"url": "https://$1"}},
	{"web_fetch", `(?:open|visit|show)(?: the)?(?: site| website)? ` + site, args{"url": "https://$1"}},
	{"read_image", `(?:查看|打开|显示|看看|看)(?:一下|下)?(?:图片|照片)?\s*([^\s，。]+\.(?:png|jpe?g|gif|webp))`,
		args{"path": "$1"}},
	{"read_image", show + ` ([^\s]+\.(?:png|jpe?g|gif|webp))`, args{"path": "$1"}},
	{"read_file", see + `\s*` + file + `\s*(?:的?(?:全部)?内容)?`, args{"path": "$1"}},
	{"read_file", file + `\s*(?:里面|里|中)?(?:都)?(?:写|有|是|说)(?:了|的)?(?:什么|啥|哪些)(?:内容)?`,
		args{"path": "$1"}},
	{"read_file", show + ` ` + file, args{"path": "$1"}},
	{"read_file", `what(?: does|'s in| is in) ` + file + `(?: say| contain| hold)?`, args{"path": "$1"}},
	{"rename_file", `(?:移动|移|挪)(?:一下|下)?\s*` + file + `\s*(?:到|至)\s*([^\s.]+?)/?(?:文件夹|目录)?`,
		args{"from": "$1", "to": "$2/$1"}},
	{"rename_file", `(?:把|将)\s*` + file +
		`\s*(?:移动到|移到|移至|挪到|放到|放进)\s*([^\s.]+?)/?(?:文件夹|目录)?(?:里|中)?`,
		args{"from": "$1", "to": "$2/$1"}},
	{"rename_file", `move ` + file + ` (?:to|into)(?: the)?(?: folder| directory)? ([^\s.]+?)/?`,
		args{"from": "$1", "to": "$2/$1"}},
	{"rename_file", `(?:移动|移|挪|重命名|改名)(?:一下|下)?\s*` + file + `\s*(?:到|至|为|成)\s*([^\s]+)`,
		args{"from": "$1", "to": "$2"}},
	{"rename_file", `(?:把|将)\s*` + file +
		`\s*(?:移动到|移到|移至|挪到|重命名为|重命名成|改名为|改名成|改名叫)\s*([^\s]+)`,
		args{"from": "$1", "to": "$2"}},
	{"rename_file", `(?:move|rename) ` + file + ` (?:to|into|as) ([^\s]+)`, args{"from": "$1", "to": "$2"}},
	{"edit_file", `(?:修改|编辑|更改|改)(?:一下|下)?(?:文件)?\s*` + file, args{"path": "$1"}},
	{"edit_file", `(?:edit|change|modify)(?: the)?(?: file)? ` + file, args{"path": "$1"}},
	{"append_file", `(?:在|往|向|给)\s*` + file + `\s*的?(?:末尾|最后|后面|结尾|里|中)?(?:加上|追加|添加|加)\s*(.+)`,
		args{"path": "$1", "content": "$2\n"}},
	{"append_file", `(?:把|将)?\s*(.+?)\s*(?:追加|添加|加)到\s*` + file + `(?:的?末尾|后面|里|中)?`,
		args{"path": "$2", "content": "$1\n"}},
	{"append_file", `(?:append|add) (.+?) to(?: the end of)? ` + file, args{"path": "$2", "content": "$1\n"}},
	{"write_file", `(?:写|写入|保存|存|新建|创建|建)(?:一个|个)?(?:文件)?\s*` + file +
		`[\s，,]*内容(?:是|为)?[:：]?\s*(.+)`, args{"path": "$1", "content": "$2"}},
	{"write_file", `(?:把|将)\s*(.+?)\s*(?:写入|写到|写进|保存到|保存为|存到|存入|存进)\s*` + file,
		args{"path": "$2", "content": "$1"}},
	{"write_file", `(?:写|保存|存)\s*(.+?)\s*(?:到|进|入)\s*` + file, args{"path": "$2", "content": "$1"}},
	{"write_file", `(?:write|save|put) (.+?) (?:to|into|in) ` + file, args{"path": "$2", "content": "$1"}},
	{"write_file", `(?:create|make|write)(?: a| the)?(?: new)?(?: file)? ` + file +
		` (?:with|containing|saying)(?: the text| the content)? (.+)`, args{"path": "$1", "content": "$2"}},
	{"remove_file", `(?:删除|删掉|移除|删)(?:一下)?(?:文件)?\s*` + file, args{"path": "$1"}},
	{"remove_file", `(?:把|将)\s*` + file + `\s*(?:删除|删掉|移除|删)了?`, args{"path": "$1"}},
	{"remove_file", `(?:delete|remove|erase)(?: the)?(?: file)? ` + file, args{"path": "$1"}},
	{"find_files", `(?:查找|搜索|寻找|找|搜)(?:一下|下)?(?:文件)?\s*([\w*/.-]*\.[\w*]+)`, args{"pattern": "$1"}},
	{"find_files", `(?:查找|列出|搜索|找|搜)(?:一下|下|出)?(?:所有|全部)?的?\s*\.?([A-Za-z0-9]{1,5})\s*文件`,
		args{"pattern": "*.$1"}},
	{"find_files", `(?:find|locate|where is)(?: the)?(?: file)? ([\w*/.-]*\.[\w*]+)`, args{"pattern": "$1"}},
	{"find_files", `(?:find|list|show)(?: me)?(?: all)?(?: the)? \.?(txt|md|go|py|js|ts|csv|json|ya?ml|html|css|log|pdf|png|jpg|docx?|xlsx?) files`, args{"pattern": "*.$1"}},
	{"search_text", `(?:查找|搜索|查|找|搜)(?:一下|下|出)?(?:所有|哪些文件)?(?:包含|含有|写着)\s*(.+?)\s*的(?:文件|行|地方)`, args{"pattern": "$1"}},
	{"search_text", `(?:在文件[里中])?(?:查找|搜索|查|找|搜)(?:一下|下)?\s*([A-Za-z][\w-]*)`, args{"pattern": "$1"}},
	{"search_text", `(?:grep|look up|look for|search for|search) ([\w-]+)`, args{"pattern": "$1"}},
	{"search_text", `(?:find|search|look)(?: for)? ([\w-]+) in(?: all)?(?: the| my)? files`, args{"pattern": "$1"}},
	{"list_dir", `(?:(?:list|show)(?: me)?(?: all)?(?: the| my)? files|(?:what|which) files are (?:here|there))`,
		args{}},
	{"list_dir", `(?:列出|显示|查看|看看|看)(?:一下)?\s*([\w./-]+?)\s*(?:文件夹|目录)(?:里|中|下)?(?:的?(?:内容|文件)|有什么|有哪些文件)?`, args{"path": "$1"}},
	{"list_dir", `list(?: the)? (?:folder|directory) ([\w./-]+)`, args{"path": "$1"}},
	{"make_dir", `(?:新建|创建|建立|建)(?:一个|个)?(?:新)?(?:文件夹|目录)\s*(?:叫|名为|[:：])?\s*([^\s]+)`,
		args{"path": "$1"}},
	{"make_dir", `(?:create|make|add)(?: a| the)?(?: new)? (?:folder|directory)(?: called| named)? ([^\s]+)`,
		args{"path": "$1"}},
	{"diff_files", `(?:比较|对比)(?:一下|下)?\s*` + file + `\s*(?:和|与|跟)\s*` + file, args{"from": "$1", "to": "$2"}},
	{"diff_files", `(?:compare|diff) ` + file + ` (?:and|with|to) ` + file, args{"from": "$1", "to": "$2"}},
	{"exec", `(?:运行|执行|跑)(?:一下|下)?(?:命令)?\s*([a-z][ -~]*)`, args{"command": "$1"}},
	{"exec", `(?:run|execute) (?:the command |command |)((?:ls|pwd|date|whoami|df|du|ps|uname|git|python3?|make|go|npm|echo|cat)(?: .*)?)`, args{"command": "$1"}},
	{"exec", `(?:run|execute) (?:the )?command (.+)`, args{"command": "$1"}},
	{"search_memory", `你?还?记得(.+?)[吗么]`, args{"query": "$1"}},
	{"search_memory", `do you remember (.+)`, args{"query": "$1"}},
	{"memory", `(?:记住|记一下|记下|记着)[:：，,\s]*(.+)`, args{"action": "add", "text": "$1"}},
	{"memory", `remember(?: that)?:? (.+)`, args{"action": "add", "text": "$1"}},
	{"schedule", `(.*提醒我.*)`, args{"action": "add", "text": "$1"}},
	{"schedule", `(remind me .*)`, args{"action": "add", "text": "$1"}},
})

type args = map[string]string

// way is an [ordinary] with the text of its pattern.
type way struct {
	tool, pattern string
	args          args
}

// lazilyAll compiles patterns of whole messages when the first is needed.
func lazilyAll(list []way) func() []ordinary {
	return sync.OnceValue(func() []ordinary {
		all := make([]ordinary, len(list))
		for i, w := range list {
			all[i] = ordinary{w.tool, regexp.MustCompile(`(?i)^(?:` + w.pattern + `)$`), w.args}
		}
		return all
	})
}

var polite = lazily(`(?i)^(?:please |can you |could you |请|麻烦你?|帮我|帮忙|给我|我想|我要)+\s*`)

// usual finds the tool and the arguments of a message that asks in an ordinary way for what one of the
// tools in reach does.
func (m *Model) usual(req model.Request, question string) (d tool.Definition, found map[string]any, missing []parameter,
	ok bool) {
	text := polite().ReplaceAllString(strings.Trim(question, " \t\r\n。！？!?."), "")
	for _, o := range ordinaries() {
		at := o.pattern.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		d, ok := m.definition(req, o.tool)
		if !ok || d.Source != "builtin" {
			continue
		}
		found := map[string]any{}
		for name, template := range o.args {
			found[name] = string(o.pattern.ExpandString(nil,
				strings.ReplaceAll(strings.ReplaceAll(template, "$1", "${1}"), "$2", "${2}"), text, at))
		}
		if o.tool == "schedule" {
			if when := due(text, m.config.Now()); when != "" {
				found["when"] = when
			}
		}
		if path, _ := found["path"].(string); strings.Contains(path, "://") || strings.Contains(path, "www.") {
			continue
		}
		for _, p := range parameters(d) {
			if _, have := found[p.name]; p.required && !have || o.tool == "schedule" && p.name == "when" && !have {
				missing = append(missing, p)
			}
		}
		schema, err := tool.CompileSchema(d.Schema())
		if err == nil && (len(missing) > 0 || fits(schema, found)) {
			return d, found, missing, true
		}
	}
	return d, nil, nil, false
}

var (
	hour  = lazily(`(早上|上午|中午|下午|晚上)?\s*(\d{1,2})\s*(?:点|时|[:：]\s?(\d{2}))(半|\s*\d{1,2}\s*分)?`)
	at    = lazily(`(?i)\bat (\d{1,2})(?::(\d{2}))?\s?(am|pm)?\b`)
	daily = lazily(`(?i)每天|每日|every day|daily`)
)

// due returns the time that a message names, as the schedule takes it: a day's time, or a cron expression
// for every day. It is empty if the message names no hour.
func due(text string, now time.Time) string {
	h, minute := -1, 0
	if found := hour().FindStringSubmatch(text); found != nil {
		h, _ = strconv.Atoi(found[2]) // digits
		minute, _ = strconv.Atoi(found[3] + strings.Trim(found[4], " 分半"))
		if found[4] == "半" {
			minute = 30
		}
		if (found[1] == "下午" || found[1] == "晚上") && h < 12 {
			h += 12
		}
	} else if found := at().FindStringSubmatch(text); found != nil {
		h, _ = strconv.Atoi(found[1])      // digits
		minute, _ = strconv.Atoi(found[2]) // digits, or 0
		if strings.EqualFold(found[3], "pm") && h < 12 {
			h += 12
		}
	}
	if h < 0 || h > 23 || minute > 59 {
		return ""
	}
	if daily().MatchString(text) {
		return fmt.Sprintf("%d %d * * *", minute, h)
	}
	day := now
	switch lower := strings.ToLower(text); {
	case strings.Contains(lower, "后天") || strings.Contains(lower, "day after tomorrow"):
		day = now.AddDate(0, 0, 2)
	case strings.Contains(lower, "明天") || strings.Contains(lower, "tomorrow"):
		day = now.AddDate(0, 0, 1)
	}
	when := time.Date(day.Year(), day.Month(), day.Day(), h, minute, 0, 0, now.Location())
	if day.Equal(now) && !when.After(now) {
		when = when.AddDate(0, 0, 1)
	}
	return when.Format("2006-01-02T15:04")
}

// deeds are things that people ask for and that a tool does only if its texts say so: a guess would
// do another one.
var deeds = []struct {
	asks expression
	does expression
}{
	{lazily(`(?i)^(?:copy|duplicate)\b|^(?:复制|拷贝)|^(?:把|将).*(?:复制|拷贝)`),
		lazily(`(?i)copy|copies|duplicate|复制|拷贝`)},
	{lazily(`(?i)^(?:send|forward|mail|email)\b|^(?:发送|发给|发消息|发邮件|转发)|^(?:把|将).*(?:发给|发送给|发到|转发)`), lazily(`(?i)send|forward|mail|post|message|notify|发送|发给|发消息|转发|邮件|通知`)},
	{lazily(`(?i)\bweather\b|天气`), lazily(`(?i)weather|forecast|天气`)},
}

// misses reports whether a message asks for one of the deeds that a tool does not do.
func misses(d tool.Definition, question string) bool {
	text := polite().ReplaceAllString(question, "")
	for _, deed := range deeds {
		verb, _, _ := strings.Cut(d.Description, " ")
		says := strings.Join(slices.Concat([]string{d.Name, verb, d.Translations["zh"]}, d.Aliases, d.Examples), " ")
		if deed.asks().MatchString(text) && !deed.does().MatchString(says) {
			return true
		}
	}
	return false
}
