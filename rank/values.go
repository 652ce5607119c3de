package rank

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/filename"
)

// A question names values: addresses, files, sums, times. Their words are no topic, and lead to
// tools that mention such a value as an example. Their form says what is asked about, so each
// stands for a word: a name with an extension for "file", an operator between numbers for
// "calculate". Times and courtesy stand for nothing, unless the question has nothing else.
//
// The words belong to closed classes: numerals, adverbs of time, and courtesy. The lists were written
// for this package.

// withoutValues puts words in place of the values of a question. It returns the expressions of
// time apart.
func withoutValues(query string) (rest, time string) {
	query = withoutAddresses(query)
	if strings.ContainsAny(query, `./\\`) && len(query) <= maxNaming {
		query = withoutNames(query)
	}
	signs := hints(query)
	if signs&hasNumber != 0 && len(query) <= maxNaming {
		query = withoutSums(query)
	}
	if signs&hasTime == 0 || len(query) > maxTimed {
		return query, ""
	}
	rest = query
	if signs&hasCourtesy != 0 {
		rest = courtesy.ReplaceAllString(query, " ")
	}
	var said strings.Builder
	for _, expression := range times {
		if signs&expression.needs != expression.needs {
			continue
		}
		rest = expression.form.ReplaceAllStringFunc(rest, func(time string) string {
			said.WriteString(time + " ")
			return " "
		})
	}
	if len(rest) != len(query) && !saysSomething(rest) {
		return query, "" // "what about Friday?" asks about the day
	}
	return rest, said.String()
}

// maxNaming is how long a question is whose files and sums are what it is about, in bytes. In
// longer ones, which write a task out, they are details.
const maxNaming = 300

// maxTimed is how long a question is of which expressions of time are taken out, in bytes, and
// how much of it is searched for names.
const maxTimed = 2 << 10

// hint says which values a question may have, and which expressions can find one.
type hint uint16

const (
	hasNumber hint = 1 << iota
	hasTime
	hasCourtesy
	hasDay
	hasUnit
	hasDigit
	hasClock
	hasHanDay
	hasHanSpan
	hasHanClock
)

// hints reads the words of a question once, so that the expressions run only where they may find
// something.
func hints(query string) (found hint) {
	start := -1
	for i := range len(query) + 1 {
		letter := i < len(query) && (query[i]|0x20 >= 'a' && query[i]|0x20 <= 'z')
		switch {
		case letter && start < 0:
			start = i
		case !letter && start >= 0:
			if i-start <= maxHint {
				var word [maxHint]byte
				for k := range i - start {
					word[k] = query[start+k] | 0x20
				}
				found |= hintWords[string(word[:i-start])]
			}
			start = -1
		}
		switch {
		case i == len(query):
		case query[i] >= '0' && query[i] <= '9':
			found |= hasNumber | hasTime | hasDigit
		case query[i] == ':':
			found |= hasClock
		}
	}
	for _, h := range hanHints {
		if found&h.found != h.found && strings.ContainsAny(query, h.signs) {
			found |= h.found
		}
	}
	return found
}

// hanHints are the Chinese characters of which an expression needs one.
var hanHints = []struct {
	signs string
	found hint
}{
	{"零一二两三四五六七八九十百千万半几", hasNumber | hasTime},
	{"天周月年日晚早午夜点请烦托驾谢忙", hasTime},
	{"麻请拜劳辛帮能可好行谢", hasCourtesy},
	{"天周期拜早晚日午晨夜", hasHanDay},
	{"后前内", hasHanSpan},
	{"点", hasHanClock},
}

// maxHint is the length of the longest word that hints knows.
const maxHint = 12

const (
	days    = `today|tomorrow|yesterday|tonight|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?`
	dayPart = `morning|afternoon|evening|night|noon|midnight|weekend`
	units   = `seconds?|minutes?|hours?|days?|weeks?|weekends?|months?|quarters?|years?`
	digits  = `\d+(?:[.,]\d+)*`
	numeral = `(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million)`
	number  = `(?:` + digits + `|` + numeral + `(?:(?:[ -]|[ -]and[ -])` + numeral + `)*)`
	amount  = `(?:(?:about|around) )?(?:half |a quarter of )?(?:an?|` + number +
		`|a few|a couple of|several|half)(?: and a half)?`
	hanzi   = `(?:` + digits + `|[零一二两三四五六七八九十百千万]+)`
	hanDay  = `大?[今明后昨前]天|[今明昨][晚早日]`
	hanPart = `早上|上午|中午|下午|晚上|傍晚|凌晨|半夜|清晨`
	hanUnit = `分钟|秒钟?|个?小时|个?钟头|天|周|个?星期|个?礼拜|个?月|年`
	civil   = `please|kindly|would you mind|do you mind|if you (?:do not|don't|wouldn't) mind|if (?:it is |it's )?possible|i'd appreciate(?: it)?(?: if you)?|i would appreciate(?: it)?(?: if you)?|be so kind(?: as)?(?: to)?|when(?:ever)? you (?:get|have) (?:a |the )?(?:chance|moment|minute|second|time)|do me a favou?r|(?:many )?thanks in advance|thank you in advance|sorry to (?:bother|trouble) you|(?:i )?(?:was|am|i'm) wondering (?:if|whether)`
	hanGood = `麻烦(?:您|你)?(?:帮(?:我|忙)?(?:一下)?)?|请问|拜托(?:您|你|了)?|劳驾|辛苦(?:您|你)?(?:了|帮我)?|请?帮(?:我|忙|个忙)(?:一下)?|能不能|可不可以|可以吗|好吗|行吗|谢谢(?:你|您|了)?`
)

