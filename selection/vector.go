package selection

// VectorWeights say how much the likeness of a question and a tool in meaning
// counts beside that of their words. Likeness is the cosine of their vectors.
type VectorWeights struct {
	// Weight is what a cosine of 1 adds to a tool's score, as a share of the best
	// score by words, or of what one rare word counts where that is more; 0 means
	// 0.5.
	Weight float64
	// Threshold is the cosine from which on a tool is a candidate that its words do
	// not make one; 0 means 0.4. Which cosine is high depends on the model.
	Threshold float64
}

// WithVectors returns a selector that compares meanings, too. The vectors are by
// position in the catalog, of length one and not changed any more; a tool without
// one is ranked by its words. They count for requests with a
// [Request.Vector] of as many numbers.
func (s *Selector) WithVectors(vectors [][]float32, w VectorWeights) *Selector {
	if w.Weight == 0 {
		w.Weight = 0.5
	}
	if w.Threshold == 0 {
		w.Threshold = 0.4
	}
	with := *s
	with.vectors, with.vectorWeights = vectors, w
	return &with
}

// compareMeanings adds to the scores of the tools that may be used what their
// vectors say.
func (sel *Selection) compareMeanings() {
	s, question := sel.selector, sel.Request.Vector
	if len(question) == 0 || s.vectors == nil {
		return
	}
	if len(sel.votes) == 0 {
		sel.byWords = highest(sel.scores, sel.stages)
	}
	least, scale := s.index.noise(sel.byWords), float32(s.vectorWeights.Weight)*sel.scale()
	sel.meanings = make([]float32, len(s.vectors))
	for i, v := range s.vectors {
		if len(v) != len(question) || sel.stages[i] != Sent {
			continue
		}
		cosine := product(v, question)
		if cosine <= 0 || sel.scores[i] < least && cosine < float32(s.vectorWeights.Threshold) {
			continue
		}
		sel.meanings[i] = cosine * scale
		sel.scores[i] += sel.meanings[i]
	}
}

// product adds in four sums, which a processor works on at the same time.
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
