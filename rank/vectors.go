package rank

import "math"

// Vectors are the meanings of the definitions of an index. They are immutable.
type Vectors struct {
	byPosition [][]float32
	mean       []float32 // of all, as the words of all say how rare a word is
	square     float32   // its product with itself
	// By position: the product with the mean, and the distance from it.
	central, distance []float32
}

// How much the meaning of a question and a definition counts beside their words. Which cosine is
// high differs from encoder to encoder, so a vector counts by its direction from the mean of all
// definitions, and by how many standard deviations it stands out among them for this question. See
// decision 34.
const (
	// outstanding is what each deviation above the first adds, as a share of what a word counts
	// that no definition has.
	outstanding = 0.35
	// candidate is how many deviations make a definition a candidate that no word finds. Where
	// words find nothing at all, it must stand out by beyondChance more than the best of as many
	// random numbers: small talk is near to something, too.
	candidate, beyondChance = 2, 0.5
	// sureWords is the score of words that need no meaning, as a multiple of what a word counts
	// that no definition has. The meaning counts all the same as far as it agrees: fully when what
	// the words find stands out by so many deviations.
	sureWords, agreement = 2, 2.5
	// foreignShare is how much more the meaning counts for a question that no word can answer.
	foreignShare = 2
	// leastSpread is the distance, and the standard deviation, below which vectors say nothing.
	leastSpread = 1e-5
)

// NewVectors takes vectors by position, which must have length one and must not
// change any more. A definition without one is ranked by its words.
func NewVectors(byPosition [][]float32) *Vectors {
	v := &Vectors{byPosition: byPosition, central: make([]float32, len(byPosition)), distance: make([]float32, len(byPosition))}
	var n float32
	for _, one := range byPosition {
		if v.mean == nil && len(one) > 0 {
			v.mean = make([]float32, len(one))
		}
		if len(one) > 0 && len(one) == len(v.mean) {
			n++
			for i, x := range one {
				v.mean[i] += x
			}
		}
	}
	for i := range v.mean {
		v.mean[i] /= n
	}
	v.square = product(v.mean, v.mean)
	for i, one := range byPosition {
		if len(one) > 0 && len(one) == len(v.mean) {
			v.central[i] = product(one, v.mean)
			v.distance[i] = float32(math.Sqrt(max(0, 1-2*float64(v.central[i])+float64(v.square))))
		}
	}
	return v
}

// addMeanings adds to the scores of admitted definitions what their vectors say.
func (r *Ranking) addMeanings(q *Query) {
	if len(q.Vector) == 0 || q.Vectors == nil {
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

// deviations returns by position by how many standard deviations the definitions are nearer to the
// question than their mean, and how many definitions have one: 0 when they say nothing. A question
// in another language than the definitions' is far from all of them, and less so from those that
// are near to everything: it counts by its direction from their mean, too.
func (v *Vectors) deviations(q *Query, size int, foreign bool) (deviations []float32, n int) {
	if len(v.mean) != len(q.Vector) {
		return nil, 0
	}
	deviations = make([]float32, size)
	origin := product(v.mean, q.Vector)
	var sum, squares float64
	for i, one := range v.byPosition {
		if len(one) != len(q.Vector) || q.Admitted != nil && !q.Admitted[i] || !(v.distance[i] > leastSpread) {
			deviations[i] = absent
			continue
		}
		d := product(one, q.Vector) - origin
		if foreign {
			d -= v.central[i] - v.square
		}
		d /= v.distance[i]
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
