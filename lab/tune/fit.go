package tune

import (
	"context"
	"math"
)

const (
	// firstStep is the first factor by which a weight is changed. lastStep is too
	// small to try.
	firstStep, lastStep = 4.0, 1.1
	// leastGain is the gain in nDCG@5 that a change must bring.
	leastGain = 0.002
	// maxWeight is the greatest weight of the ranking.
	maxWeight = 20.0
	// leastWeight is what a weight below it is taken for before it is changed, as a share
	// of the greatest.
	leastWeight = 0.0025
)

// fit looks for weights by coordinate ascent: it makes one weight after the other
// greater or smaller for as long as that helps, and then uses smaller steps.
type fit[W any] struct {
	problem[W]
	parts    []part
	best     W
	score    float64
	tried    int
	constant map[int]bool // weights that change nothing, because no tool has such texts
}

func newFit[W any](p problem[W], questions []question) *fit[W] {
	f := &fit[W]{problem: p, parts: []part{{questions: questions}}, best: p.Start, constant: map[int]bool{}}
	if p.Votes {
		// Each half votes for the other, so no question votes for itself.
		a, b := split(questions, len(questions)/2)
		f.parts = []part{{a, votes(b)}, {b, votes(a)}}
	}
	return f
}

func (f *fit[W]) climb(ctx context.Context) W {
	f.score = f.run(f.best, f.parts...).mean().NDCG
	for step := firstStep; step > lastStep; step = math.Sqrt(step) {
		for improved := true; improved; {
			improved = false
			for i := range f.knobs(&f.best) {
				if !f.constant[i] {
					improved = f.turn(ctx, i, step) || improved
				}
				if ctx.Err() != nil {
					return f.best
				}
			}
		}
	}
	return f.best
}

// turn changes one weight for as long as that helps and reports whether it did.
func (f *fit[W]) turn(ctx context.Context, knob int, step float64) (improved bool) {
	up := f.try(ctx, knob, step)
	if up == better {
		for f.try(ctx, knob, step) == better {
		}
		return true
	}
	down := f.try(ctx, knob, 1/step)
	if down == better {
		for f.try(ctx, knob, 1/step) == better {
		}
		return true
	}
	f.constant[knob] = up == same && down == same
	return false
}

// outcome is the effect of a change.
type outcome int

const (
	worse outcome = iota
	same
	better
)

// try changes a weight and keeps the change if it helps.
func (f *fit[W]) try(ctx context.Context, knob int, factor float64) outcome {
	w := f.best
	weight := f.knobs(&w)[knob]
	*weight = round(max(*weight, leastWeight*f.most) * factor)
	if ctx.Err() != nil || *weight > f.most || *weight == 0 {
		return worse
	}
	score := f.run(w, f.parts...).mean().NDCG
	f.tried++
	switch {
	case score == f.score:
		return same
	case score < f.score+leastGain:
		return worse
	}
	f.best, f.score = w, score
	if f.Progress != nil {
		f.Progress(Progress{f.tried, score})
	}
	return better
}

// round keeps three digits, more than can be fitted.
func round(weight float64) float64 { return math.Round(weight*1000) / 1000 }
