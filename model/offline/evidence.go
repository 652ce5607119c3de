package offline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/chat"
)

// The kinds of evidence, from strong to weak. Each one looks for the value of a
// parameter and marks the text that it takes from the message as used.

var (
	quoted   = lazily("\"([^\"\n]{1,500})\"|“([^”\n]{1,500})”|「([^」\n]{1,500})」|《([^》\n]{1,500})》|`([^`\n]{1,500})`|(?:^|[\\s(,:：])'([^'\n]{1,500})'(?:$|[\\s),.?!])")
	urlText  = lazily(`(https?://[^\s"'<>，。）)]+)`)
	mail     = lazily(`([A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`)
	address  = lazily(`\b(\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?)\b`)
	uuid     = lazily(`\b([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b`)
	ident    = lazily(`\b([A-Z][A-Z0-9]{0,9}(?:-[A-Z0-9]+)*-\d[\w-]*)\b`)
	hashed   = lazily(`#(\d+)`)
	filePath = lazily(`((?:~|\.{1,2})?/?(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|txt|go|py|js|ts|json|ya?ml|csv|tsv|pdf|log|xlsx?|docx?|pptx?|html|toml|ini|conf|sh|sql|png|jpe?g|zip))`)
	number   = lazily(`(?:^|[^\w.-])[$€£¥￥]?(-?\d[\d,]*(?:\.\d+)?)(?:[^\w.-]|[kK%]|$|[\p{Han}A-Za-z])`)
	duration = lazily(`(?i)\b(\d+)\s*(s|sec|seconds?|m|min|mins|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\b|(\d+|一|两|二|三|五|六|十|半)\s*个?(秒|分钟|小时|钟头|天|周|星期)|(?i)\b(?:last|past|previous)\s+(hour|day|week|minute)\b`)
)

// explicit finds name=value and name: value.
func explicit(m *message, p *parameter) (any, bool) {
	for _, name := range p.names() {
		for from := 0; ; {
			i := strings.Index(m.lower[from:], name)
			if i < 0 {
				break
			}
			start := from + i
			from = start + len(name)
			if start > 0 && inName(m.lower[start-1]) || from >= len(m.text) {
				continue
			}
			rest := strings.TrimLeft(m.text[from:], " ")
			sign, cut := "", 0
			for _, s := range []string{"=", ":", "：", "为", "是"} {
				if strings.HasPrefix(rest, s) {
					sign, cut = s, len(m.text)-len(rest)+len(s)
				}
			}
			if sign == "" || strings.HasPrefix(rest, "://") {
				continue
			}
			if value, ok := m.valueAt(p, cut); ok && m.free(start) {
				for j := start; j < from; j++ {
					m.used[j] = true
				}
				return value, true
			}
		}
	}
	return nil, false
}

// The patterns of sentences about files: which text becomes which, what is written, and which file is found.
var (
	replaced = []expression{
		lazily(`(?i)\b(?:replace|change|correct|substitute)\s+(.+?)\s+(?:with|by|to|into)\s+(.+?)` +
			`(?:\s+in\s+(?:the\s+)?(?:file\s+)?[\w./-]+)?\s*[.!]?$`),
		lazily(`[把将]\s*(?:[\w./-]+\s*[里中]的?\s*)?(.+?)\s*(?:替换成|替换为|换成|换为|改成|改为)\s*(.+?)\s*[。！]?$`),
	}
	written = []expression{
		lazily(`(?i)^[^:：]*?(?:write|save|put|写|存)[^:：]*[\w/-]\.\w+\s*[:：]\s*(.+)$`),
		lazily(`(?i)\b(?:write|save|put|store)\s+(.+?)\s+(?:to|into|in|as)\s+(?:the\s+|a\s+)?(?:new\s+)?(?:file\s+)?[\w./-]+\s*[.!]?$`),
		lazily(`(?:写成|写上|内容为|内容是)\s*(.+?)\s*[。！]?$`),
		lazily(`[把将]\s*(.+?)\s*(?:写入|写到|写进|存入|存到|存进|存为)`),
	}
	found = []expression{
		lazily(`(?i)\b(?:find|locate|look for|search for|where is)\s+(?:the\s+|a\s+|all\s+)?files?\s+(?:named\s+|called\s+)?([\w.*?/-]+?)[.?!]?$`),
		lazily(`(?:[找搜查][\p{Han}]*|^)(?:文件|名为|叫)\s*([\w.*?/-]+?)\s*(?:的文件|在哪里?)?[。？?！]?$`),
	}
)

