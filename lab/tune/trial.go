package tune

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
)

// part is some of the questions and the past that votes for them.
type part struct {
	questions []question
	past      *rank.Votes
}

// results are scores, one for each question.
type results []Score

// run ranks the tools for questions with some weights.
func (p problem[W]) run(w W, parts ...part) results {
	s := p.selector(w)
	var all results
	for _, part := range parts {
		voting := s.WithVotes(part.past)
		all = append(all, eval.EachBy(cmp.Or(p.Workers, runtime.GOMAXPROCS(0)), len(part.questions), func(i int) Score {
			q := part.questions[i]
			return score(p.rank(voting, q.Request), q.tools)
		})...)
	}
	return all
}

// depth is how many of the best ranked tools count.
const depth = 5

func score(ranked []selection.Match, tools []string) Score {
	var gain, ideal, found float64
	for i, m := range ranked[:min(len(ranked), depth)] {
		if slices.Contains(tools, m.Definition.Name) {
			found++
			gain += 1 / math.Log2(float64(i)+2)
		}
	}
	for i := range min(depth, len(tools)) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	return Score{NDCG: gain / ideal, Recall: found / float64(len(tools))}
}

func (r results) mean() Score {
	var m Score
	for _, s := range r {
		m.NDCG += s.NDCG / float64(len(r))
		m.Recall += s.Recall / float64(len(r))
	}
	return m
}
