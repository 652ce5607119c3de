package rank

import (
	"cmp"
	"slices"

	"github.com/etui-run/etui/tool"
)

// Term is what one word of the question adds to a definition's score.
type Term struct {
	Word string `json:"word"`
	// From is the word of the question that brought it in as a translation or as a
	// word with the same meaning; empty when the question has it itself.
	From  string  `json:"from,omitempty"`
	Score float64 `json:"score"`
	// Fields says how much of Score comes from which field of the definition: name,
	// alias, description, translation, parameter, parameter_text, group, example,
	// body, "alias (enriched)", "example (enriched)". See [Index.Fields].
	Fields map[string]float64 `json:"fields,omitempty"`
	// Why says of "(usage)" which questions voted: how many by the user and by others, and
	// how many of them were searched for or corrected.
	Why string `json:"why,omitempty"`

	meant bool // Chinese words of the definition mean it, as in Index.glossed
}

// The terms of an explanation that are not words: what similar questions of the
// past add, and what a definition gains from others of its group, as the answer to a
// sentence of the question and by likeness.
const (
	usageTerm   = "(usage)"
	contextTerm = "(context)"
)

// Words returns the words that a definition has of the question, the strongest
// first, and what they add to its score together.
func (r *Ranking) Words(position int) (terms []Term, sum float32) {
	x := r.index
	for _, q := range r.terms {
		if score := x.impact(q.term, position, r.examples) * q.weight; score > 0 {
			terms = append(terms, Term{Word: x.names[q.term], From: q.from, Score: Round(score), meant: x.meant(q.term)})
			sum += score
		}
	}
	sortTerms(terms)
	return terms, sum
}

// Explain divides a definition's score into its terms, the strongest first, and
// what the vectors added. The term "(usage)" is what votes added; "(context)", the
// last one, is what no word adds alone.
func (r *Ranking) Explain(position int) (terms []Term, meaning float64) {
	terms, explained := r.Words(position)
	rest := r.Scores[position] - explained
	for _, v := range r.votes {
		if v.Position == position {
			added := v.Share * r.voteScale
			terms = append(terms, Term{Word: usageTerm, Score: Round(added), Why: v.why()})
			rest -= added
		}
	}
	if r.meanings != nil {
		meaning = Round(r.meanings[position])
		rest -= r.meanings[position]
	}
	sortTerms(terms)
	if Round(rest) > 0 {
		terms = append(terms, Term{Word: contextTerm, Score: Round(rest)})
	}
	return terms, meaning
}

func sortTerms(terms []Term) {
	slices.SortStableFunc(terms, func(a, b Term) int { return cmp.Compare(b.Score, a.Score) })
}

// Fields divides the scores of a definition's terms, as [Ranking.Explain] returned them,
// among its fields. The index keeps only their sums, so the definition is read again.
func (x *Index) Fields(d *tool.Definition, terms []Term) {
	v := newVocabulary()
	doc := v.read(textsOf(d, x.enriched[d.Name]))
	norms := x.norms(x.lengths(doc))
	for i := range terms {
		t := &terms[i]
		kind := v.terms
		if t.meant {
			kind = v.glossed
		}
		number, ok := kind[t.Word]
		if !ok {
			continue
		}
		count := x.counts(doc, slices.Index(doc.terms, number))
		all := frequency(&count, &norms, x.weight)
		t.Fields = map[string]float64{}
		for f, n := range count {
			if n > 0 {
				var only [fields]uint8
				only[f] = n
				t.Fields[fieldNames[f]] = Round(float32(t.Score * frequency(&only, &norms, x.weight) / all))
			}
		}
	}
}

// Round keeps two decimals of a score, enough for a person.
func Round(score float32) float64 { return float64(int(score*100+0.5)) / 100 }
