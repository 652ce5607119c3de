package rank

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/etui-run/etui/internal/panics"
)

// Ranking is how well each definition fits one question.
type Ranking struct {
	// Scores are by position: higher fits better, and 0 means that nothing
	// matches. Scores of different questions cannot be compared.
	Scores []float32
	// Failed is set when ranking panicked, which is a mistake in this package or in what
	// the query holds. All scores are then 0; later questions are ranked as usual.
	Failed error

	// Request is what was taken as the request of a question that came with material or context, and the
	// Chinese of one in pinyin; empty when the question itself was.
	Request string
	// Language is that of a question which the words of the definitions do not cover, such as
	// "Spanish": no word of it is searched for. It is empty for all others.
	Language string

	index    *Index
	terms    []queryTerm
	examples float32 // the share of the words of examples, as in question
	votes    []Vote
	// voteScale turns the votes' shares into what they added to the scores.
	voteScale float32
	meanings  []float32 // by position: what the vectors added; may be nil
	least     float32   // the score below which a definition never fits
	byWords   float32   // the best score without votes and meanings; 0 when nothing was added
}

// Rank scores every definition.
func (x *Index) Rank(q Query) (r Ranking) {
	defer func() {
		if p := recover(); p != nil {
			r = Ranking{Scores: make([]float32, x.size), index: x,
				Failed: fmt.Errorf("ranking panicked: %w", &panics.Error{Value: p, Stack: debug.Stack()})}
		}
	}()
	r = Ranking{Scores: make([]float32, x.size), index: x}
	if x.size == 0 {
		return r
	}
	s := x.scratch.Get().(*scratch)
	asked := x.parse(&q, s)
	r.terms, r.examples, r.Request, r.Language = asked.terms, asked.examples, asked.request, asked.language
	r.least = least * x.unknown()
	if asked.lean < 1 {
		r.least = max(r.least, leastOne*float32(inverseFrequency(1, x.size)))
	}
	x.score(asked, q.Admitted, r.Scores, s)
	s.emptyGrams()
	r.addVotes(&q)
	if !asked.idle {
		r.addMeanings(&q, asked.lean)
	}
	x.scratch.Put(s) // not after a panic, which may leave it dirty
	return r
}

// Hit is a definition that fits a question.
type Hit struct {
	Position int
	Score    float32
}

// Hits returns the definitions that fit best, best first, at most limit of them.
// Of equal ones the earlier comes first. It returns none when even the best fits
// too little.
func (r *Ranking) Hits(limit int) []Hit {
	best := r.Matches(limit)
	if len(best) == 0 || best[0].Score < r.Least() {
		return nil
	}
	return best
}

// Matches returns the definitions that match at all, however little, in the order of
// [Ranking.Hits] and as many: for whoever searches texts for words.
func (r *Ranking) Matches(limit int) []Hit {
	best := NewTop(limit, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.Position-b.Position) })
	for i, score := range r.Scores {
		if score > 0 {
			best.Add(Hit{i, score})
		}
	}
	return best.List
}

// Noise returns the score below which a definition is noise when the best one
// has the given score. Votes and meanings do not raise it: they must not push out
// definitions that they say nothing about.
func (r *Ranking) Noise(best float32) float32 {
	if len(r.votes) > 0 || r.meanings != nil {
		best = r.byWords
	}
	return max(floor*best, r.Least())
}

// Least returns the score below which a definition never fits.
func (r *Ranking) Least() float32 { return r.least }

// Own returns a definition's score without what the conversation before added.
func (r *Ranking) Own(position int) float32 {
	score := r.Scores[position]
	r.each(position, func(t queryTerm, added float32) {
		if t.part != own {
			score -= added
		}
	})
	return score
}

// scale is the measure of what votes and meanings add: the best score by words, or
// what one rare word counts where that is more. Where hardly a word matches, they
// are all there is.
func (r *Ranking) scale() float32 { return max(r.byWords, r.index.unknown()) }