// phrased finds what a sentence about files says by its form.
func phrased(m *message, p *parameter) (any, bool) {
	patterns, group := []expression(nil), 1
	switch before, _, _ := strings.Cut(p.name, "_"); before {
	case "old":
		patterns = replaced
	case "new":
		patterns, group = replaced, 2
	case "content":
		patterns = written
	case "pattern":
		patterns = found
	}
	for _, pattern := range patterns {
		at := pattern().FindStringSubmatchIndex(strings.TrimRight(m.text, " \n"))
		if at == nil || !p.is("string") {
			continue
		}
		if start, end := at[2*group], at[2*group+1]; m.take(start, end) {
			return strings.Trim(m.text[start:end], "\"'`“”「」"), true
		}
	}
	return nil, false
}

func (m *message) free(i int) bool { return !m.used[i] }

func inName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
}

// valueAt reads the value that begins at an offset: quoted text, the rest of the line
// for long texts, else a word.
func (m *message) valueAt(p *parameter, at int) (any, bool) {
	start := at + len(m.text[at:]) - len(strings.TrimLeft(m.text[at:], " "))
	end := start
	rest := m.text[start:]
	if loc := quoted().FindStringSubmatchIndex(rest); loc != nil && loc[0] <= 1 {
		for g := 2; g < len(loc); g += 2 {
			if loc[g] >= 0 {
				start, end = start+loc[g], start+loc[g+1]
				break
			}
		}
	} else {
		stop := " \t\n,，。;；"
		if longText[p.name] {
			stop = "\n,，。;；"
		}
		if i := strings.IndexAny(rest, stop); i >= 0 {
			end = start + i
		} else {
			end = len(m.text)
		}
	}
	value, ok := m.convert(p, m.text[start:end])
	if !ok || !m.take(start, end) {
		return nil, false
	}
	return value, true
}

// oneOf finds one of the values of an enum.
func oneOf(m *message, p *parameter) (any, bool) {
	enum, list := p.Enum, false
	if len(enum) == 0 && p.is("array") && p.Items != nil {
		enum, list = p.Items.Enum, true
	}
	// The value mentioned first: "20 CNY in USD" converts from CNY.
	best, start, end := "", len(m.text), 0
	for _, v := range enum {
		if s, ok := v.(string); ok && s != "" {
			if from, to, ok := m.says(strings.ToLower(s)); ok && from < start {
				best, start, end = s, from, to
			}
		}
	}
	if best == "" || !m.take(start, end) {
		return nil, false
	}
	if list {
		return []any{best}, true
	}
	return best, true
}

// says finds where the message first mentions a value of an enum, in any of its forms.
func (m *message) says(value string) (start, end int, ok bool) {
	start = len(m.text)
	note := func(from, to int) {
		if from < start && !slices.Contains(m.used[from:to], true) {
			start, end, ok = from, to, true
		}
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(value, "_", " "), "-", " ")
	for _, form := range append([]string{value, plain, plain + "s", plain + "ed", plain + "d", plain + "ing",
		plain + "es"}, enumEnglish[value]...) {
		for from := 0; len(form) > 1; {
			i := strings.Index(m.lower[from:], form)
			if i < 0 {
				break
			}
			a, b := from+i, from+i+len(form)
			from = b
			if (a == 0 || !inName(m.lower[a-1])) && (b == len(m.lower) || !inName(m.lower[b])) {
				note(a, b)
			}
		}
	}
	for _, form := range enumChinese[value] {
		if i := strings.Index(m.lower, form); i >= 0 {
			note(i, i+len(form))
		}
	}
	return start, end, ok
}

