// Package pinyin reads Chinese that is written in pinyin, with or without tones, and with or without
// spaces between the syllables of a word: "qingjia liang tian". It judges by the whole text: nearly all
// of its words are made of syllables, most are no words of another language, and the syllables make
// Chinese words. Of those that sound alike it takes the ones that are known best.
package pinyin

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// The ways in which two characters belong together, the closest last.
const (
	NoPair uint8 = iota
	Part         // they stand together in a text about a tool
	Word         // they are a word
	Meant        // they are a word with the meaning of one about a tool
	Count        // they are a numeral and what it counts
	Own          // they are a word of a text about a tool, or one without a topic
	Polite       // they are a word of greetings and thanks
)

// Words knows words. It is asked about words in small letters.
type Words interface {
	// Usual reports whether English or the tools use a word of Latin letters, and English whether
	// English has it.
	Usual(word string) bool
	English(word string) bool
	// Empty reports whether a Chinese word has no topic.
	Empty(word string) bool
	// Pair returns how two characters belong together.
	Pair(a, b rune) uint8
	// Foreign reports whether a text has words of a language other than English and Chinese.
	Foreign(text string) bool
}

// Bounds of what is read as pinyin.
const (
	maxText      = 300 // bytes of a question
	maxSyllables = 60
	maxReadings  = 32 // characters that are tried for a syllable
	maxBest      = 24 // of them, the best that are gone on from
	maxSyllable  = 6  // letters
)

// values are how well a character continues the one before it.
var values = [...]float64{Part: 1.5, Word: 2, Meant: 2.5, Count: 2.8, Own: 3, Polite: 3.2}

// What else counts.
const (
	within   = 0.5   // no space is between the characters of a pair
	far      = -1    // a pair lies between two words of several syllables
	single   = 0.5   // a character is a word without a topic
	syllable = -1.5  // each syllable, so that few long ones win over many short ones
	hidden   = -3    // a syllable begins with a vowel within a word: it needs an apostrophe
	unusual  = -0.01 // each character that is in more words
)

// Read returns the Chinese for a text in pinyin; empty for any other.
func Read(text string, words Words) string {
	if len(text) > maxText || !maybe(text) {
		return ""
	}
	if !worth(text, words) {
		return ""
	}
	r := reader{words: words}
	var reading strings.Builder
	first := true
	for field := range strings.FieldsSeq(withoutTones(text)) {
		if coded(field) {
			r.flush(&reading)
			reading.WriteString(" " + field + " ")
			continue
		}
		for field != "" {
			end := strings.IndexFunc(field, func(c rune) bool { return isLetter(c) != isLetter(rune(field[0])) })
			if end < 0 {
				end = len(field)
			}
			switch part := field[:end]; {
			case isLetter(rune(part[0])):
				r.add(part, first, &reading)
				first = false
			case part != "'":
				r.flush(&reading)
				reading.WriteString(part)
			}
			field = field[end:]
		}
	}
	r.flush(&reading)
	if !r.convinces(text) {
		return ""
	}
	return reading.String()
}

