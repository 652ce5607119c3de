package selection

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// floor is the share of the best score below which a tool is noise, and least
	// the share of what a word counts that no tool has: a question for which no tool
	// reaches it gets nothing. Of the questions of the public sets up to 1 % stay
	// below, of greetings and small talk about half.
	floor = 0.15
	least = 0.1
	// groupShare is the share of the best score in its group that a tool gains:
	// who asks for one tool of a server often needs another one.
	groupShare = 0.3
	// pastShare is the share of the question's best score by its own words that
	// the conversation before may add, where those words are clear.
	pastShare = 0.4
	// sentenceShare is the share of the question's best score that the best tool
	// for one of its sentences gains, and others in proportion.
	sentenceShare = 0.5
	// leastSentence is the share of the question below which a sentence asks for
	// nothing.
	leastSentence = 0.03
)

// Hit is a tool of an [Index] that fits a question.
type Hit struct {
	// Position is that of the tool in the list that was indexed.
	Position int
	// Score is higher for tools that fit better. Scores of different questions
	// cannot be compared.
	Score float32
}

// Rank returns the tools that fit a question, best first, at most limit of
// them. Of equal ones the earlier comes first. A question that no tool fits gets
// none.
func (x *Index) Rank(q Query, limit int) []Hit {
	s := x.begin()
	defer x.scratch.Put(s)
	scores := make([]float32, x.size)
	x.score(x.parse(q, s), nil, scores, s)
	best := newTop[Hit](limit, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.Position-b.Position) })
	for i, score := range scores {
		if score > 0 {
			best.add(Hit{i, score})
		}
	}
	if len(best.list) == 0 || best.list[0].Score < x.least() {
		return nil
	}
	return best.list
}

// rank scores every tool, and orders those that may be used.
func (sel *Selection) rank() {
	x := sel.selector.index
	s := x.begin()
	defer x.scratch.Put(s)
	q := x.parse(Query{sel.Request.Query, sel.Request.History}, s)
	sel.query = q.terms
	x.score(q, sel.stages, sel.scores, s)
	sel.vote()
	sel.compareMeanings()
	best := newTop[Match](max(2*sel.limit, 16), compareMatches)
	for i, score := range sel.scores {
		if score > 0 && sel.stages[i] == Sent {
			best.add(Match{sel.selector.catalog.At(i), score})
		}
	}
	sel.Ranked = best.list
	for i, m := range sel.Ranked {
		if m.Score < sel.noise(sel.Ranked[0].Score) {
			sel.Ranked = sel.Ranked[:i]
			break
		}
	}
}

// noise is the score below which a tool is noise. Votes and meanings do not raise
// it: they must not push out what they do not speak of.
func (sel *Selection) noise(best float32) float32 {
	if len(sel.votes) > 0 || sel.meanings != nil {
		best = sel.byWords
	}
	return sel.selector.index.noise(best)
}

// noise is the score below which nothing is worth telling where the best is this
// one.
func (x *Index) noise(best float32) float32 { return max(floor*best, x.least()) }

// least is the score below which nothing fits, whatever else there is.
func (x *Index) least() float32 { return least * x.unknown() }

// unknown is what a word counts that no tool has: the measure of a score that
// stands for itself.
func (x *Index) unknown() float32 { return float32(inverseFrequency(0, x.size)) }

// scratch is what scoring works with; it is used again.
type scratch struct {
	slots        []int32 // by term: its place in the parser's list, from 1; 0 between uses
	stems        map[string]string
	total, share []float32 // by document
	groups       []float32 // by group
}

func (x *Index) newScratch() *scratch {
	return &scratch{make([]int32, len(x.names)), map[string]string{}, make([]float32, x.size), make([]float32, x.size), make([]float32, x.groupCount)}
}

// maxStems is how many stems of words that no tool has are remembered.
const maxStems = 4096

// stem returns the stem of a word, which takes longer than to look it up.
func (s *scratch) stem(word string) string {
	known, ok := s.stems[word]
	if !ok {
		if len(s.stems) == maxStems {
			clear(s.stems)
		}
		known = stem(word)
		s.stems[strings.Clone(word)] = known
	}
	return known
}

func (x *Index) begin() *scratch { return x.scratch.Get().(*scratch) }

