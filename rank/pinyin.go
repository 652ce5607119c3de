package rank

import (
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/language"
	"github.com/etui-run/etui/rank/internal/lexicon"
	"github.com/etui-run/etui/rank/internal/pinyin"
)

// fromPinyin returns the Chinese for a question in pinyin; empty for any other.
func (x *Index) fromPinyin(text string) string { return pinyin.Read(text, knowledge{x}) }

// knowledge is what an index knows of words.
type knowledge struct{ index *Index }

func (k knowledge) Usual(word string) bool {
	_, own := k.index.surfaces[word]
	known, ok := lexicon.Lookup(stem(word))
	return isStopWord(word) || own && len(word) >= leastName || ok && known.Common > 0
}

func (k knowledge) English(word string) bool { return isEnglish(word) }

func (k knowledge) Empty(word string) bool { return isStopWord(word) }

func (k knowledge) Foreign(text string) bool { return language.Of(text) != nil }

func (k knowledge) Pair(a, b rune) uint8 {
	var buffer [2 * utf8.UTFMax]byte
	pair := string(utf8.AppendRune(utf8.AppendRune(buffer[:0], a), b))
	term, own := k.index.surfaces[pair]
	stems, word := lexicon.English(pair)
	switch {
	case isPolite(pair):
		return pinyin.Polite
	case word && own && term != noTerm || isStopWord(pair):
		return pinyin.Own
	case strings.ContainsRune(numerals, a) && strings.ContainsRune(counted, b):
		return pinyin.Count
	case own && term != noTerm:
		return pinyin.Part
	case !word:
		return pinyin.NoPair
	}
	for s := range strings.FieldsSeq(stems) {
		if _, ok := k.index.terms[s]; ok {
			return pinyin.Meant
		}
	}
	return pinyin.Word
}

// numerals are characters of numbers, and counted those that stand right behind one: 两天, 三个.
const (
	numerals = "一二三四五六七八九十两几半"
	counted  = "天个年月周晚次件张份人块元位本台条杯家点分秒岁"
)
