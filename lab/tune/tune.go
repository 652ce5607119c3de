// Package tune fits the weights of the ranking to questions whose tools are known, and
// those of the recommender to past turns. It reports whether that helps with questions
// that it has not seen.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
)

// MinHeldOut is how many held-out questions are needed to tell a gain from noise. A
// third of the questions is held out.
const MinHeldOut = 50

// Config says what is fitted.
type Config[W any] struct {
	// Start are the weights to begin with. Zero weights of the ranking mean
	// [rank.DefaultWeights], of the recommender [DefaultRecommender].
	Start W
	// Votes lets the questions that are not judged vote for the judged ones, as past
	// questions do. [Run] fits the weight of votes, too.
	Votes bool
	// Workers is how many processors it may use; 0 means all.
	Workers int
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

// Report is the result of fitting weights of type W.
type Report[W any] struct {
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
	Better  bool `json:"better"`
	Start   W    `json:"start"`
	Weights W    `json:"weights"`
}

// Changes names the weights that changed, as the file of weights does.
func (r Report[W]) Changes() []string {
	var list []string
	old, now := reflect.ValueOf(r.Start), reflect.ValueOf(r.Weights)
	for i := range old.NumField() {
		if x, y := old.Field(i).Float(), now.Field(i).Float(); x != y {
			list = append(list, fmt.Sprintf("%-15s %g → %g", old.Type().Field(i).Tag.Get("json"), x, y))
		}
	}
	return list
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

// Run fits the weights of the ranking until nothing improves or ctx ends, and reports the
// best ones. Questions without a tool of the catalog are left out. Every tool of c must
// be visible to a caller without facts, see [eval.Open].
func Run(ctx context.Context, c *catalog.Catalog, questions []rank.PastQuestion,
	cfg Config[rank.Weights]) (Report[rank.Weights], error) {
	if cfg.Start == (rank.Weights{}) {
		cfg.Start = rank.DefaultWeights()
	}
	var known []question
	for _, q := range questions {
		if tools := existing(c, q.Tools); len(tools) > 0 {
			known = append(known, question{selection.Request{Query: q.Question}, tools})
		}
	}
	p := problem[rank.Weights]{
		Config: cfg, catalog: c, most: maxWeight,
		knobs: func(w *rank.Weights) []*float64 {
			list := []*float64{&w.Name, &w.Alias, &w.Description, &w.Translation, &w.Parameter, &w.ParameterText,
				&w.Group, &w.Example, &w.Body, &w.EnrichedAlias, &w.EnrichedExample}
			if cfg.Votes {
				list = append(list, &w.Votes)
			}
			return list
		},
		selector: func(w rank.Weights) *selection.Selector { return selection.New(c, selection.Config{Weights: w}) },
		rank:     func(s *selection.Selector, r selection.Request) []selection.Match { return s.Search(r, depth) },
		final:    func(w rank.Weights) rank.Weights { return w },
	}
	return p.solve(ctx, known)
}

// question is a question whose tools are known.
type question struct {
	selection.Request
	tools []string
}

// existing returns the names of tools that the catalog has.
func existing(c *catalog.Catalog, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, ok := c.Get(name)
		return !ok
	})
}

// problem is which weights are fitted, and how they rank the tools for a question.
type problem[W any] struct {
	Config[W]
	catalog  *catalog.Catalog
	most     float64 // the greatest weight
	knobs    func(*W) []*float64
	selector func(W) *selection.Selector
	rank     func(*selection.Selector, selection.Request) []selection.Match
	final    func(W) W // the form in which weights are judged and kept
}

// solve fits the weights to two thirds of the questions and judges them by the others.
func (p problem[W]) solve(ctx context.Context, known []question) (Report[W], error) {
	if need := 3 * MinHeldOut; len(known) < need {
		return Report[W]{}, &TooFewError{len(known), need}
	}
	fitted, heldOut := split(known, len(known)/3)
	f := newFit(p, fitted)
	weights := p.final(f.climb(ctx))
	judge := part{questions: heldOut}
	if p.Votes {
		judge.past = votes(fitted)
	}
	before, after := p.run(p.Start, judge), p.run(weights, judge)
	r := Report[W]{
		Tools: p.catalog.Len(), Fitted: len(fitted), HeldOut: len(heldOut), Tried: f.tried,
		Before: before.mean(), After: after.mean(), Start: p.Start, Weights: weights,
	}
	r.Gain, r.Noise = difference(before, after)
	r.Better = r.Gain > r.Noise && r.After.Recall >= r.Before.Recall-r.Noise
	return r, nil
}

// split takes about n questions out. It chooses them by their text: the choice is
// always the same, and equal questions are on the same side.
func split(questions []question, n int) (rest, taken []question) {
	sorted := slices.Clone(questions)
	slices.SortStableFunc(sorted, func(a, b question) int {
		return cmp.Or(cmp.Compare(hash(a.Query), hash(b.Query)), cmp.Compare(a.Query, b.Query))
	})
	for 0 < n && n < len(sorted) && sorted[n].Query == sorted[n-1].Query {
		n++
	}
	return sorted[n:], sorted[:n]
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// votes returns questions that vote for everybody.
func votes(questions []question) *rank.Votes {
	list := make([]rank.PastQuestion, len(questions))
	for i, q := range questions {
		list[i] = rank.PastQuestion{Question: q.Query, Tools: q.tools}
	}
	return rank.NewVotes(list)
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
