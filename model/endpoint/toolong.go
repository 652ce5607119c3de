package endpoint

import (
	"regexp"
	"strconv"
	"strings"
)

// TooLong reports whether a provider's message says that a request does not fit the
// model's window. Few providers have a code for it, and each has words of its own.
func TooLong(message string) bool { return tooLong.MatchString(message) }

var tooLong = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`context[ _-]?(length|window|size|limit)`,
	`maximum (context|model|prompt|sequence|input) length`, `maximum (prompt|input|model|sequence) (length|size)`,
	`(prompt|input|request|messages?|conversation|inputs?)( body)?( is| are| was)? too (long|large)`,
	`too many (input |prompt )?tokens`, `too large for (the )?model`,
	`token count .{0,40}exceeds`, `tokens? .{0,60}exceed(s|ed)? (the |your )?(configured |maximum |token )?(limit|number|length)`,
	`(input|prompt|request) .{0,40}exceeds (the )?(max|limit|available)`,
	`exceed(s|ed)? max(imum)? (context |prompt |input )?length`,
	`reduce the length of the (messages|prompt|input)`, `range of input length`,
	`exceed(s|ed)? (model|the model's|max(imum)?( message)?) tokens?`, `exceed(s|ed)? (the )?model token limit`,
	`token limit: ?\d+ ?\(requested`,
	`exceed(s|ed)? (the )?(max|context|model)[ _]?(model|seq|context|input|prompt|position)?[ _]?(len(gth)?|window|size|limit|tokens)?\b.{0,20}\d`, `request too long`,
	`(输入|提示|上下文|消息|请求|内容|prompt|token)[^，。,.]{0,10}(过长|太长|超长|超出|超过|超限)`,
	`超[过出][^，。,.]{0,12}(上下文|最大(输入)?长度|token)`, `(入力|プロンプト|コンテキスト).{0,8}(長すぎ|超え)`,
	`max_seq_len`, `max(imum)? input (characters|tokens|length)`, `^token limit`,
	`messages?\[\d+\]\.content.{0,6}: string too long`,
	`must have less than \d+ tokens`, `max_new_tokens.{0,10} must be <=`, `tokens_limit_reached`,
}, "|"))

// maxWindow bounds the windows that are believed.
const maxWindow = 100_000_000

// statedWindow returns the window that a message about a long request states, in tokens;
// 0 when it states none.
func statedWindow(message string) int {
	for _, says := range windows {
		if m := says.FindStringSubmatch(message); m != nil {
			n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "", "'", "").Replace(m[1]))
			if err == nil && n >= minWindow && n <= maxWindow {
				return n
			}
		}
	}
	return 0
}

// minWindow is the smallest window that is believed. A smaller number counts something
// else.
const minWindow = 256

// windows find the number that is a limit, among others that count the request.
var windows = func() []*regexp.Regexp {
	const number = `(\d[\d,_']*)`
	var list []*regexp.Regexp
	for _, says := range []string{
		`> ` + number, `<= ?` + number,
		number + ` (tokens? )?(is the )?maximum`,
		`n_ctx"?[:=]? ?` + number,
		`(?:maximum|available|model's|model)? ?(?:context|prompt|input|sequence|model)[ _](?:length|window|size|limit)(?: of(?: only)?| is| was|:|=)? ?\(?(?:only )?` + number,
		`(?:maximum|max|allowed|available|limit)(?: number of)?(?: [a-z]+){0,3}(?: of| is|:)? ?\(?` + number,
		number + ` (?:maximum )?(?:context|prompt|input) (?:length|window|size)`,
		`with ` + number + ` maximum`, `(?:cannot exceed|less than|at most|up to) ` + number,
		`\[\d+, ?` + number + `\]`,
	} {
		list = append(list, regexp.MustCompile(`(?i)`+says))
	}
	return list
}()
