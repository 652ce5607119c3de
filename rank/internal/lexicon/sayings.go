package lexicon

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

//go:embed sayings.txt
var sayingsText string

// Saying is a word or a phrase of everyday speech.
type Saying struct {
	// Text is the saying itself.
	Text string
	// Words mean the same in software: stems of English words, or Chinese words.
	Words []string
	rest  []string // the words behind the first: stop words, and stems of others
}

// What a saying has in place of words: others stands for maxOthers at most ("put ~ through"), or for
// so many bytes of Chinese, and anyNumber for a number.
const others, maxOthers, maxWide, anyNumber = "~", 3, 18, "0"

// sayings are by their first word, see heard, or by their first Chinese character.
var sayings = sync.OnceValue(func() map[string][]Saying {
	list := map[string][]Saying{}
	for line := range strings.Lines(sayingsText) {
		text, meaning, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue // a comment
		}
		s := Saying{Text: text}
		for word := range strings.FieldsSeq(meaning) {
			s.Words = append(s.Words, Stem(word))
		}
		first := firstOf(text)
		if first[0] < utf8.RuneSelf {
			for word := range strings.FieldsSeq(text[len(first):]) {
				s.rest = append(s.rest, heard(word))
			}
			first = heard(first)
		}
		list[first] = append(list[first], s)
	}
	return list
})

// heard returns the form in which a word is compared: stop words have no other forms.
func heard(word string) string {
	if Stop(word) {
		return word
	}
	return Stem(word)
}

// Sayings yields the sayings that begin with the first of some words and go on with the next ones.
// The words are stop words, and stems of others.
func Sayings(stems []string, yield func(*Saying)) {
	first := stems[0]
	if number(first) {
		first = anyNumber
	}
	list := sayings()[first]
	for i := range list {
		if goesOn(stems[1:], list[i].rest) {
			yield(&list[i])
		}
	}
}

// goesOn reports whether stems begin with the rest of a saying.
func goesOn(stems, rest []string) bool {
	for i := 0; i < len(rest); i++ {
		skip := 0
		if rest[i] == others {
			i, skip = i+1, maxOthers
		}
		for ; skip > 0 && len(stems) > 0 && stems[0] != rest[i]; skip-- {
			stems = stems[1:]
		}
		if len(stems) == 0 || stems[0] != rest[i] {
			return false
		}
		stems = stems[1:]
	}
	return true
}

func number(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// WideSayings yields the Chinese sayings that a text begins with.
func WideSayings(text string, yield func(*Saying)) {
	list := sayings()[firstOf(text)]
	for i := range list {
		before, behind, gap := strings.Cut(list[i].Text, others)
		if !strings.HasPrefix(text, before) {
			continue
		}
		if at := strings.Index(text[len(before):], behind); gap && (at < 0 || at > maxWide) {
			continue
		}
		yield(&list[i])
	}
}

// Stem reduces an English word to its stem by Porter's second algorithm (snowballstem.org), and
// irregular forms to that of their base. Words of other languages pass nearly unchanged.
func Stem(word string) string {
	if len(word) < 3 {
		return word
	}
	return english.Stem(Base(word), false)
}
