package tuner

import (
	"cmp"
	"reflect"

	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/server/api"
)

// Ranking returns the weights in the state folder, with those before and the default ones. It is
// safe to call while the tuner runs.
func (t *Tuner) Ranking() api.Ranking {
	now, broken := tune.Load(t.config.State)
	before, other := tune.Before(t.config.State)
	uses, fixed := t.config.Recommender(now)
	used, _ := t.config.Recommender(before)
	r := api.Ranking{
		Weights:     compare(rank.DefaultWeights(), before.Weights, now.Weights),
		Recommender: compare(tune.DefaultRecommender(), used, uses),
		Fixed:       fixed, Made: now.Made, By: now.By, Judged: judged(&now.Report),
		JudgedRecommender: judged(now.RecommenderReport),
	}
	if err := cmp.Or(broken, other); err != nil {
		r.Trouble = err.Error()
	}
	return r
}

// compare lists weights by the names that they have in files.
func compare[W any](standard, before, now W) []api.Weight {
	var list []api.Weight
	x, y, z := reflect.ValueOf(standard), reflect.ValueOf(before), reflect.ValueOf(now)
	for i := range x.NumField() {
		list = append(list, api.Weight{Name: x.Type().Field(i).Tag.Get("json"), Default: x.Field(i).Float(),
			Before: y.Field(i).Float(), Now: z.Field(i).Float()})
	}
	return list
}

// judged sums a report up; nil for one of no fitting.
func judged[W any](r *tune.Report[W]) *api.FittingGain {
	if r == nil || r.HeldOut == 0 {
		return nil
	}
	return &api.FittingGain{HeldOut: r.HeldOut, Before: r.Before.NDCG, After: r.After.NDCG, Noise: r.Noise}
}
