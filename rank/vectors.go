package rank

import "cmp"

// VectorWeights say how much the meaning of a question and a definition counts
// beside their words. Meanings are compared by the cosine of their vectors.
type VectorWeights struct {
	// Weight is what a cosine of 1 adds to a score, as a share of the best score by
	// words, or of what one rare word counts where that is more; 0 means 0.5.
	Weight float64
	// Threshold is the cosine from which on a definition is a candidate without
	// matching words; 0 means 0.4. Which cosine is high depends on the model.
	Threshold float64
}

// Vectors are the meanings of the definitions of an index. They are immutable.
type Vectors struct {
	byPosition        [][]float32
	weight, threshold float32
}

// NewVectors takes vectors by position, which must have length one and must not
// change any more. A definition without one is ranked by its words.
func NewVectors(byPosition [][]float32, w VectorWeights) *Vectors {
	return &Vectors{byPosition, float32(cmp.Or(w.Weight, 0.5)), float32(cmp.Or(w.Threshold, 0.4))}
}

// addMeanings adds to the scores of admitted definitions what their vectors say.
func (r *Ranking) addMeanings(q *Query) {
	if len(q.Vector) == 0 || q.Vectors == nil || q.Vectors.byPosition == nil {
		return
	}
	if len(r.votes) == 0 {
		r.byWords = highest(r.Scores, q.Admitted)
	}
	least, scale := max(floor*r.byWords, r.Least()), q.Vectors.weight*r.scale()
	r.meanings = make([]float32, len(q.Vectors.byPosition))
	for i, v := range q.Vectors.byPosition {
		if len(v) != len(q.Vector) || q.Admitted != nil && !q.Admitted[i] {
			continue
		}
		cosine := product(v, q.Vector)
		if cosine <= 0 || r.Scores[i] < least && cosine < q.Vectors.threshold {
			continue
		}
		r.meanings[i] = cosine * scale
		r.Scores[i] += r.meanings[i]
	}
}

// product uses four sums because a processor can work on them at the same time.
func product(a, b []float32) float32 {
	var w, x, y, z float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		w += a[i] * b[i]
		x += a[i+1] * b[i+1]
		y += a[i+2] * b[i+2]
		z += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		w += a[i] * b[i]
	}
	return w + x + y + z
}
