package tune

import (
	"context"
	"math"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

const (
	// firstStep is the first factor by which a weight is changed. lastStep is too
	// small to try.
	firstStep, lastStep = 4.0, 1.1
	// leastGain is the gain in nDCG@5 that a change must bring.
	leastGain = 0.002
	// maxWeight is the greatest weight.
	maxWeight = 20.0
)

// fit looks for weights by coordinate ascent: it makes one weight after the other
// greater or smaller for as long as that helps, and then uses smaller steps.
type fit struct {
	trial    *trial
	config   Config
	best     rank.Weights
	score    float64
	tried    int
	constant map[int]bool // weights that change nothing, because no tool has such texts
}

func newFit(c *catalog.Catalog, questions []rank.Asked, cfg Config) *fit {
	f := &fit{trial: &trial{c, []part{{questions: questions}}}, config: cfg, best: cfg.Start, constant: map[int]bool{}}
	if cfg.Votes {
		// Each half votes for the other, so no question votes for itself.
		a, b := split(questions, len(questions)/2)
		f.trial.parts = []part{{a, rank.NewVotes(anybody(b))}, {b, rank.NewVotes(anybody(a))}}
	}
	return f
}

func (f *fit) climb(ctx context.Context) rank.Weights {
	f.score = f.trial.run(f.best).mean().NDCG
	for step := firstStep; step > lastStep; step = math.Sqrt(step) {
		for improved := true; improved; {
			improved = false
			for i := range knobs(&f.best) {
				if !f.constant[i] && (i != votesKnob || f.config.Votes) {
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
func (f *fit) turn(ctx context.Context, knob int, step float64) (improved bool) {
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
func (f *fit) try(ctx context.Context, knob int, factor float64) outcome {
	w := f.best
	weight := knobs(&w)[knob]
	*weight = round(max(*weight, 0.05) * factor)
	if ctx.Err() != nil || *weight > maxWeight || *weight == 0 {
		return worse
	}
	score := f.trial.run(w).mean().NDCG
	f.tried++
	switch {
	case score == f.score:
		return same
	case score < f.score+leastGain:
		return worse
	}
	f.best, f.score = w, score
	if f.config.Progress != nil {
		f.config.Progress(Progress{f.tried, score})
	}
	return better
}

// round keeps three digits, more than can be fitted.
func round(weight float64) float64 { return math.Round(weight*1000) / 1000 }

// votesKnob is the place of the votes among the knobs.
const votesKnob = 9

// knobs returns pointers to the weights.
func knobs(w *rank.Weights) []*float64 {
	return []*float64{&w.Name, &w.Alias, &w.Description, &w.Translation, &w.Parameter, &w.ParameterText, &w.Group, &w.Example, &w.Body, &w.Votes}
}
