package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank/internal/divide"
	"github.com/etui-run/etui/rank/internal/language"
	"github.com/etui-run/etui/rank/internal/lexicon"
)

// How much a word counts that the question does not have itself.
const (
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
	// apart is the weight of a word whose parts the question writes as two words, and
	// shortestJoined is how many bytes it has at least.
	apart, shortestJoined = 0.3, 5
	// exampleWords is how many words a question has for which the examples in [tool.Texts]
	// count fully. In longer ones, which often ask for several tools, they count less:
	// they hold many words that say little about what the tool does.
	exampleWords = 6
	// contextShare is the weight of sentences that ask for nothing, around those that ask.
	contextShare = 0.7
	// timeShare is the weight of words of time.
	timeShare = 0.4
	// acrossWords scales a pair of Chinese characters that lies in no word of the question, and
	// wideWord one that is a word.
	acrossWords, wideWord = 0.4, 1.6
	// character is the weight of a character of a longer Chinese word. It is no match: it only
	// orders what words find, so that 车票 is nearer to 机票 than 酒店 is.
	character = 0.7
	// particle is a word that says nothing alone, and sets "run out" apart from "run".
	particle = "out"
	// otherForms is the share that the other forms of a Chinese word add to the strongest one.
	otherForms = 0.7
)

// question is a query in the terms of an index.
type question struct {
	request string // of one that came with material
	// language is that of a question which the words do not cover; empty otherwise.
	language string
	terms    []queryTerm
	// sentences are the terms of each sentence when there are several: each may ask
	// for a tool of its own.
	sentences [][]queryTerm
	// inquiry are the terms of the question of the assistant that this one answers.
	inquiry []queryTerm
	// lean is how much the question leans on the conversation before it, from 0 to 1.
	lean float32
	// examples is the share that the words of examples in [tool.Texts] have.
	examples float32
	// narrow is the share of the question that is written with spaces between words.
	narrow float32
	// idle says that it is small talk or courtesy, which is near to some definition by meaning, too.
	idle bool
}

// queryTerm is a word to search for.
type queryTerm struct {
	term   int32
	count  float32 // how often the question has it
	weight float32
	// from is the word of the question that brought it in; empty when the question
	// has it itself.
	from string
	// word numbers the Chinese word that it is a form of, from 1. It is 0 for a term that counts
	// by itself.
	word int32
	// loose says that it counts only for definitions that another term finds.
	loose bool
	// part is where it was read first.
	part part
}

// part is a part of what a question is read from. The first one counts.
type part uint8

const (
	own      part = iota // the request itself
	material             // what came with it
	earlier              // the conversation before
)

// parser collects the terms of a text in the scratch's list.
type parser struct {
	index *Index
	*scratch
	// asked is set once a word is read that is more than politeness.
	asked bool
	// guesses counts the words that were taken for misspelt ones.
	guesses int
	words   int32 // counts the Chinese words that were read
	part    part  // is being read
	named   names
	loose   bool // the word that is being read is only a name, see names
	// narrow and wide count the words of the question that are searched for.
	narrow, wide int
	// content counts the words of the question that are more than polite. A wide
	// character is half a word.
	content float32
}

// parse turns a query into the terms to search for.
func (x *Index) parse(q *Query, s *scratch) question {
	p := parser{index: x, scratch: s}
	defer p.empty() // However parse returns, the scratch is clean for the next question.
	parts := Divide(q.Text)
	said := head(parts.Request, maxQuery)
	reading := x.fromPinyin(said)
	text, time := withoutValues(cmp.Or(reading, said))
	foreign := ""
	if l := language.Of(text); l != nil && !x.covers(text) {
		if isSmallTalk(fold(text), q.History) {
			return question{idle: true}
		}
		foreign, text = l.Name, x.named(text, l)
		if !saysSomething(text) {
			return question{language: foreign} // what matches would match by accident
		}
	}
	folded := fold(text)
	if isSmallTalk(folded, q.History) {
		return question{idle: true}
	}
	p.named = x.namesIn(text)
	text, context := divide.Requests(text)
	if context != "" {
		folded = fold(text)
	}
	p.read(folded, 1, true)
	if context != "" {
		p.read(fold(context), contextShare, false)
	}
	if time != "" {
		p.read(fold(time), timeShare, false)
	}
	if !p.asked {
		return question{idle: true} // "thanks" does not continue the conversation, "yes, please" does
	}
	past, lean := dialogue(q.History, p.content)
	request := reading
	if context != "" && reading == "" {
		request, _ = divide.Requests(said)
	}
	if parts.Material != "" {
		request, p.part = strings.TrimSpace(cmp.Or(reading, said)), material
		p.read(fold(withoutAddresses(head(parts.Material, maxMaterial))), 1, false)
	}
	p.readPast(q, past, lean)
	result := question{request: request, language: foreign, terms: p.take(), lean: lean,
		examples: min(1, exampleWords/max(p.content, 1)), narrow: p.narrowShare()}
	if lean > openFrom {
		before, _ := withoutValues(head(wording(open(past)), maxQuery))
		text = before + "\n" + text
	}
	answers := lean == 1
	if first, rest := sentence(text); rest != "" || answers {
		for ; first != "" && len(result.sentences) < maxSentences; first, rest = sentence(rest) {
			p.read(fold(first), 1, false)
			result.sentences = append(result.sentences, p.take())
		}
	}
	if answers {
		p.read(fold(withoutAddresses(ending(past[0]))), 1, false)
		result.inquiry = p.take()
	}
	return result
}

