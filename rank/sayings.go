package rank

import (
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// sayingShare is the weight of a word that a saying stands for, as a share of one of the question. With
// more of it, general words such as "status" bury the words of the question.
const sayingShare = 0.3

// readSayings adds the words of software for what people say in everyday speech: "ran out of" asks for
// the stock, 放哪了 for a search. The narrow words of the text are read.
func (p *parser) readSayings(folded string, weight float32) {
	if p.part == material {
		return
	}
	weight *= sayingShare
	add := func(s *lexicon.Saying) { p.readSaying(s, weight) }
	for i := range p.heard {
		lexicon.Sayings(p.heard[i:], add)
	}
	wideRuns(folded, func(run string) {
		for i := range run {
			lexicon.WideSayings(run[i:], add)
		}
	})
}

// readSaying adds the words of a saying.
func (p *parser) readSaying(s *lexicon.Saying, weight float32) {
	p.words++
	for _, word := range s.Words {
		if word[0] < utf8.RuneSelf {
			if term, ok := p.index.terms[word]; ok {
				p.add(queryTerm{term: term, weight: weight, from: s.Text, word: p.words})
			}
			if term, ok := p.index.glossed[word]; ok {
				p.add(queryTerm{term: term, weight: weight * glossed, from: s.Text, word: p.words})
			}
			continue
		}
		length := utf8.RuneCountInString(word)
		form := queryTerm{weight: weight * wideWord / float32(length-1), from: s.Text, word: p.words}
		pairs(word, func(_ int, pair string) {
			if term, ok := p.index.surfaces[pair]; ok && term != noTerm {
				form.term = term
				p.add(form)
			}
		})
		meaning(word, length, func(_, stem string) {
			if term, ok := p.index.terms[stem]; ok {
				p.add(queryTerm{term: term, weight: weight * translated, from: s.Text, word: p.words})
			}
		})
	}
}
