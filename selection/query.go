package selection

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/lexicon"
)

// Bounds of what is read of a question. A pasted log file asks nothing more
// after that.
const (
	maxQuery     = 16 << 10 // bytes of the question, and of all earlier messages together
	maxTerms     = 64       // different words that are searched for, the rarest
	maxSentences = 8
	maxHistory   = 12 // earlier messages of user and assistant
)

// How much words count that the question does not have itself.
const (
	// recent is the weight of the words of the last exchange; those of each one
	// before count decay times as much.
	recent, decay = 0.7, 0.7
	// sameMeaning and widerMeaning are those of words that mean nearly the same,
	// as WordNet has it.
	sameMeaning, widerMeaning = 0.2, 0.1
	// translated is the weight of English words for a Chinese one of the question,
	// by CC-CEDICT; glossed is that of an English one where it stands for a Chinese
	// one of a tool.
	translated, glossed = 1.0, 0.65
	// commonness is how much the most common words of English lose.
	commonness = 0.3
	// repeated is the exponent by which a word counts that is said several times,
	// as in "logs, show logs".
	repeated = 0.3
)

// Query is what a ranking may know of a question.
type Query struct {
	// Text is the question, in the user's words.
	Text string
	// History is the conversation before it, oldest first. Only what user and
	// assistant said is read, the newest messages first.
	History []chat.Message
}

// question is a query in the terms of an index.
type question struct {
	terms []queryTerm
	// sentences are the terms of each sentence, where there are several: each
	// may ask for a tool of its own.
	sentences [][]queryTerm
}

// queryTerm is a word to search for.
type queryTerm struct {
	term   int32
	count  float32 // how often the question has it
	weight float32
	// from is the word of the question that brought it in; empty when it stands
	// there itself.
	from string
	// past says that only the conversation before has it.
	past bool
}

// parser collects the terms of a text.
type parser struct {
	*Index
	*scratch
	list []queryTerm
	// asked says that some word was read that is more than politeness.
	asked bool
	// guesses counts the words that were taken for misspelt ones.
	guesses int
	past    bool // the conversation before is read
}

// parse turns a query into the terms to search for.
func (x *Index) parse(q Query, s *scratch) question {
	p := parser{Index: x, scratch: s, list: make([]queryTerm, 0, maxTerms)}
	defer p.take() // However parse returns, the slots are empty for the next question.
	text := withoutAddresses(head(q.Text, maxQuery))
	p.read(text, 1, true)
	if !p.asked {
		return question{} // "thanks" goes on with nothing, "yes, please" does
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

// take returns what was collected: the terms that say most. The slots are empty
// afterwards.
func (p *parser) take() []queryTerm {
	for _, q := range p.list {
		p.slots[q.term] = 0
	}
	list := p.list
	p.list = nil
	if len(list) > maxTerms {
		slices.SortStableFunc(list, func(a, b queryTerm) int {
			return cmp.Compare(b.weight*p.rarity[b.term], a.weight*p.rarity[a.term])
		})
		list = list[:maxTerms]
	}
	return list
}

// read adds the terms of a text. Counted says that repeating a word makes it
// count more.
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
			if term, ok := p.terms[stem]; ok {
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
// are not searched for. A word that no tool has is noTerm.
func (p *parser) lookup(word string, wide bool) (term int32, name string) {
	if term, ok := p.surfaces[word]; ok {
		if term == noTerm {
			return noTerm, ""
		}
		return term, p.names[term]
	}
	if wide || isStopWord(word) {
		return noTerm, ""
	}
	name = p.stem(word)
	if term, ok := p.terms[name]; ok {
		return term, name
	}
	return noTerm, name
}

// related adds words with the meaning of a word. It returns the weight of the
// word itself, and whether it is a word of English.
func (p *parser) related(word, stem string, weight float32) (own float32, familiar bool) {
	p.addGlossed(word, stem, weight)
	known, ok := lexicon.Lookup(stem)
	if !ok {
		return weight, false
	}
	add := func(stems string, weight float32) {
		for s := range strings.FieldsSeq(stems) {
			if term, ok := p.terms[s]; ok {
				p.add(term, weight, word)
			}
			p.addGlossed(word, s, weight)
		}
	}
	add(known.Same, weight*sameMeaning)
	add(known.Wider, weight*widerMeaning)
	return weight * (1 - commonness*known.Common), true
}

// addGlossed adds the Chinese words of tools that mean an English one.
func (p *parser) addGlossed(word, stem string, weight float32) {
	if term, ok := p.glossed[stem]; ok {
		p.add(term, weight*glossed, word)
	}
}

// translate yields the stems of the English words for a run of Chinese
// characters, with the word that they stand for. The run is cut into words twice,
// from the front and from the back, taking the longest each time: where both
// agree the cut is right, elsewhere both are tried.
func translate(run string, yield func(word, stem string)) {
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
		meaning(run[starts[i]:starts[i+n]], n, yield)
		i += n
	}
	for i := count; i > 0; {
		n := min(lexicon.MaxWord, i)
		for n > 1 && !known(run[starts[i-n]:starts[i]]) {
			n--
		}
		meaning(run[starts[i-n]:starts[i]], n, yield)
		i -= n
	}
}

// known reports whether the dictionary has a Chinese word.
func known(word string) bool {
	_, ok := lexicon.English(word)
	return ok
}

// meaning yields the English words for a Chinese one. Of a single character only
// the most usual ones are taken.
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

// head returns the first n bytes of a text, cut between characters.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

var (
	mailAddress = regexp.MustCompile(`[\w.+-]+@[\w.-]+`)
	webAddress  = regexp.MustCompile(`\w+://[\w./?&=%#~:+-]+`)
)

// withoutAddresses takes mail and web addresses out of a question: they are
// values, and the words in them are not what it is about. That there is a web
// address may be.
func withoutAddresses(query string) string {
	if strings.Contains(query, "@") {
		query = mailAddress.ReplaceAllString(query, " ")
	}
	if strings.Contains(query, "://") {
		query = webAddress.ReplaceAllString(query, " url ")
	}
	return query
}