// courtesy are the phrases of politeness.
var courtesy = regexp.MustCompile(`(?i)\b(?:` + civil + `)\b|` + hanGood)

// times are the expressions of time: days and times of day, spans from now, clocks. Dates and
// months are left: they say what a report or a booking is for.
var times = []struct {
	needs hint // without all of which the form finds nothing
	form  *regexp.Regexp
}{
	{hasDay, regexp.MustCompile(`(?i)\b(?:(?:this|next|last|coming|past|previous|early|late|on|by|until|till|since|from|in the|at) )*(?:` + days + `|(?:this|next|last|coming|past|previous) (?:` + dayPart + `|weeks?)|in the (?:` + dayPart + `)|at (?:night|noon|midnight))(?: (?:` + dayPart + `))?\b`)},
	{hasUnit, regexp.MustCompile(`(?i)\b(?:in|within|after|the next|the last|over the (?:next|last)) ` + amount +
		`[ -](?:` + units + `)\b|\b` + amount + `[ -](?:` + units + `) (?:ago|later|from now|earlier)\b`)},
	{hasDigit | hasClock, regexp.MustCompile(`(?i)\b(?:at )?\d{1,2}(?::\d\d)? ?(?:(?:am|pm|o'clock)\b|[ap]\.m\.)|\b(?:at )?\d{1,2}:\d\d\b`)},
	{hasHanDay, regexp.MustCompile(`(?:` + hanDay +
		`|[下上这本每]?个?(?:周|星期|礼拜)[一二三四五六日天末]|[下上这本]下?个?(?:周|星期|礼拜))(?:` + hanPart + `)?|` +
		hanPart)},
	{hasHanSpan, regexp.MustCompile(`(?:` + hanzi + `|半|几)个?半?(?:` + hanUnit + `)(?:之?[后前内]|以[后前内])`)},
	{hasHanClock, regexp.MustCompile(`(?:` + digits + `|[二两三四五六七八九十]+)(?:点(?:钟|半|一刻|` + hanzi +
		`分?)?)`)},
}

