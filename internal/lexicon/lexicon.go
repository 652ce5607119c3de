// Package lexicon knows words: what a Chinese word means in English, which
// English words mean nearly the same, and how common a word is.
//
// The data is in two files beside this one: gloss.txt is made from CC-CEDICT, and
// synonyms.txt from WordNet. Each has a licence of its own, which its first lines
// and NOTICE.md state. `go run ./internal/lexicon/generate` makes the files. The
// build tag etui_nogloss leaves gloss.txt out; then Chinese questions find only
// tools that are described in Chinese, and English questions only tools that are
// described in English.
//
// A file is read when it is first needed, which takes some milliseconds and a few
// megabytes. Everything is safe for concurrent use.
package lexicon

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxWord is how many characters the longest word of the gloss has.
const MaxWord = 5

//go:embed synonyms.txt
var synonymsText string

var synonyms = sync.OnceValue(func() map[string]string {
	list := make(map[string]string, 1<<15)
	for line := range lines(synonymsText) {
		stem, rest, _ := strings.Cut(line, "\t")
		list[stem] = rest
	}
	return list
})

// Word is what is known of an English word.
type Word struct {
	// Common is how common the word is in English text, from 0 (rare or unknown) to
	// 1 (among the most common).
	Common float32
	// Same are the stems of words with the same meaning, and Wider the stems of
	// words with a wider one, separated by spaces.
	Same, Wider string
}

// Lookup finds an English word by its stem.
func Lookup(stem string) (w Word, ok bool) {
	rest, ok := synonyms()[stem]
	if !ok {
		return Word{}, false
	}
	w.Common = float32(rest[0]-'0') / 9
	w.Same, w.Wider, _ = strings.Cut(rest[1:], "|")
	return w, true
}

type gloss struct {
	english map[string]string // by Chinese word: English stems, separated by spaces
	simple  map[rune]rune     // by traditional character
}

var glosses = sync.OnceValue(func() *gloss {
	g := &gloss{english: make(map[string]string, 1<<17), simple: make(map[rune]rune, 1<<12)}
	for line := range lines(glossText) {
		word, stems, _ := strings.Cut(line, "\t")
		if word != "" {
			g.english[word] = stems
			continue
		}
		for pair := range strings.FieldsSeq(stems) {
			traditional, size := utf8.DecodeRuneInString(pair)
			g.simple[traditional], _ = utf8.DecodeRuneInString(pair[size:])
		}
	}
	return g
})

// English returns the stems of the English words that mean a Chinese word, the
// most usual first, separated by spaces.
func English(word string) (stems string, ok bool) {
	stems, ok = glosses().english[word]
	return stems, ok
}

// Simplified returns the simplified form of a traditional Chinese character, and
// other characters unchanged.
func Simplified(r rune) rune {
	if s, ok := glosses().simple[r]; ok {
		return s
	}
	return r
}

// lines yields the lines of a data file that are not comments.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line[0] != '#' && !yield(line[:len(line)-1]) {
				return
			}
		}
	}
}
