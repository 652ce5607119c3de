// Package tune fits the weights of the ranking to questions whose tools are known
// and reports whether that helps with questions that it has not seen.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

// MinHeldOut is how many held-out questions are needed to tell a gain from noise. A
// third of the questions is held out.
const MinHeldOut = 50

// Config says what is fitted.
type Config struct {
	// Start are the weights to begin with; zero means [rank.DefaultWeights].
	Start rank.Weights
	// Votes lets the questions that are not judged vote for the judged ones, as past
	// questions do, and fits the weight of votes too.
	Votes bool
	// Progress is called with each better fit; nil is not called.
	Progress func(Progress)
}

// Progress is how far the fitting has come.
type Progress struct {
	// Tried is how many weights were tried, and NDCG the best so far on the
	// questions that they are fitted to.
	Tried int     `json:"tried"`
	NDCG  float64 `json:"ndcg5"`
}

// Report is the result of fitting.
type Report struct {
	Tools int `json:"tools"`
	// Fitted is how many questions the weights were fitted to, and HeldOut how many
	// judge them.
	Fitted  int `json:"fitted"`
	HeldOut int `json:"held_out"`
	Tried   int `json:"tried"`
	// Before and After are on the held-out questions.
	Before Score `json:"before"`
	After  Score `json:"after"`
	// Gain is the difference in nDCG@5, Noise its standard error.
	Gain  float64 `json:"gain"`
	Noise float64 `json:"noise"`
	// Better is set when the gain is more than noise.
	Better  bool         `json:"better"`
	Start   rank.Weights `json:"start"`
	Weights rank.Weights `json:"weights"`
}

// Score is the quality of a ranking, as a mean over questions, from 0 to 1.
type Score struct {
	NDCG   float64 `json:"ndcg5"`
	Recall float64 `json:"r5"`
}

// TooFewError reports that there are not enough questions to learn from.
type TooFewError struct{ Have, Need int }

func (e *TooFewError) Error() string {
	return fmt.Sprintf("there are %d questions whose tools are known; tuning needs %d, a third of them to tell a gain from noise", e.Have, e.Need)
}

// Run fits weights until nothing improves or ctx ends, and reports the best ones.
// Questions without a tool of the catalog are left out. Every tool of c must be
// visible to a caller without facts, see [Open].
func Run(ctx context.Context, c *catalog.Catalog, questions []rank.Asked, cfg Config) (Report, error) {
	if cfg.Start == (rank.Weights{}) {
		cfg.Start = rank.DefaultWeights()
	}
	known := answerable(c, questions)
	if need := 3 * MinHeldOut; len(known) < need {
		return Report{}, &TooFewError{len(known), need}
	}
	fitted, heldOut := split(known, len(known)/3)
	f := newFit(c, fitted, cfg)
	weights := f.climb(ctx)
	judge := &trial{c, []part{{questions: heldOut}}}
	if cfg.Votes {
		judge.parts[0].past = rank.NewVotes(anybody(fitted))
	}
	before, after := judge.run(cfg.Start), judge.run(weights)
	r := Report{
		Tools: c.Len(), Fitted: len(fitted), HeldOut: len(heldOut), Tried: f.tried,
		Before: before.mean(), After: after.mean(), Start: cfg.Start, Weights: weights,
	}
	r.Gain, r.Noise = difference(before, after)
	r.Better = r.Gain > r.Noise && r.After.Recall >= r.Before.Recall-r.Noise
	return r, nil
}

// answerable returns the questions that a tool of the catalog answers, without
// tools that the catalog lacks.
func answerable(c *catalog.Catalog, questions []rank.Asked) []rank.Asked {
	var known []rank.Asked
	for _, q := range questions {
		q.Tools = slices.DeleteFunc(slices.Clone(q.Tools), func(name string) bool {
			_, ok := c.Get(name)
			return !ok
		})
		if len(q.Tools) > 0 {
			known = append(known, q)
		}
	}
	return known
}

// split takes about n questions out. It chooses them by their text: the choice is
// always the same, and equal questions are on the same side.
func split(questions []rank.Asked, n int) (rest, taken []rank.Asked) {
	sorted := slices.Clone(questions)
	slices.SortStableFunc(sorted, func(a, b rank.Asked) int {
		return cmp.Or(cmp.Compare(hash(a.Question), hash(b.Question)), cmp.Compare(a.Question, b.Question))
	})
	for 0 < n && n < len(sorted) && sorted[n].Question == sorted[n-1].Question {
		n++
	}
	return sorted[n:], sorted[:n]
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// anybody returns questions that vote for everybody.
func anybody(questions []rank.Asked) []rank.Asked {
	list := slices.Clone(questions)
	for i := range list {
		list[i].User = ""
	}
	return list
}

// difference returns how much better after is, and the standard error of that. It
// compares the questions one by one.
func difference(before, after results) (gain, noise float64) {
	n := float64(len(before))
	for i := range before {
		gain += (after[i].NDCG - before[i].NDCG) / n
	}
	for i := range before {
		d := after[i].NDCG - before[i].NDCG - gain
		noise += d * d
	}
	return gain, math.Sqrt(noise / (n - 1) / n)
}
