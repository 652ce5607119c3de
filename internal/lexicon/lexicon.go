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
// A file is read when it is first needed, which takes a few milliseconds and less than a
// megabyte. Everything is safe for concurrent use.
package lexicon

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxWord is how many characters the longest word of the gloss has.
const MaxWord = 5

//go:embed synonyms.txt
var synonymsText string

var synonyms = sync.OnceValue(func() table { return newTable(synonymsText) })

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
	rest, ok := synonyms().find(stem)
	if !ok {
		return Word{}, false
	}
	w.Common = float32(rest[0]-'0') / 9
	w.Same, w.Wider, _ = strings.Cut(rest[1:], "|")
	return w, true
}

// gloss has the English stems of a Chinese word, separated by spaces.
var gloss = sync.OnceValue(func() table { return newTable(glossText) })

// simple maps traditional characters to simplified ones: the word "" of the gloss.
var simple = sync.OnceValue(func() map[rune]rune {
	pairs, _ := gloss().find("")
	list := make(map[rune]rune, 1<<12)
	for pair := range strings.FieldsSeq(pairs) {
		traditional, size := utf8.DecodeRuneInString(pair)
		list[traditional], _ = utf8.DecodeRuneInString(pair[size:])
	}
	return list
})

// English returns the stems of the English words that mean a Chinese word, the
// most usual first, separated by spaces.
func English(word string) (stems string, ok bool) {
	return gloss().find(word)
}

// Simplified returns the simplified form of a traditional Chinese character, and
// other characters unchanged.
func Simplified(r rune) rune {
	if s, ok := simple()[r]; ok {
		return s
	}
	return r
}

// table finds the lines of a data file, which is sorted by its words. A map of all words
// would take longer to make than all else that a program does for one question.
type table struct {
	text   string
	starts []uint32        // of the lines
	with   map[string]span // the lines of the words that begin alike
}

// span is a part of the lines.
type span struct{ from, to uint32 }

// beginning is the first Chinese character of a word, or three letters.
func beginning(word string) string { return word[:min(len(word), 3)] }

func newTable(text string) table {
	t := table{text: text, starts: make([]uint32, 0, len(text)/16), with: make(map[string]span, 1<<13)}
	var begins string
	var lines span
	for at, end := 0, 0; at < len(text); at = end {
		end = at + strings.IndexByte(text[at:], '\n') + 1
		if text[at] == '#' { // a comment
			continue
		}
		word, _, _ := strings.Cut(text[at:end], "\t")
		if next := beginning(word); next != begins {
			t.with[begins] = lines
			begins, lines.from = next, lines.to
		}
		t.starts = append(t.starts, uint32(at))
		lines.to++
	}
	t.with[begins] = lines
	return t
}

// find returns what follows a word and a tab in its line.
func (t table) find(word string) (rest string, ok bool) {
	lines := t.with[beginning(word)]
	at, ok := slices.BinarySearchFunc(t.starts[lines.from:lines.to], word, func(start uint32, word string) int {
		key, _, _ := strings.Cut(t.text[start:], "\t")
		return strings.Compare(key, word)
	})
	if !ok {
		return "", false
	}
	line, _, _ := strings.Cut(t.text[int(t.starts[int(lines.from)+at])+len(word)+1:], "\n")
	return line, true
}
