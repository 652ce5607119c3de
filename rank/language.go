package rank

import (
	"strings"
	"unicode"

	"github.com/etui-run/etui/rank/internal/language"
	"github.com/etui-run/etui/rank/internal/lexicon"
)

// Foreign returns the language of a question that is neither English nor Chinese; empty for others.
// Tools may speak it: [Ranking.Language] says that they do not.
func Foreign(question string) string {
	if l := language.Of(Divide(question).Request); l != nil {
		return l.Name
	}
	return ""
}

// leastName is how many letters a word of a tool's name has that counts in another language.
const leastName = 4

// named returns the words of a question in a language that say which tool is meant, though the words
// of the tools do not cover it: those that tools have in their names ("zeig mir die logs"), and in
// another script names in Latin letters.
func (x *Index) named(text string, l *language.Language) string {
	var names strings.Builder
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		_, own := x.toolWords()[stem(strings.ToLower(word))]
		own = own && len(word) >= leastName && !l.Function(strings.ToLower(word))
		if ascii(word) && (own || l.Accented() && word[0] <= 'Z') {
			names.WriteString(word + " ")
		}
	}
	return names.String()
}

// covers reports whether the words of the definitions cover a question in another language: they have at
// least a third of its words that are neither English nor small words of any language.
func (x *Index) covers(question string) bool {
	has, all := 0, 0
	words(fold(question), func(word string, wide bool) {
		if language.Function(word) || isStopWord(word) || wide && !kana(word) || !wide && isEnglish(word) {
			return
		}
		all++
		if term, ok := x.surfaces[word]; ok && term != noTerm {
			has++
		}
	})
	return has > 0 && 3*has >= all
}

// isEnglish reports whether English has a word.
func isEnglish(word string) bool {
	_, ok := lexicon.Lookup(stem(word))
	return ok
}

// kana reports whether a text has a letter of Japanese or Korean.
func kana(word string) bool {
	return strings.IndexFunc(word,
		func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul) }) >= 0
}
func ascii(word string) bool {
	for i := range len(word) {
		if word[i] >= 0x80 {
			return false
		}
	}
	return true
}