// formatted finds values that are recognized by their form.
func formatted(m *message, p *parameter) (any, bool) {
	if p.is("array") && p.Items != nil && !p.is("string") {
		var all []any
		item := *p.Items
		item.name = p.name
		for len(all) < 20 {
			v, ok := formatted(m, &item)
			if !ok {
				break
			}
			all = append(all, v)
		}
		return all, len(all) > 0
	}
	if !p.is("string") || len(p.Enum) > 0 {
		if p.is("integer") && (p.name == "number" || strings.HasSuffix(p.name, "_number") ||
			p.is("integer") && strings.HasSuffix(p.name, "id")) {
			if text, ok := m.match(hashed); ok {
				n, err := strconv.Atoi(text)
				return n, err == nil
			}
		}
		return nil, false
	}
	var patterns []expression
	switch {
	case p.Format == "email" || p.called("email"):
		patterns = append(patterns, mail)
	case p.called("to", "recipient", "recipients", "from", "attendees", "attendee", "cc"):
		patterns = append(patterns, mail)
	case p.Format == "uri" || p.Format == "url" || p.called("url", "link", "uri"):
		patterns = append(patterns, urlText)
	case p.Format == "uuid":
		patterns = append(patterns, uuid)
	case strings.HasPrefix(p.Format, "ip") || p.called("ip", "cidr", "address"):
		patterns = append(patterns, address)
	case p.Format == "date", p.Format == "date-time", p.Format == "time",
		p.called("date", "day", "time", "start", "end", "deadline", "due", "from", "until", "at", "when"):
		return m.moment(p)
	case p.called("since", "duration", "window", "period", "range", "last", "interval", "timeframe", "time_range",
		"lookback"):
		return m.span(p)
	case p.called("path", "file", "filename", "folder", "directory", "file_path", "source", "destination",
		"target_path"):
		patterns = append(patterns, filePath)
	case p.called("id", "key", "number", "ticket", "issue", "invoice", "order", "sku", "case", "incident", "code", "po",
		"contract", "quote", "opportunity", "lead", "asset", "shipment", "expense", "report", "flight", "requisition",
		"candidate", "claim", "booking", "payment", "ref", "reference", "deal", "name"):
		patterns = append(patterns, ident, hashed, uuid)
	}
	for _, pattern := range patterns {
		if text, ok := m.match(pattern); ok {
			return text, true
		}
	}
	return nil, false
}

// span finds a duration, as in "last 2 hours", and writes it as 2h.
func (m *message) span(*parameter) (any, bool) {
	at := duration().FindStringSubmatchIndex(m.text)
	if at == nil || !m.take(at[0], at[1]) {
		return nil, false
	}
	group := func(i int) string {
		if at[2*i] < 0 {
			return ""
		}
		return strings.ToLower(m.text[at[2*i]:at[2*i+1]])
	}
	count, unit := group(1)+group(3), group(2)+group(4)+group(5)
	if count == "" {
		count = "1"
	}
	if count == "半" {
		count, unit = "30", "m"
	}
	if n, ok := numerals[count]; ok {
		count = strconv.Itoa(n)
	}
	short, ok := map[string]string{"秒": "s", "分钟": "m", "小时": "h", "钟头": "h", "天": "d", "周": "w",
		"星期": "w"}[unit]
	if !ok {
		short = unit[:1]
	}
	return count + short, true
}

// beside finds a value next to the parameter's name: "namespace prod", "the
// checkout pod", "prod 命名空间".
func beside(m *message, p *parameter) (any, bool) {
	if p.is("boolean") || longText[p.name] {
		return nil, false
	}
	for _, name := range p.names() {
		for i, w := range m.words {
			at, ok := w.holds(name)
			if !ok || m.used[at] {
				continue
			}
			for _, candidate := range m.neighbours(i) {
				value, ok := m.convert(p, m.text[candidate[0]:candidate[1]])
				if ok && m.take(candidate[0], candidate[1]) {
					return value, true
				}
			}
		}
	}
	return nil, false
}

// holds reports where a name occurs: as the whole word, or within a run of Chinese.
func (w word) holds(name string) (int, bool) {
	if w.wide {
		i := strings.Index(w.text, name)
		return w.start + max(i, 0), i >= 0
	}
	return w.start, w.text == name || w.text == name+"s" || w.text == name+"'s"
}

// neighbours returns the positions of values beside the name in the i-th word,
// likelier ones first.
func (m *message) neighbours(i int) [][2]int {
	var found [][2]int
	value := func(w word) bool {
		return !w.wide && !common[w.text] && !fillers[w.text] && !m.names[w.text] && !m.used[w.start]
	}
	for j := i + 1; j < len(m.words) && j <= i+3; j++ {
		w := m.words[j]
		if value(w) {
			found = append(found, [2]int{w.start, w.end})
			break
		}
		if !fillers[w.text] {
			break
		}
	}
	for j := i - 1; j >= 0 && j >= i-3; j-- {
		w := m.words[j]
		if value(w) && strings.Trim(w.text, "0123456789") != "" {
			found = append(found, [2]int{w.start, w.end})
			break
		}
		if !fillers[w.text] && (!w.wide || len(w.text) > 9) {
			break
		}
	}
	// "the checkout pod" is more common than "pod the checkout": if the word after the
	// name begins something new, look before the name first. Chinese also puts the
	// value first.
	if len(found) == 2 && (m.words[i].wide || fillers[m.words[i+1].text]) {
		found[0], found[1] = found[1], found[0]
	}
	return found
}

