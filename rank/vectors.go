package rank

import "math"

// Vectors are the meanings of the definitions of an index. They are immutable.
type Vectors struct {
	byPosition [][]float32
	central    []float32 // by position: the cosine with the mean of all
}

// How much the meaning of a question and a definition counts beside their words. Which cosine is
// high differs from encoder to encoder, so a cosine counts by how many standard deviations it
// stands out among the definitions for this question. See decision 34.
const (
	// outstanding is what each deviation above the first adds, as a share of what a word counts
	// that no definition has.
	outstanding = 0.3
	// candidate is how many deviations make a definition a candidate that no word finds. Where
	// words find nothing at all, it must stand out by beyondChance more than the best of as many
	// random numbers: small talk is near to something, too.
	candidate, beyondChance = 2, 0.5
	// sureWords is the score of words that need no meaning, as a multiple of what a word counts
	// that no definition has. The meaning counts as much as before when it agrees: when what the
	// words find stands out by so many deviations.
	sureWords, agreement = 2, 1.5
	// foreignShare is how much more the meaning counts for a question that no word can answer, and
	// centrality what a definition loses that is near to all others: it is near to a question in
	// any other language, too.
	foreignShare, centrality = 2, 0.5
	// leastSpread is the standard deviation below which cosines say nothing.
	leastSpread = 1e-5
)

// NewVectors takes vectors by position, which must have length one and must not
// change any more. A definition without one is ranked by its words.
func NewVectors(byPosition [][]float32) *Vectors {
	v := &Vectors{byPosition, make([]float32, len(byPosition))}
	var mean []float32
	for _, one := range byPosition {
		if mean == nil {
			mean = make([]float32, len(one))
		}
		if len(one) == len(mean) {
			for i, x := range one {
				mean[i] += x / float32(len(byPosition))
			}
		}
	}
	for i, one := range byPosition {
		if len(one) == len(mean) {
			v.central[i] = product(one, mean)
		}
	}
	return v
}

// addMeanings adds to the scores of admitted definitions what their vectors say.
func (r *Ranking) addMeanings(q *Query) {
	if len(q.Vector) == 0 || q.Vectors == nil || q.Vectors.byPosition == nil {
		return
	}
	deviations, n := q.Vectors.deviations(q, len(r.Scores), r.Language != "")
	if n == 0 {
		return
	}
	if len(r.votes) == 0 {
		r.byWords = highest(r.Scores, q.Admitted)
	}
	most := math.Sqrt(float64(n - 1)) // that one of n numbers can stand out
	first := float32(min(1, most/2))
	least, enough := max(floor*r.byWords, r.Least()), float32(candidate)
	weight := outstanding * r.index.unknown()
	switch {
	case r.Language != "":
		weight *= foreignShare
	case r.byWords < r.Least():
		enough = float32(math.Sqrt(2*math.Log(float64(n)))) + beyondChance
	}
	enough = min(enough, float32(0.9*most))
	agreed := r.agreement(deviations)
	if r.Language == "" {
		sure := min(1, r.byWords/(sureWords*r.index.unknown()))
		weight *= 1 - sure*(1-max(0, min(1, agreed/agreement)))
	}
	r.meanings = deviations
	for i, d := range deviations {
		r.meanings[i] = 0
		if d > first && (d >= enough || r.Scores[i] >= least) {
			r.meanings[i] = weight * (d - first)
			r.Scores[i] += r.meanings[i]
		}
	}
}

// agreement is by how many deviations the definitions stand out that the words find.
func (r *Ranking) agreement(deviations []float32) float32 {
	var sum, all float32
	for i, d := range deviations {
		if score := r.Scores[i]; score > 0 && score >= r.byWords/2 && d != absent {
			sum += score * d
			all += score
		}
	}
	return sum / max(all, math.SmallestNonzeroFloat32)
}

// absent is the deviation of a definition without a vector and of one that is not admitted.
const absent = -math.MaxFloat32

// deviations returns by position by how many standard deviations the cosines with the question
// differ from their mean, and how many definitions have one: 0 when they say nothing. Foreign is
// set for a question in another language than the definitions'.
func (v *Vectors) deviations(q *Query, size int, foreign bool) (deviations []float32, n int) {
	deviations = make([]float32, size)
	var sum, squares float64
	for i, one := range v.byPosition {
		if len(one) != len(q.Vector) || q.Admitted != nil && !q.Admitted[i] {
			deviations[i] = absent
			continue
		}
		d := product(one, q.Vector)
		if foreign {
			d -= centrality * v.central[i]
		}
		deviations[i] = d
		n++
		sum += float64(d)
		squares += float64(d) * float64(d)
	}
	mean := sum / float64(n)
	spread := math.Sqrt(squares/float64(n) - mean*mean)
	if !(spread > leastSpread) { // or is no number
		return nil, 0
	}
	for i, d := range deviations {
		if d != absent {
			deviations[i] = float32((float64(d) - mean) / spread)
		}
	}
	return deviations, n
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
