package eval

import (
	"math"
	"runtime"
	"slices"

	"github.com/etui-run/etui/internal/panics"
)

// Score is how good rankings are, as means over the questions that have an answer.
// Relevance is binary, as is usual for tool retrieval. All values except counts
// and tokens are shares between 0 and 1.
type Score struct {
	Queries int `json:"queries"`
	// Recall is the share of the relevant tools among the first 1, 3, 5 and 10.
	Recall1  float64 `json:"recall@1"`
	Recall3  float64 `json:"recall@3"`
	Recall5  float64 `json:"recall@5"`
	Recall10 float64 `json:"recall@10"`
	// NDCG is the normalised discounted cumulative gain, with the ideal list cut
	// at the same place.
	NDCG5  float64 `json:"ndcg@5"`
	NDCG10 float64 `json:"ndcg@10"`
	// MRR is the mean of 1/place of the first relevant tool among the first 100.
	MRR float64 `json:"mrr"`
	// Complete is the share of questions with every relevant tool among the first
	// 3, 5 and 10.
	Complete3  float64 `json:"complete@3"`
	Complete5  float64 `json:"complete@5"`
	Complete10 float64 `json:"complete@10"`
	// Error is half the width of the 95 % interval of Recall5.
	Error float64 `json:"recall@5_error"`
	// Negatives is how many questions no tool answers; Abstained is the share of
	// them for which nothing was offered.
	Negatives int     `json:"negatives"`
	Abstained float64 `json:"abstained"`
	// TokensSent is the mean cost of the offered definitions, TokensAll the cost of
	// all of them.
	TokensSent float64 `json:"tokens_sent"`
	TokensAll  int     `json:"tokens_all"`
}

// depth is how much of a ranking counts.
const depth = 100

// Measure scores a ranking for each query: ids of tools, best first. A missing
// ranking counts as an empty one.
func Measure(queries []Query, ranked map[string][]string) Score {
	var s Score
	var recalls []float64
	for _, q := range queries {
		list := ranked[q.ID]
		if len(q.Relevant) == 0 {
			s.Negatives++
			if len(list) == 0 {
				s.Abstained++
			}
			continue
		}
		recalls = append(recalls, s.add(q.Relevant, list))
	}
	s.Queries = len(recalls)
	if s.Negatives > 0 {
		s.Abstained /= float64(s.Negatives)
	}
	if s.Queries == 0 {
		return s
	}
	for _, sum := range s.means() {
		*sum /= float64(s.Queries)
	}
	s.Error = 1.96 * math.Sqrt(variance(recalls, s.Recall5)/float64(s.Queries))
	return s
}

func (s *Score) means() []*float64 {
	return []*float64{
		&s.Recall1, &s.Recall3, &s.Recall5, &s.Recall10, &s.NDCG5, &s.NDCG10, &s.MRR, &s.Complete3, &s.Complete5,
		&s.Complete10,
	}
}

// add adds the figures of one query to the sums in s, and returns its recall
// at 5.
func (s *Score) add(relevant, ranked []string) float64 {
	want := map[string]bool{}
	for _, id := range relevant {
		want[id] = true
	}
	n := float64(len(want))
	var places []int // of relevant tools, from 0
	for i, id := range ranked[:min(len(ranked), depth)] {
		if want[id] {
			want[id] = false
			places = append(places, i)
		}
	}
	within := func(k int) float64 {
		i, _ := slices.BinarySearch(places, k)
		return float64(i)
	}
	s.Recall1 += within(1) / n
	s.Recall3 += within(3) / n
	s.Recall5 += within(5) / n
	s.Recall10 += within(10) / n
	s.NDCG5 += gain(places, 5) / ideal(int(n), 5)
	s.NDCG10 += gain(places, 10) / ideal(int(n), 10)
	if len(places) > 0 {
		s.MRR += 1 / float64(places[0]+1)
	}
	s.Complete3 += math.Floor(within(3) / n)
	s.Complete5 += math.Floor(within(5) / n)
	s.Complete10 += math.Floor(within(10) / n)
	return within(5) / n
}

// Each returns f of the numbers below n, computed on all processors.
func Each[T any](n int, f func(i int) T) []T { return EachBy(runtime.GOMAXPROCS(0), n, f) }

// EachBy is Each on so many processors at most.
func EachBy[T any](workers, n int, f func(i int) T) []T {
	list := make([]T, n)
	workers = min(workers, n)
	var done panics.Group
	for first := range workers {
		done.Go(func() {
			for i := first; i < n; i += workers {
				list[i] = f(i)
			}
		})
	}
	done.Wait()
	return list
}

func gain(places []int, k int) float64 {
	var sum float64
	for _, p := range places {
		if p < k {
			sum += 1 / math.Log2(float64(p+2))
		}
	}
	return sum
}

func ideal(relevant, k int) float64 {
	var sum float64
	for i := range min(relevant, k) {
		sum += 1 / math.Log2(float64(i+2))
	}
	return sum
}

func variance(values []float64, mean float64) float64 {
	var sum float64
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / math.Max(1, float64(len(values)-1))
}

// Mean returns the plain mean of scores. Each set counts the same, except that sets
// without a question that has an answer do not count.
func Mean(scores []Score) Score {
	var mean Score
	var asked []Score
	negative := 0 // sets with negatives
	for _, s := range scores {
		mean.Queries += s.Queries
		mean.Negatives += s.Negatives
		mean.Abstained += s.Abstained
		if s.Queries > 0 {
			asked = append(asked, s)
		}
		if s.Negatives > 0 {
			negative++
		}
	}
	mean.Abstained /= float64(max(negative, 1))
	for _, s := range asked {
		mean.TokensAll += s.TokensAll / len(asked)
		mean.TokensSent += s.TokensSent / float64(len(asked))
		for i, v := range s.means() {
			*mean.means()[i] += *v / float64(len(asked))
		}
	}
	return mean
}

// LoadRun reads a run file: {"id","ranked":[ids, best first]}, one query a line.
func LoadRun(file string) (map[string][]string, []Problem, error) {
	var s Set
	run := map[string][]string{}
	err := read(&s, file, func(row struct {
		ID     string
		Ranked []string
	}) error {
		run[row.ID] = row.Ranked
		return nil
	})
	return run, s.Problems, err
}