// listed finds the items of a list beside its name, or by what they look like.
func listed(m *message, p *parameter) (any, bool) {
	if !p.is("array") || p.Items == nil || !p.Items.is("string") {
		return nil, false
	}
	single := *p.Items
	single.name, single.required = strings.TrimSuffix(p.name, "s"), p.required
	for _, find := range []func(*message, *parameter) (any, bool){beside, named} {
		if v, ok := find(m, &single); ok {
			return []any{v}, true
		}
	}
	return nil, false
}

// counted finds numbers; for a count of time units it converts a duration.
func counted(m *message, p *parameter) (any, bool) {
	if p.is("string") || !p.is("integer") && !p.is("number") {
		return nil, false
	}
	if unit := strings.TrimSuffix(p.name, "s"); slices.Contains([]string{"minute", "hour", "day", "week"}, unit) {
		if v, ok := m.span(p); ok {
			text := v.(string)
			n, err := strconv.Atoi(text[:len(text)-1])
			minutes := map[byte]int{'m': 1, 'h': 60, 'd': 1440, 'w': 10080}
			return n * minutes[text[len(text)-1]] / minutes[unit[0]], err == nil &&
				minutes[text[len(text)-1]] >= minutes[unit[0]]
		}
	}
	if !p.required && !m.mentions(p) {
		return nil, false
	}
	text, ok := m.match(number)
	if !ok {
		for _, w := range m.words {
			for zh, n := range numerals {
				if i := strings.Index(w.text, zh); w.wide && i >= 0 && p.is("integer") && p.required &&
					m.take(w.start+i, w.start+i+len(zh)) {
					return n, true
				}
			}
		}
		return nil, false
	}
	return m.convert(p, text)
}

// mentions reports whether the message contains the parameter's name or a unit of its
// values.
func (m *message) mentions(p *parameter) bool {
	for _, name := range append(p.names(), units[p.name]...) {
		if strings.Contains(m.lower, strings.TrimSuffix(name, "s")) {
			return true
		}
	}
	return false
}

var (
	person  = lazily(`\b(?:to|for|with|by|from|assign(?:ed)?(?: it)? to|of|tell|ask|email|invite|notify|message)\s+([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)`)
	personZ = lazily(`(?:给|向|和|由|找|跟|通知|邀请|请|指派给|分配给|转给)([\p{Han}]{2,3}?)(?:发|说|写|处理|的|，|。|$|、|开|安排|预约|一|看|负责|参加|打)`)
	placeTo = lazily(`\b(?:to|in|at|for|near|around)\s+([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)`)
	placeOf = lazily(`\b(?:from|leaving)\s+([A-Z][a-z]+(?:\s+[A-Z][a-z]+)?)`)
	cities  = lazily(`(北京|上海|广州|深圳|杭州|成都|武汉|西安|南京|重庆|苏州|天津|香港|台北|东京|大阪|首尔|新加坡|伦敦|巴黎|纽约|旧金山|柏林|悉尼)`)
	proper  = lazily(`\b([A-Z][A-Za-z0-9&]*(?:\s+(?:[A-Z][A-Za-z0-9&]*|Inc|Ltd|GmbH))*)\b`)
	fromZ   = lazily(`从([\p{Han}]{2,3}?)(?:到|去|飞|出发|坐)`)
)

// named finds people, places and companies.
func named(m *message, p *parameter) (any, bool) {
	if !p.is("string") || len(p.Enum) > 0 {
		return nil, false
	}
	var patterns []expression
	switch {
	case p.called("origin", "from", "departure", "from_city"):
		patterns = []expression{fromZ, placeOf}
	case p.called("city", "location", "destination", "place", "to_city"):
		patterns = []expression{placeTo, cities, proper}
	case p.called("assignee", "person", "employee", "user", "recipient", "to", "owner", "attendee", "attendees",
		"manager",
		"approver", "contact", "contact_name", "colleague", "reviewer", "delegate", "participant", "username",
		"employee_name", "name", "candidate"):
		patterns = []expression{person, personZ}
		if p.required {
			patterns = append(patterns, proper)
		}
	case p.called("customer", "company", "account", "client", "vendor", "supplier", "organization", "party",
		"counterparty",
		"brand", "competitor"):
		patterns = []expression{person, proper}
	}
	for _, pattern := range patterns {
		if text, ok := m.match(pattern); ok && !common[strings.ToLower(text)] {
			return text, true
		}
	}
	return nil, false
}

