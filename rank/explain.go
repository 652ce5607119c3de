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
	r.each(position, func(q queryTerm, score float32) {
		sum += score
		if !q.loose && score > 0 {
			terms = append(terms, Term{Word: r.index.names[q.term], From: q.from, Score: Round(score),
				meant: r.index.meant(q.term)})
		}
	})
	sortTerms(terms)
	return terms, sum
}

// each yields what each term adds to a definition's score by words, before all else is added.
func (r *Ranking) each(position int, yield func(q queryTerm, score float32)) {
	x, found := r.index, [earlier + 1]bool{}
	for i, n := 0, 0; i < len(r.terms); i += n {
		n = forms(r.terms[i:])
		best := i // of the forms of a word
		for k := i; k < i+n; k++ {
			if q, b := r.terms[k], r.terms[best]; x.impact(q.term, position, r.examples)*q.weight > x.impact(b.term,
				position, r.examples)*b.weight {
				best = k
			}
		}
		for k, q := range r.terms[i : i+n] {
			score := x.impact(q.term, position, r.examples) * q.weight
			if i+k != best {
				score *= otherForms
			}
			if score > 0 && !q.loose {
				found[q.part] = true
				yield(q, score)
			}
		}
	}
	for _, q := range r.terms {
		if q.loose && found[q.part] {
			yield(q, x.words.impact(q.term, position)*q.weight)
		}
	}
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