// coded reports whether a word has signs within it, as names of files have.
func coded(word string) bool {
	return strings.ContainsAny(strings.Trim(word, `.,;:!?"'()`), `_/\=<>{}[]|$#@():;.`)
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

// maybe reports whether at least three of four words may be made of syllables, by the order of their
// consonants. It is what other questions cost.
func maybe(text string) bool {
	all, others := 0, 0
	for field := range strings.FieldsSeq(text) {
		if all++; !syllabic(field) {
			others++
		}
	}
	if 4*others > all && strings.ContainsAny(text, "./_") { // names of files do not count
		for field := range strings.FieldsSeq(text) {
			if coded(field) {
				all, others = all-1, others-1
			}
		}
	}
	return all > 0 && 4*others <= all
}

// worth reports whether enough words of a text may be Chinese.
func worth(text string, words Words) bool {
	usual, others := 0, 0
	for field := range strings.FieldsSeq(text) {
		if word := strings.Trim(field, marks); word == "" || coded(word) {
			continue
		} else if words.Usual(strings.ToLower(word)) {
			usual++
		} else {
			others++
		}
	}
	return others > 0 && usual <= 2*others
}

// marks stand around words.
const marks = ",.!?;:'\"()12345"

// syllabic reports whether the consonants of a word are those of syllables: one before a vowel, zh, ch
// and sh, and n, ng or r behind it.
func syllabic(word string) bool {
	before := byte('a')
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= 0xE0: // no vowel with a tone begins so, Chinese does
			return false
		case c >= utf8.RuneSelf:
			c = 'a' // a vowel with its tone, or no pinyin, which is seen later
		case c < 'A': // a tone, or what stands around a word
			continue
		default:
			c |= 0x20
		}
		switch {
		case vowel(c) || vowel(before) || before == 'v' || before == 'n' || before == 'g' || before == 'r':
		case c == 'h' && (before == 'z' || before == 'c' || before == 's'):
		case c == 'v' && before == 'l':
		default:
			return false
		}
		before = c
	}
	return vowel(before) || before == 'n' || before == 'g' || before == 'r' || before == 'v'
}

func vowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

