package rank

import (
	"strings"
	"unicode"
)

// asks returns how much a line reads like a request: a question, a wish, a verb that tells somebody
// to do something.
func (l *line) asks() (score float64) {
	text := strings.TrimRight(l.text, ` "'”’)）`)
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.Contains(text, "? ") || strings.Contains(text, "？") {
		score += 3
	}
	if l.han {
		return score + asksInChinese(l.text)
	}
	first, own, codes, n := false, false, 0, 0
	for word := range strings.FieldsSeq(text) {
		bare := strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		if n == 0 && strings.HasSuffix(word, ":") {
			score += labelled
		}
		if _, ok := requestWords[bare]; ok && n < 3 {
			first = true
		}
		if _, ok := persons[bare]; ok {
			own = true
		}
		if codes < 3 && coding(word) {
			codes++
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
var requestWords = set(`what what's whats which who who's whose when where where's why how how's can could will would shall should do does did is are was were may
	please help i i'd i'm i need want let let's show tell find get give fetch list search look check retrieve create make add send write read open close
	delete remove update change set convert translate calculate compute compare explain describe summarize summarise analyze analyse generate provide
	book order buy sell reserve cancel schedule plan recommend suggest play stop start run execute call download upload save share post publish
	identify determine verify validate confirm estimate predict track monitor review extract return count sum sort filter display print
	fix debug repair solve answer draw design build deploy restart install configure turn switch remind notify email mail message invite
	assume suppose consider use using given having looking any`)

func set(words string) map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(words) {
		set[w] = struct{}{}
	}
	return set
}