// readPast adds the terms of the conversation before, newest message first.
func (p *parser) readPast(q *Query, past []chat.Message, lean float32) {
	p.part = earlier
	defer func() { p.part = own }()
	left := maxQuery
	weight, opening := float32(recent), -1
	if lean == 1 {
		weight, opening = answered, len(open(past))-1
	}
	for i, m := range past {
		if left == 0 {
			return
		}
		said := head(requestOf(m), left)
		left -= len(said)
		share := weight
		if m.Role == chat.Assistant && (i > 0 || lean < 1) && !asks(m) {
			share *= stated
		}
		if i == opening {
			share = max(share, recent)
		}
		said, _ = withoutValues(cmp.Or(p.index.fromPinyin(said), said))
		p.read(fold(said), share, false)
		if len(m.Calls) > 0 {
			p.read(fold(head(q.called(m), maxCalled)), weight, false)
		}
		if m.Role == chat.User {
			weight *= decay
		}
	}
}

// narrowShare returns the share of the question that is written with spaces between
// words.
func (p *parser) narrowShare() float32 {
	if p.narrow == 0 {
		return 0
	}
	return float32(p.narrow) / (float32(p.narrow) + widePart*float32(p.wide))
}

// take returns the collected terms that say most, and empties the list. The conversation
// before, which is read last, takes no room from the question.
func (p *parser) take() []queryTerm {
	defer p.empty()
	var parts [earlier + 1][]queryTerm
	for rest := p.list; len(rest) > 0; {
		which := rest[0].part
		n := slices.IndexFunc(rest, func(q queryTerm) bool { return q.part != which })
		if n < 0 {
			n = len(rest)
		}
		parts[which], rest = p.most(rest[:n]), rest[n:]
	}
	all := slices.Concat(parts[:]...)
	slices.SortStableFunc(all, func(a, b queryTerm) int { return cmp.Compare(a.word, b.word) })
	return all
}

// most returns the terms of a list that say most.
func (p *parser) most(list []queryTerm) []queryTerm {
	if len(list) <= maxTerms {
		return list
	}
	rarity := p.index.rarity
	slices.SortStableFunc(list, func(a, b queryTerm) int {
		return cmp.Compare(b.weight*rarity[b.term], a.weight*rarity[a.term])
	})
	return list[:maxTerms]
}

// empty clears the list and its slots.
func (p *parser) empty() {
	for _, q := range p.list {
		p.slots[q.term] = 0
	}
	clear(p.list) // releases the question
	p.list = p.list[:0]
}

// read adds the terms of a folded text. Asked says that it is the question itself, whose
// words count more when they are repeated.
func (p *parser) read(folded string, weight float32, asked bool) {
	folded = lexicon.WithoutGreetings(folded)
	before := ""
	p.heard = p.heard[:0]
	words(folded, func(word string, wide bool) {
		p.asked = p.asked || !isPolite(word)
		if asked && !isStopWord(word) && !p.named.isPart(word) {
			p.compare(word, wide)
		}
		if wide {
			return
		}
		if asked {
			p.together(before, word, weight)
			before = word
		}
		p.readNarrow(word, weight)
	})
	wideRuns(folded, func(run string) { p.readWide(run, weight, asked) })
	p.readSayings(folded, weight)
	if asked {
		for i, q := range p.list {
			if q.count > 1 {
				p.list[i].weight *= float32(math.Pow(float64(q.count), repeated))
			}
		}
	}
}

// readNarrow adds a word of a script with spaces.
func (p *parser) readNarrow(word string, weight float32) {
	term, name := p.lookup(word, false)
	p.heard = append(p.heard, cmp.Or(name, word))
	if name == "" {
		return
	}
	p.loose = word == particle || p.named.isPart(word) || (term == noTerm || p.index.samples[term]) && p.named.has(word)
	defer func() { p.loose = false }()
	weight, familiar := p.related(word, name, weight)
	switch {
	case term != noTerm:
		p.add(queryTerm{term: term, weight: weight})
		p.list[p.slots[term]-1].count++
	case !familiar:
		p.guess(word, weight)
	}
}

// isPair reports whether a wide word is a pair of characters.
func (p *parser) isPair(word string) bool {
	_, size := utf8.DecodeRuneInString(word)
	return size < len(word)
}

// together adds the word that two neighbours of the question make: "log in" is login.
func (p *parser) together(before, word string, weight float32) {
	if before == "" || len(before)+len(word) < shortestJoined {
		return
	}
	p.joined = append(append(p.joined[:0], before...), word...)
	if term, ok := p.index.surfaces[string(p.joined)]; ok && term != noTerm {
		p.add(queryTerm{term: term, weight: weight * apart, from: p.index.names[term]})
	}
}

// compare prepares the comparison of a word of the question by its letters.
func (p *parser) compare(word string, wide bool) {
	if !wide {
		p.narrow++
		p.readGrams(word)
	} else {
		p.wide++
	}
	switch {
	case isPolite(word):
	case !wide:
		p.content++
	case !p.isPair(word):
		p.content += 0.5
	}
}

// add adds a term, or raises its weight.
func (p *parser) add(t queryTerm) {
	t.part = p.part
	if p.loose {
		t.loose, t.word = true, 0 // the forms of a word are no alternatives then
	}
	if at := p.slots[t.term]; at > 0 {
		if q := &p.list[at-1]; q.weight < t.weight && q.part == p.part {
			q.weight, q.from = t.weight, t.from
		}
		if q := &p.list[at-1]; q.loose && !t.loose {
			q.loose, q.word, q.weight = false, t.word, t.weight
		}
		return
	}
	p.list = append(p.list, t)
	p.slots[t.term] = int32(len(p.list))
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
				p.add(queryTerm{term: term, weight: weight, from: word})
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
		p.add(queryTerm{term: term, weight: weight * glossed, from: word})
	}
}