// withoutTones takes the tones from a text: marks and the numbers behind syllables.
func withoutTones(text string) string {
	if !strings.ContainsAny(text, toned+"12345") {
		return text
	}
	var b strings.Builder
	var before rune
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		if at := strings.IndexRune(toned, r); at >= 0 && r >= utf8.RuneSelf {
			r = rune(plain[utf8.RuneCountInString(toned[:at])])
		}
		if r < '1' || r > '5' || !isLetter(before) || unicode.IsDigit(next) {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

const (
	toned = "āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜü"
	plain = "aaaaeeeeiiiioooouuuuvvvvv"
)

// reader reads runs of words in pinyin.
type reader struct {
	words   Words
	letters string // of the run that is being read
	ends    []int  // of its words
	many    []bool // whether each is more than one syllable
	// foreign counts the words that are no English, english those that may be, and others those that
	// are not made of syllables. Names stay as they are.
	foreign, english, others, names int
	// all counts the syllables that were read, covered those in words, and polite those in polite words.
	// Tools says that a word is one of a definition's, and odd counts the words of several syllables
	// that are none.
	all, covered, polite, odd int
	tools                     bool
}

// add adds a word to the run, or writes it as it is.
func (r *reader) add(word string, first bool, to *strings.Builder) {
	lower := strings.ToLower(word)
	n := syllablesOf(lower)
	if n == 0 || !first && word[0] <= 'Z' { // a name
		r.flush(to)
		to.WriteString(" " + word + " ")
		if r.names++; n == 0 {
			r.others++
		}
		return
	}
	if r.words.Usual(lower) {
		r.english++
	} else {
		r.foreign++
	}
	r.letters += lower
	r.ends, r.many = append(r.ends, len(r.letters)), append(r.many, n > 1)
}

// syllablesOf returns how many syllables a word has at least; 0 when it is not made of syllables.
func syllablesOf(word string) int {
	if len(word) > 6*maxSyllable {
		return 0
	}
	least := make([]int, len(word)+1)
	for i := range word {
		if i > 0 && least[i] == 0 {
			continue
		}
		for n := 1; n <= maxSyllable && i+n <= len(word); n++ {
			if lexicon.Pinyin(word[i:i+n]) != "" && (least[i+n] == 0 || least[i+n] > least[i]+1) {
				least[i+n] = least[i] + 1
			}
		}
	}
	return least[len(word)]
}

// reading is a character with which a part of the run may end, and the best way to it.
type reading struct {
	character rune
	score     float64
	start     int   // of its syllable
	before    int   // the reading before it, by its place in the list of start; -1 for none
	pair      uint8 // with the one before
}

// flush writes the run in Chinese.
func (r *reader) flush(to *strings.Builder) {
	defer func() { r.letters, r.ends, r.many = "", r.ends[:0], r.many[:0] }()
	if r.letters == "" || r.all > maxSyllables {
		to.WriteString(r.letters)
		return
	}
	lists := make([][]reading, len(r.letters)+1)
	for i, word := 0, 0; i < len(r.letters); i++ {
		for i >= r.ends[word] {
			word++
		}
		if i > 0 && len(lists[i]) == 0 {
			continue
		}
		slices.SortFunc(lists[i], func(a, b reading) int { return cmp.Compare(b.score, a.score) })
		lists[i] = lists[i][:min(len(lists[i]), maxBest)]
		for n := 1; n <= maxSyllable && i+n <= r.ends[word]; n++ {
			score := float64(syllable)
			if vowel(r.letters[i]) && i > 0 && i != r.ends[max(word-1, 0)] {
				score += hidden
			}
			for k, character := range []rune(lexicon.Pinyin(r.letters[i : i+n])) {
				if k == maxReadings {
					break
				}
				c := reading{character: character, start: i, before: -1, score: score + unusual*float64(k)}
				lists[i+n] = append(lists[i+n], r.best(lists, i, word, c))
			}
		}
	}
	var path []reading
	for end, at := len(r.letters), -1; end > 0; {
		list := lists[end]
		if at < 0 {
			for i := range list {
				if at < 0 || list[i].score > list[at].score {
					at = i
				}
			}
		}
		path = append(path, list[at])
		end, at = list[at].start, list[at].before
	}
	r.judge(path)
	for i := len(path) - 1; i >= 0; i-- {
		to.WriteRune(path[i].character)
	}
}

// best returns a reading with the best one before it.
func (r *reader) best(lists [][]reading, at, word int, c reading) reading {
	if r.words.Empty(string(c.character)) {
		c.score += single
	}
	if at == 0 {
		return c
	}
	begins := word > 0 && r.ends[word-1] == at
	alone := c.score
	for i, b := range lists[at] {
		score, pair := b.score+alone, r.words.Pair(b.character, c.character)
		if b.pair == Part && pair == Part || b.pair != NoPair && pair != Part && pair != Own {
			pair = NoPair // a character is in one word
		}
		score += values[pair]
		switch {
		case pair == NoPair:
		case !begins:
			score += within
		case r.many[word-1] && r.many[word]:
			score += far
		}
		if c.before < 0 || score > c.score {
			c.score, c.before, c.pair = score, i, pair
		}
	}
	return c
}

// judge counts the syllables of a run that are in words. The path is from the end to the beginning.
func (r *reader) judge(path []reading) {
	for i, c := range path {
		r.all++
		behind := NoPair
		if i > 0 {
			behind = path[i-1].pair
		}
		if c.pair != NoPair || behind != NoPair || r.words.Empty(string(c.character)) {
			r.covered++
		}
		if c.pair == Polite || behind == Polite {
			r.polite++
		}
		if c.pair == Meant || c.pair == Own && !r.words.Empty(string(path[i+1].character)+string(c.character)) {
			r.tools = true
		}
		for word, many := range r.many {
			begins := word == 0 && c.start == 0 || word > 0 && c.start == r.ends[word-1]
			if many && begins && behind == NoPair {
				r.odd++
			}
		}
	}
}

// convinces reports whether what was read is pinyin.
func (r *reader) convinces(text string) bool {
	switch {
	case r.all < 2 || r.foreign == 0 || r.english > 2*r.foreign || 3*r.others > r.foreign:
		return false
	case r.foreign+r.english+r.names == 1 && r.words.English(strings.ToLower(strings.TrimSpace(text))):
		return false // banana
	case r.words.Foreign(text) && r.odd+r.names > 0:
		return false
	case !r.tools:
		return r.polite == r.all || r.all >= fewSyllables && r.covered == r.all && r.odd == 0
	}
	return 3*r.odd <= r.foreign && 5*r.covered >= 3*r.all
}

// fewSyllables is how many syllables must make words, at least, where no tool has any of the words.
const fewSyllables = 4
