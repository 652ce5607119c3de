// Package deviation compares vectors whose encoder nobody knows. Which cosine is high differs from
// encoder to encoder; by how many standard deviations one vector stands out among others does not.
package deviation

import "math"

// Vectors are compared with that of a question. They are immutable.
type Vectors struct {
	byPosition [][]float32
	mean       []float32 // of all, as the words of all say how rare a word is
	square     float32   // its product with itself
	// By position: the product with the mean, and the distance from it.
	central, distance []float32
}

// least is the distance from the mean, and the standard deviation, below which vectors say nothing.
const least = 1e-5

// New takes vectors by position, which must have length one and must not change any more. Some may
// be missing.
func New(byPosition [][]float32) *Vectors {
	v := &Vectors{byPosition: byPosition, central: make([]float32, len(byPosition)),
		distance: make([]float32, len(byPosition))}
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

// Absent is the deviation where there is no vector, or none that is admitted.
const Absent = -math.MaxFloat32

// Of returns by position, up to size, by how many standard deviations the vectors are nearer to a
// question than their mean, and how many there are: 0 when they say nothing. Only admitted ones count;
// nil admits all. A foreign question is in another language than the vectors' texts: it is far from
// all, and less so from those that are near to everything, so its direction from the mean counts.
func (v *Vectors) Of(question []float32, admitted []bool, size int, foreign bool) (deviations []float32, n int) {
	if len(v.mean) != len(question) {
		return nil, 0
	}
	deviations = make([]float32, size)
	origin := product(v.mean, question)
	var sum, squares float64
	for i, one := range v.byPosition {
		if len(one) != len(question) || admitted != nil && !admitted[i] || !(v.distance[i] > least) {
			deviations[i] = Absent
			continue
		}
		d := product(one, question) - origin
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
	if !(spread > least) { // or is no number
		return nil, 0
	}
	for i, d := range deviations {
		if d != Absent {
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
