package rank

import (
	"math"

	"github.com/etui-run/etui/rank/internal/deviation"
)

// Vectors are the meanings of the definitions of an index. They are immutable.
type Vectors struct{ all *deviation.Vectors }

// NewVectors takes vectors by position, which must have length one and must not
// change any more. A definition without one is ranked by its words.
func NewVectors(byPosition [][]float32) *Vectors { return &Vectors{deviation.New(byPosition)} }

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
	// doubtful is the score, as a multiple of what a word counts that no definition has, below which
	// words may match by accident, and remark the length of a message that may ask for nothing, in bytes.
	doubtful, remark = 0.5, 40
	// sureWords is the score of words that need no meaning, as a multiple of what a word counts
	// that no definition has. The meaning counts all the same as far as it agrees: fully when what
	// the words find stands out by so many deviations.
	sureWords, agreement = 2, 2.5
	// unsaid is how much less the meaning of an answer to the assistant counts: its vector does not know
	// what was said before.
	unsaid = 0.3
	// many is the number of definitions from which on meanings count less: the more there are, the more of
	// them stand out by chance.
	many = 500
	// foreignShare is how much more the meaning counts for a question that no word can answer.
	foreignShare = 2
)

// addMeanings adds to the scores of admitted definitions what their vectors say.
func (r *Ranking) addMeanings(q *Query, lean float32) {
	if len(q.Vector) == 0 || q.Vectors == nil {
		return
	}
	deviations, n := q.Vectors.all.Of(q.Vector, q.Admitted, len(r.Scores), r.Language != "")
	if n == 0 {
		return
	}
	if len(r.votes) == 0 {
		r.byWords = highest(r.Scores, q.Admitted)
	}
	most := math.Sqrt(float64(n - 1)) // that one of n numbers can stand out
	first := float32(min(1, most/2))
	least, enough := max(floor*r.byWords, r.Least()), float32(candidate)
	weight := outstanding * crowd(n) * r.index.unknown()
	switch {
	case r.Language != "":
		weight *= foreignShare
	case r.byWords < r.Least():
		enough = chance(n) + beyondChance
	}
	enough = min(enough, float32(0.9*most))
	agreed := r.agreement(deviations)
	if lean < 1 && len(q.Text) <= remark && r.accidental(deviations, agreed, min(chance(n), float32(0.9*most))) {
		r.least = math.MaxFloat32
		return
	}
	if r.Language == "" {
		sure := min(1, r.byWords/(sureWords*r.index.unknown()))
		weight *= (1 - sure*(1-max(0, min(1, agreed/agreement)))) * (1 - unsaid*lean)
	}
	r.meanings = deviations
	for i, d := range deviations {
		if d == deviation.Absent && r.Scores[i] >= least && (q.Admitted == nil || q.Admitted[i]) {
			d = agreed // its vector is still to come: no tool wins because its own came first
		}
		r.meanings[i] = 0
		if d > first && (d >= enough || r.Scores[i] >= least) {
			r.meanings[i] = weight * (d - first)
			r.Scores[i] += r.meanings[i]
		}
	}
}

// crowd is how much meanings count among n definitions.
func crowd(n int) float32 {
	share := float32(math.Log(many) / math.Log(float64(max(n, many))))
	return share * share * share
}

// accidental reports whether what matches a message does so by accident, as with "what a lovely day": its
// words are doubtful, what they find does not stand out, and nothing else stands out enough.
func (r *Ranking) accidental(deviations []float32, agreed, enough float32) bool {
	if r.Language != "" || len(r.votes) > 0 || agreed >= 1 || r.byWords >= doubtful*r.index.unknown() {
		return false
	}
	for i, d := range deviations {
		if d >= enough || d == deviation.Absent && r.Scores[i] > 0 { // that may still be the right one
			return false
		}
	}
	return true
}

// chance is by how many deviations the best of n random numbers stands out.
func chance(n int) float32 { return float32(math.Sqrt(2 * math.Log(float64(n)))) }

// agreement is by how many deviations the definitions stand out that the words find.
func (r *Ranking) agreement(deviations []float32) float32 {
	var sum, all float32
	for i, d := range deviations {
		if score := r.Scores[i]; score > 0 && score >= r.byWords/2 && d != deviation.Absent {
			sum += score * d
			all += score
		}
	}
	return sum / max(all, math.SmallestNonzeroFloat32)
}
