package rank

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// cut is a word of a run of Chinese characters.
type cut struct {
	word   string
	length int // in characters
	start  int // in characters of the run
}

// cuts yields the words of a run of Chinese characters. It cuts the run twice, from
// the front and from the back, and takes the longest word each time: where both
// agree the cut is right, elsewhere both are used.
func cuts(run string, yield func(cut)) {
	starts := make([]int, 0, 64) // of the characters, and the end
	for i := range run {
		starts = append(starts, i)
	}
	count := len(starts)
	starts = append(starts, len(run))
	for i := 0; i < count; {
		n := min(lexicon.MaxWord, count-i)
		for n > 1 && !known(run[starts[i]:starts[i+n]]) {
			n--
		}
		yield(cut{run[starts[i]:starts[i+n]], n, i})
		i += n
	}
	for i := count; i > 0; {
		n := min(lexicon.MaxWord, i)
		for n > 1 && !known(run[starts[i-n]:starts[i]]) {
			n--
		}
		yield(cut{run[starts[i-n]:starts[i]], n, i - n})
		i -= n
	}
}

// readWide adds the words of a run of Chinese characters, and its pairs of characters that lie
// in no word.
func (p *parser) readWide(run string, weight float32, asked bool) {
	p.cuts, p.inWord = p.cuts[:0], p.inWord[:0]
	for range utf8.RuneCountInString(run) - 1 {
		p.inWord = append(p.inWord, false)
	}
	cuts(run, func(c cut) {
		if !slices.Contains(p.cuts, c) {
			p.cuts = append(p.cuts, c)
		}
		for i := range c.length - 1 {
			p.inWord[c.start+i] = true
		}
	})
	for _, c := range p.cuts {
		p.readCut(c, weight)
	}
	if asked {
		weight *= acrossWords
	}
	pairs(run, func(i int, pair string) {
		if !p.inWord[i] {
			p.addWide(pair, queryTerm{weight: weight})
		}
	})
}

// readCut adds the forms of a Chinese word: itself, or its pairs of characters, which share its
// weight, and its translations.
func (p *parser) readCut(c cut, weight float32) {
	if _, ok := places[c.word]; ok && c.length > 1 {
		p.loose = p.sampled(c.word)
		defer func() { p.loose = false }()
	}
	p.words++
	form := queryTerm{weight: weight, word: p.words}
	if c.length == 1 {
		p.addWide(c.word, form)
	} else {
		form.weight *= wideWord / float32(c.length-1)
		pairs(c.word, func(_ int, pair string) { p.addWide(pair, form) })
		for i, r := range c.word {
			p.addWide(c.word[i:i+utf8.RuneLen(r)], queryTerm{weight: weight * character, loose: true})
		}
	}
	meaning(c.word, c.length, func(word, stem string) {
		if term, ok := p.index.terms[stem]; ok {
			p.add(queryTerm{term: term, weight: weight * translated, from: word, word: p.words})
		}
	})
}

// sampled reports whether definitions have a Chinese word only in examples of values.
func (p *parser) sampled(word string) bool {
	sampled := true
	pairs(word, func(_ int, pair string) {
		if term, ok := p.index.surfaces[pair]; ok && term != noTerm && !p.index.samples[term] {
			sampled = false
		}
	})
	return sampled
}

// addWide adds a Chinese word, or a part of one, if a definition has it.
func (p *parser) addWide(word string, t queryTerm) {
	term, ok := p.index.surfaces[word]
	if !ok || term == noTerm {
		return
	}
	t.term = term
	p.add(t)
	p.list[p.slots[term]-1].count++
}

// pairs yields the pairs of neighbouring characters of a text, with their numbers.
func pairs(text string, yield func(i int, pair string)) {
	previous, n := -1, 0
	for i, r := range text {
		if previous >= 0 {
			yield(n, text[previous:i+utf8.RuneLen(r)])
			n++
		}
		previous = i
	}
}

// translate yields the stems of the English words for a run of Chinese
// characters, each with its Chinese word.
func translate(run string, yield func(word, stem string)) {
	cuts(run, func(c cut) { meaning(c.word, c.length, yield) })
}

// known reports whether the dictionary has a Chinese word.
func known(word string) bool {
	_, ok := lexicon.English(word)
	return ok
}

// meaning yields the stems of the English words for a Chinese word; for a single
// character only the two most usual ones.
func meaning(word string, length int, yield func(word, stem string)) {
	if isStopWord(word) {
		return
	}
	stems, _ := lexicon.English(word)
	taken := 0
	for s := range strings.FieldsSeq(stems) {
		if taken++; length == 1 && taken > 2 {
			return
		}
		yield(word, s)
	}
}
