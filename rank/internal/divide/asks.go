package divide

import (
	"strings"
	"unicode"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// How much the words of a line say.
const (
	labelled = -2 // it begins with "name:"
	coded    = -1 // a word with signs in it, up to three, if every fifth word has some
)

// asks returns how much a line reads like a request: a question, a wish, a verb that tells somebody
// to do something.
func (l *line) asks() (score float64) {
	text := strings.TrimRight(l.text, ` "'”’)）`)
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.Contains(text, "? ") ||
		strings.Contains(text, "？") {
		score += 3
	}
	if l.han {
		return score + asksInChinese(l.text)
	}
	first, own, codes, n, said := false, false, 0, 0, 0
	for word := range strings.FieldsSeq(text) {
		bare := strings.ToLower(strings.TrimFunc(word,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		if n == 0 && strings.HasSuffix(word, ":") {
			score += labelled
		}
		if _, ok := requestWords[bare]; ok && said == 0 {
			first = true
		}
		if _, ok := persons[bare]; ok {
			own = true
		}
		if codes < 3 && coding(word) {
			codes++
		}
		if !lexicon.Polite(bare) && bare != "" {
			said++
		}
		n++
	}
	if first {
		score += 2
	}
	if own {
		score++
	}
	if 5*codes >= n {
		score += float64(codes) * coded
	}
	return score
}

// coding reports whether a word has signs within it, as names in programs and addresses have.
func coding(word string) bool {
	word = strings.Trim(word, `.,;:!?"'()`)
	return strings.ContainsAny(word, `_/\=<>{}[]|$#@();:`) || strings.Contains(word, ".")
}

func asksInChinese(text string) (score float64) {
	for _, w := range wishes {
		if strings.Contains(text, w) {
			score = 2
			break
		}
	}
	if strings.ContainsAny(text, "我你您") {
		score++
	}
	return score
}

// wishes are what Chinese requests say.
var wishes = strings.Fields(`请 帮 我想 想要 我要 需要 能否 能不能 可以 可否 怎么 怎样 如何 什么 哪 多少 几 吗 呢 查询 查一 告诉`)

// persons are words for the one who asks and the one who is asked.
var persons = set(`must should need i i'm i'd i've i'll my me mine we our us you your could can would`)

// requestWords are words with which requests begin.
var requestWords = set(`what what's whats which who who's whose when where where's why how how's can could will would shall should do does did is are may
	please help i i'd i'm i've i'll need want let let's if
	accept access acquire activate add allow analyse analyze answer append apply approve archive ask assess assign assist assume block book browse build buy
	calculate call cancel change charge check choose classify clone close collect combine commit compare compile compress compute configure confirm connect
	consider consult convert copy count create crop debug decide decode define delete deploy describe design detect determine disable discover display
	download draft draw edit email enable encode encrypt ensure estimate evaluate examine execute explain explore export extract fetch fill filter find fix
	follow format forward gather generate get give given go grab guide having help identify import include inform insert inspect install invite invoke join
	keep kindly launch learn leave list load locate lock look lookup mail make manage measure merge message monitor move name navigate notify obtain open
	optimize order organize output parse pay perform pick plan play post predict prepare print process produce provide publish pull purchase push put query
	rank read recommend record refund register reject remind remove rename render reorder repair replace reply report request research reserve reset resize
	resolve respond restart restore retrieve return review rewrite run save scan schedule score search see select sell send set share show sign simulate
	solve sort specify split start stop submit subscribe suggest sum summarise summarize swap switch take tell test track train transcribe transfer
	translate trigger turn undo unlock update upgrade upload use using validate verify view visit visualize wake walk warn watch withdraw write any`)

func set(words string) map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(words) {
		set[w] = struct{}{}
	}
	return set
}