// sums are the forms of arithmetic, with the words for which they stand.
var sums = []struct {
	signs string // of which a form needs one, in lower case; it is cheaper to look for them
	form  *regexp.Regexp
	words string
}{
	{"% percent", regexp.MustCompile(`(?i)\b` + number + ` ?(?:%|percent) of ` + number + `\b`), " calculate percent "},
	{"times multiplied", regexp.MustCompile(`(?i)\b` + number + ` (?:times|multiplied by) ` + number + `\b`),
		" calculate times multiply "},
	{"plus", regexp.MustCompile(`(?i)\b` + number + ` (?:plus) ` + number + `\b`), " calculate plus add "},
	{"minus less", regexp.MustCompile(`(?i)\b` + number + ` (?:minus|less) ` + number + `\b`),
		" calculate minus subtract "},
	{"divided over mod", regexp.MustCompile(`(?i)\b` + number + ` (?:divided by|over|modulo|mod) ` + number + `\b`),
		" calculate divided by divide "},
	{"power raised", regexp.MustCompile(`(?i)\b` + number + ` (?:to the power of|raised to(?: the power of)?) ` +
		number + `\b`), " calculate power "},
	{"squared cubed", regexp.MustCompile(`(?i)\b` + number + ` (?:squared|cubed)\b`), " calculate power "},
	{"add subtract multiply divide sum product difference average mean",
		regexp.MustCompile(`(?i)\b(?:add(?: up)?|subtract|multiply|divide|(?:the )?(?:sum|product|difference|average|mean) of) ` + number + `(?:(?:, ?and |, ?| and | by | from | to | with )` + number + `)+\b`), " calculate $0 "},
	{"root half third quarter twice double",
		regexp.MustCompile(`(?i)\b(?:(?:square|cube) root of|half of|a (?:third|quarter) of|twice|double) ` + number +
			`\b`), " calculate $0 "},
	{"乘 x", regexp.MustCompile(hanzi + ` ?(?:乘以?|x|X) ?` + hanzi), " calculate multiply 乘以 "},
	{"加", regexp.MustCompile(hanzi + ` ?加上? ?` + hanzi), " calculate add 加 "},
	{"减", regexp.MustCompile(hanzi + ` ?减去? ?` + hanzi), " calculate subtract 减 "},
	{"除", regexp.MustCompile(hanzi + ` ?除以?(?:于)? ?` + hanzi), " calculate divide 除以 "},
	{"的", regexp.MustCompile(hanzi + ` ?的 ?(?:` + hanzi + ` ?%|百分之` + hanzi + `)`), " calculate percent "},
	{"的", regexp.MustCompile(hanzi + ` ?的 ?(?:` + hanzi + ` ?次方|平方根?|立方根?|一半|两倍|` + hanzi + `分之` +
		hanzi + `)`), " calculate power "},
	{"加 减 乘 除 和 积 差 商 平均",
		regexp.MustCompile(hanzi + `(?: ?[、,，和与跟加] ?` + hanzi +
			`)+ ?(?:相[加减乘除]|的?[和积差商]|加起来|之[和积差商]|的平均[值数])`), " calculate "},
	{"/", regexp.MustCompile(`\b(?:3[2-9]|[4-9]\d|\d{3,})(?:\.\d+)?/\d+\b|\b\d+/(?:3[2-9]|[4-9]\d|\d{3,})\b`),
		" calculate divide "},
	{"+ * × ÷ ^ - − /", regexp.MustCompile(`\d[ )]*(?:[+*×÷^]|( )[-−/]( ))[ (]*\d`), " calculate $0 "},
}

// withoutSums puts words in place of arithmetic.
func withoutSums(query string) string {
	lower := strings.ToLower(query)
	has := func(sign string) bool { return strings.Contains(lower, sign) }
	for _, s := range sums {
		if slices.ContainsFunc(strings.Fields(s.signs), has) && s.form.MatchString(query) {
			return s.form.ReplaceAllString(query, strings.Replace(s.words, "$0", "${0}", 1))
		}
	}
	return query
}

// saysSomething reports whether a text has a word that is neither a stop word nor polite, and not
// what one calls the time.
func saysSomething(text string) (says bool) {
	words(fold(text), func(word string, wide bool) {
		_, size := utf8.DecodeRuneInString(word)
		pair := wide && size < len(word)
		says = says || !pair && !isStopWord(word) && !isPolite(word) && !strings.Contains(timeNouns, " "+word+" ")
	})
	return says
}

// timeNouns are what one calls the time when one asks for it.
const timeNouns = " time date day weekday week month year hour clock 时 间 日 期 几 点 号 星 周 "

// hintWords are the words that the expressions need.
var hintWords = func() map[string]hint {
	set := map[string]hint{}
	add := func(expression string, found hint) {
		for _, w := range strings.FieldsFunc(expression, func(r rune) bool { return !unicode.IsLower(r) }) {
			if len(w) > 2 && len(w) <= maxHint && w != "the" && w != "you" {
				set[w] |= found
			}
		}
	}
	for name, found := range map[string]hint{days: hasDay, dayPart: hasDay, units: hasDay | hasUnit} {
		add(strings.ReplaceAll(name, "s?", ""), hasTime|found)
		add(strings.ReplaceAll(name, "?", ""), hasTime|found)
	}
	add("please kindly mind possible appreciate kind chance moment favor favour advance sorry wondering",
		hasTime|hasCourtesy)
	add("minute second time", hasCourtesy)
	add("half", hasTime)
	add("clock", hasClock)
	set["am"], set["pm"], set["m"] = hasClock, hasClock, hasClock
	add(numeral, hasNumber|hasTime)
	return set
}()

// withoutNames puts "file" and its kind in place of the names of files, and "folder" in place of
// paths that end with a slash. A question with nothing else asks to read them, or where they are.
func withoutNames(query string) string {
	text, named := filename.Replace(query)
	switch lower := lowerASCII(query); {
	case named == "" || saysSomething(strings.ReplaceAll(text, named, " ")):
		return text
	case holds(lower, whereabouts):
		return text + " find search 查找"
	case strings.Contains(text, filename.Folder):
		return text + " list 列出"
	}
	return text + " read view 读取 查看"
}

// whereabouts ask where something is.
var whereabouts = []string{"where", "哪里", "哪儿", "在哪", "哪个", "find", "找"}
