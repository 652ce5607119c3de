package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/lexicon"
)

// How much a word counts that the question does not have itself.
const (
	// recent is the weight of the words of the last exchange. The words of each
	// exchange before count decay times as much.
	recent, decay = 0.7, 0.7
	// sameMeaning and widerMeaning are the weights of words that mean nearly the
	// same according to WordNet.
	sameMeaning, widerMeaning = 0.2, 0.1
	// translated is the weight of English words for a Chinese word of the question,
	// by CC-CEDICT; glossed is the weight of an English word that a definition says
	// in Chinese.
	translated, glossed = 1.0, 0.65
	// commonness is how much the most common words of English lose.
	commonness = 0.3
	// repeated is the exponent by which a word counts that is said several times,
	// as in "logs, show logs".
	repeated = 0.3
)

// question is a query in the terms of an index.
type question struct {
	terms []queryTerm
	// sentences are the terms of each sentence when there are several: each may ask
	// for a tool of its own.
	sentences [][]queryTerm
}

// queryTerm is a word to search for.
type queryTerm struct {
	term   int32
	count  float32 // how often the question has it
	weight float32
	// from is the word of the question that brought it in; empty when the question
	// has it itself.
	from string
	// past is set when only the conversation before has it.
	past bool
}

// parser collects the terms of a text in the scratch's list.
type parser struct {
	index *Index
	*scratch
	// asked is set once a word is read that is more than politeness.
	asked bool
	// guesses counts the words that were taken for misspelt ones.
	guesses int
	past    bool // the conversation before is being read
}

// parse turns a query into the terms to search for.
func (x *Index) parse(q *Query, s *scratch) question {
	p := parser{index: x, scratch: s}
	defer p.empty() // However parse returns, the scratch is clean for the next question.
	text := withoutAddresses(head(q.Text, maxQuery))
	p.read(text, 1, true)
	if !p.asked {
		return question{} // "thanks" does not continue the conversation, "yes, please" does
	}
	p.past = true
	left := maxQuery
	weight := float32(recent)
	read := 0
	for _, m := range slices.Backward(q.History) {
		if read == maxHistory || left == 0 {
			break
		}
		if m.Role == chat.Tool || m.Text == "" {
			continue
		}
		read++
		said := head(m.Text, left)
		left -= len(said)
		p.read(withoutAddresses(said), weight, false)
		if m.Role == chat.User {
			weight *= decay
		}
	}
	result := question{terms: p.take()}
	p.past = false
	if first, rest := sentence(text); rest != "" {
		for ; first != "" && len(result.sentences) < maxSentences; first, rest = sentence(rest) {
			p.read(first, 1, false)
			result.sentences = append(result.sentences, p.take())
		}
	}
	return result
}

// take returns the collected terms that say most, and empties the list.
func (p *parser) take() []queryTerm {
	defer p.empty()
	if len(p.list) <= maxTerms {
		return slices.Clone(p.list)
	}
	rarity := p.index.rarity
	slices.SortStableFunc(p.list, func(a, b queryTerm) int {
		return cmp.Compare(b.weight*rarity[b.term], a.weight*rarity[a.term])
	})
	return slices.Clone(p.list[:maxTerms])
}

// empty clears the list and its slots.
func (p *parser) empty() {
	for _, q := range p.list {
		p.slots[q.term] = 0
	}
	clear(p.list) // releases the question
	p.list = p.list[:0]
}

// read adds the terms of a text. If counted is set, a repeated word counts more.
func (p *parser) read(text string, weight float32, counted bool) {
	folded := withoutGreetings(fold(text))
	words(folded, func(word string, wide bool) {
		term, name := p.lookup(word, wide)
		p.asked = p.asked || !isPolite(word)
		if name == "" {
			return
		}
		w, familiar := weight, true
		if !wide {
			w, familiar = p.related(word, name, weight)
		}
		switch {
		case term != noTerm:
			p.add(term, w, "")
			p.list[p.slots[term]-1].count++
		case !familiar:
			p.guess(word, weight)
		}
	})
	if counted {
		for i, q := range p.list {
			if q.count > 1 {
				p.list[i].weight *= float32(math.Pow(float64(q.count), repeated))
			}
		}
	}
	wideRuns(folded, func(run string) {
		translate(run, func(word, stem string) {
			if term, ok := p.index.terms[stem]; ok {
				p.add(term, weight*translated, word)
			}
		})
	})
}

// add adds a term, or raises its weight.
func (p *parser) add(term int32, weight float32, from string) {
	if at := p.slots[term]; at > 0 {
		if q := &p.list[at-1]; q.weight < weight && q.past == p.past {
			q.weight, q.from = weight, from
		}
		return
	}
	p.list = append(p.list, queryTerm{term: term, weight: weight, from: from, past: p.past})
	p.slots[term] = int32(len(p.list))
}

// lookup finds the term of a word and its name, which is empty for words that
// are not searched for. A word that no definition has is noTerm.
func (p *parser) lookup(word string, wide bool) (term int32, name string) {
	if term, ok := p.index.surfaces[word]; ok {
		if term == noTerm {
			return noTerm, ""
		}
		return term, p.index.names[term]
	}
	if wide || isStopWord(word) {
		return noTerm, ""
	}
	name = p.stem(word)
	if term, ok := p.index.terms[name]; ok {
		return term, name
	}
	return noTerm, name
}

// related adds words with the same meaning as a word. It returns the weight of
// the word itself and reports whether it is an English word.
func (p *parser) related(word, stem string, weight float32) (own float32, familiar bool) {
	p.addGlossed(word, stem, weight)
	known, ok := lexicon.Lookup(stem)
	if !ok {
		return weight, false
	}
	add := func(stems string, weight float32) {
		for s := range strings.FieldsSeq(stems) {
			if term, ok := p.index.terms[s]; ok {
				p.add(term, weight, word)
			}
			p.addGlossed(word, s, weight)
		}
	}
	add(known.Same, weight*sameMeaning)
	add(known.Wider, weight*widerMeaning)
	return weight * (1 - commonness*known.Common), true
}

// addGlossed adds the Chinese words of definitions that mean an English word.
func (p *parser) addGlossed(word, stem string, weight float32) {
	if term, ok := p.index.glossed[stem]; ok {
		p.add(term, weight*glossed, word)
	}
}