// longText are parameters whose values are sentences.
var longText = set("title summary subject query message text body content description comment note notes reason details question q keyword keywords search topic expression prompt sql agenda feedback answer goal old_text new_text pattern term")

// searches are parameters that hold search terms.
var searches = set("query q keyword search term topic")

var cue = lazily(`(?i)(?:\b(?:titled|saying|that says|about|called|named|regarding|with the (?:title|text|message|subject)|because(?: of)?|for|mentioning|containing|matching)\s+|(?:标题是|标题为|内容是|内容为|原因是|因为|关于|主题是|说|写着|搜索|查找|查一下|搜一下)[:：]?\s*)([^\n]+)`)

// free finds a text that only its position identifies: quoted, after a cue word or,
// for required parameters, the message itself.
func free(m *message, p *parameter) (any, bool) {
	if !p.is("string") || len(p.Enum) > 0 || p.Format != "" {
		return nil, false
	}
	if !p.required && !longText[p.name] {
		return nil, false
	}
	for _, at := range quoted().FindAllStringSubmatchIndex(m.text, 20) {
		for g := 2; g < len(at); g += 2 {
			if at[g] < 0 {
				continue
			}
			if value, ok := m.convert(p, m.text[at[g]:at[g+1]]); ok && m.take(at[g], at[g+1]) {
				return value, true
			}
		}
	}
	if p.name == "expression" {
		return m.arithmetic()
	}
	if p.required || p.name == "reason" || searches[p.name] {
		if at := cue().FindStringSubmatchIndex(m.text); at != nil && m.take(at[2], at[3]) {
			return strings.TrimRight(m.text[at[2]:at[3]], " .?!。？！"), true
		}
	}
	if !p.required {
		return nil, false
	}
	if longText[p.name] {
		if text := m.rest(); text != "" {
			return text, true
		}
		return nil, false
	}
	// The last word that could be a name. Among Chinese, every word in Latin letters can.
	among := strings.ContainsFunc(m.text, chat.Wide)
	for _, w := range slices.Backward(m.words) {
		if !w.wide && !common[w.text] && !fillers[w.text] && !m.names[w.text] &&
			(among || strings.ContainsAny(w.text, "-_0123456789./")) &&
			(p.isID() || strings.ContainsAny(w.text, "abcdefghijklmnopqrstuvwxyz")) && m.take(w.start, w.end) {
			return m.text[w.start:w.end], true
		}
	}
	if text, ok := m.match(proper); ok && !common[strings.ToLower(text)] {
		return m.convert(p, text)
	}
	return nil, false
}

var (
	percentOf = lazily(`(\d+(?:\.\d+)?)\s*%\s*of\s*`)
	formula   = lazily(`(?:(?:sqrt|abs|round|floor|ceil|min|max|log|ln|exp|sin|cos|tan)?[-+*/^%().,\d\s]|pi\b)*\d(?:(?:sqrt|abs|round|floor|ceil|min|max|log|ln|exp|sin|cos|tan)?[-+*/^%().,\d\s]|pi\b)*`)
)

// arithmetic finds an expression.
func (m *message) arithmetic() (any, bool) {
	text := strings.NewReplacer("×", "*", "÷", "/", "乘以", "*", "乘", "*", "除以", "/", "加", "+", "减", "-",
		" times ", " * ", " plus ", " + ", " minus ", " - ", " divided by ", " / ", "（", "(", "）",
		")").Replace(m.text)
	text = percentOf().ReplaceAllString(text, "$1/100*")
	best := ""
	for _, f := range formula().FindAllString(text, 20) {
		if f = strings.Trim(f, " ,."); len(f) > len(best) {
			best = f
		}
	}
	return best, best != ""
}

var command = lazily(`(?i)^(?:please |can you |could you |i want to |i need to |help me |let's )*(?:search|find|look up|look for|show|get|list|send|write|create|translate|summari[sz]e|query|check|tell me|what is|what's|who is|calculate)\b(?: me| for| up| the| a| an| all| out)*\s*|^(?:请|帮我|请帮我|麻烦|我想|我要|给我)*(?:搜索|查找|查询|查一下|查看|查|搜一下|搜|找一下|找|翻译一下|翻译|计算|算一下|算|看看|看一下|看|读一下|读取|读|列出|创建|发送|发)?(?:文件)?\s*`)

// rest is the message without the words that ask for the action.
func (m *message) rest() string {
	text := strings.TrimSpace(command().ReplaceAllString(m.text, ""))
	text = strings.TrimRight(text, " .?!。？！")
	if text == "" || len(text) > 2000 {
		return ""
	}
	return text
}
