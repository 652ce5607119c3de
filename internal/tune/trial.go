package tune

import (
	"math"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/eval"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
)

// trial ranks the tools of a catalog for questions whose tools are known.
type trial struct {
	catalog *catalog.Catalog
	parts   []part
}

// part is some of the questions and the past that votes for them.
type part struct {
	questions []rank.Asked
	past      *rank.Votes
}

// results are scores, one for each question.
type results []Score

func (t *trial) run(w rank.Weights) results {
	s := selection.New(t.catalog, selection.Config{Weights: w})
	var all results
	for _, p := range t.parts {
		voting := s.WithVotes(p.past)
		all = append(all, eval.Each(len(p.questions), func(i int) Score { return score(voting, p.questions[i]) })...)
	}
	return all
}

// depth is how many of the best ranked tools count.
const depth = 5

func score(s *selection.Selector, q rank.Asked) Score {
	var gain, ideal, found float64
	for i, m := range s.Search(selection.Request{Query: q.Question}, depth) {
		if slices.Contains(q.Tools, m.Definition.Name) {
			found++
			gain += 1 / math.Log2(float64(i)+2)
		}
	}
	for i := range min(depth, len(q.Tools)) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	return Score{NDCG: gain / ideal, Recall: found / float64(len(q.Tools))}
}

func (r results) mean() Score {
	var m Score
	for _, s := range r {
		m.NDCG += s.NDCG / float64(len(r))
		m.Recall += s.Recall / float64(len(r))
	}
	return m
}
