// Package lexicon knows words: what a Chinese word means in English, which
// English words mean nearly the same, how common a word is, and what people say in everyday speech.
//
// The data is in files beside this one: gloss.txt and pinyin.txt are made from CC-CEDICT,
// and synonyms.txt from WordNet, by `go run ./rank/internal/lexicon/generate`. Each of them has a
// licence of its own, which its first lines and NOTICE.md state. sayings.txt and smalltalk.txt were
// written for this package. The build tag etui_nogloss leaves the first two out; then Chinese
// questions find only tools that are described in Chinese, English questions only tools that are
// described in English, and pinyin is not read.
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
	for _, common := range "么宁" { // they are traditional forms of rare characters, too; 什么 is no 什幺
		delete(list, common)
	}
	return list
})

// English returns the stems of the English words that mean a Chinese word, the
// most usual first, separated by spaces.
func English(word string) (stems string, ok bool) {
	return gloss().find(word)
}

// Simplify returns the simplified form of a traditional Chinese character, and
// other characters unchanged.
func Simplify(r rune) rune {
	if s, ok := simple()[r]; ok {
		return s
	}
	return r
}

// syllables has the characters of each syllable.
var syllables = sync.OnceValue(func() map[string]string {
	list := make(map[string]string, 512)
	for line := range strings.Lines(pinyinText) {
		if syllable, characters, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			list[syllable] = characters
		}
	}
	return list
})

// Pinyin returns the Chinese characters that are read as a syllable without its tone, those of most
// words first; empty when no character is.
func Pinyin(syllable string) (characters string) { return syllables()[syllable] }

// table is a data file, which is sorted by its words: each line has a word, a tab and what is
// known of it. A word is looked up in the text itself, with the help of every eighth line. A
// map of all words would take longer to make than all else that a program does for one
// question.
type table struct {
	text   string
	starts []uint32 // of those lines
	begin  []uint64 // their words' first eight bytes, as a number
}

// apart is how many lines one step of a table's index spans.
const apart = 8

// leading returns the first eight bytes of a word as a number that sorts like them.
func leading(word string) (n uint64) {
	for i := range min(len(word), 8) {
		n |= uint64(word[i]) << (56 - 8*i)
	}
	return n
}

func newTable(text string) table {
	lines := strings.Count(text, "\n")
	t := table{text: text, starts: make([]uint32, 0, lines/apart+1), begin: make([]uint64, 0, lines/apart+1)}
	for at, end, line := 0, 0, 0; at < len(text); at = end {
		end = at + strings.IndexByte(text[at:], '\n') + 1
		if text[at] == '#' { // a comment
			continue
		}
		if line%apart == 0 {
			word, _, _ := strings.Cut(text[at:end], "\t")
			t.starts, t.begin = append(t.starts, uint32(at)), append(t.begin, leading(word))
		}
		line++
	}
	return t
}

// find returns the rest of a word's line.
func (t table) find(word string) (rest string, ok bool) {
	// The line is behind the last one of the index whose word does not come after it.
	at, same := slices.BinarySearch(t.begin, leading(word))
	for same && at < len(t.begin) && t.begin[at] == leading(word) && t.word(at) <= word {
		at++
	}
	if at == 0 {
		return "", false
	}
	text := t.text[t.starts[at-1]:]
	for range apart {
		end := min(len(text), len(word))
		switch c := strings.Compare(text[:end], word); { // a tab sorts before what words contain
		case c == 0 && end < len(text) && text[end] == '\t':
			rest, _, _ = strings.Cut(text[end+1:], "\n")
			return rest, true
		case c >= 0:
			return "", false
		}
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	return "", false
}

// word returns that of a line of the index.
func (t table) word(at int) string {
	word, _, _ := strings.Cut(t.text[t.starts[at]:], "\t")
	return word
}