// score gives each document its score. What is not admitted - nil admits all -
// is scored too, for explanations, but has no influence on the others.
func (x *Index) score(q question, admitted []Stage, scores []float32, s *scratch) {
	x.add(q.terms, false, scores)
	x.scorePast(q.terms, admitted, scores, s.total)
	best := highest(scores, admitted)
	if best == 0 {
		return
	}
	x.scoreGroups(scores, admitted, floor*best, s.groups)
	if len(q.sentences) > 1 {
		x.scoreSentences(q.sentences, admitted, scores, s)
	}
}

// scorePast adds what the conversation before says. The less the question's own
// words say, the more it counts: "and in Rome?" goes on with what was asked
// before, "book a flight to Rome" does not.
func (x *Index) scorePast(terms []queryTerm, admitted []Stage, scores, past []float32) {
	if !slices.ContainsFunc(terms, func(q queryTerm) bool { return q.past }) {
		return
	}
	clear(past)
	x.add(terms, true, past)
	own, most := highest(scores, admitted), highest(past, admitted)
	if most == 0 {
		return
	}
	clarity := min(1, own/x.unknown())
	scale := 1 - clarity + clarity*min(1, pastShare*own/most)
	for i, score := range past {
		scores[i] += scale * score
	}
	for i := range terms {
		if terms[i].past {
			terms[i].weight *= scale
		}
	}
}

// add adds what the terms of the question say to the scores, or those of the
// conversation before.
func (x *Index) add(terms []queryTerm, past bool, scores []float32) {
	for _, q := range terms {
		if q.past != past {
			continue
		}
		for _, p := range x.list(q.term) {
			scores[p.doc] += p.impact * q.weight
		}
	}
}

// highest returns the best score of what is admitted.
func highest(scores []float32, admitted []Stage) float32 {
	var best float32
	for i, score := range scores {
		if score > best && (admitted == nil || admitted[i] == Sent) {
			best = score
		}
	}
	return best
}

// scoreGroups lets the best tool of each group speak for the others that are no
// noise.
func (x *Index) scoreGroups(scores []float32, admitted []Stage, least float32, best []float32) {
	if x.groups == nil {
		return
	}
	clear(best)
	for i, score := range scores {
		if score > best[x.groups[i]] && (admitted == nil || admitted[i] == Sent) {
			best[x.groups[i]] = score
		}
	}
	for i, score := range scores {
		if score >= least {
			scores[i] += groupShare * best[x.groups[i]]
		}
	}
}

// scoreSentences lets each sentence speak for the tools that fit it best, so
// that a request that needs several tools gets them all.
func (x *Index) scoreSentences(sentences [][]queryTerm, admitted []Stage, scores []float32, s *scratch) {
	best := highest(scores, admitted)
	var all float32
	for _, terms := range sentences {
		all += x.mass(terms)
	}
	clear(s.share)
	for _, terms := range sentences {
		if x.mass(terms) < leastSentence*all {
			continue
		}
		clear(s.total)
		x.add(terms, false, s.total)
		most := highest(s.total, admitted)
		if most == 0 {
			continue
		}
		for i, score := range s.total {
			if score > 0 {
				s.share[i] = max(s.share[i], min(score/most, 1))
			}
		}
	}
	for i, share := range s.share {
		scores[i] += sentenceShare * best * share
	}
}

// mass is how much some terms could say.
func (x *Index) mass(terms []queryTerm) float32 {
	var sum float32
	for _, q := range terms {
		sum += q.weight * x.rarity[q.term]
	}
	return sum
}

// top keeps the best of what is added, best first.
type top[T any] struct {
	list    []T
	limit   int
	compare func(a, b T) int
}

func newTop[T any](limit int, compare func(a, b T) int) *top[T] {
	return &top[T]{make([]T, 0, min(limit, 1024)+1), limit, compare}
}

func (t *top[T]) add(v T) {
	if len(t.list) == t.limit && t.compare(v, t.list[t.limit-1]) > 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.list, v, t.compare)
	t.list = slices.Insert(t.list, i, v)
	t.list = t.list[:min(len(t.list), t.limit)]
}

func compareMatches(a, b Match) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), a.Position()-b.Position())
}
