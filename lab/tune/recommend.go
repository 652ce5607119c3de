package tune

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/usage"
)

// Recommender are the weights of the recommender, as shares of their sum.
type Recommender struct {
	Channel float64 `json:"channel"`
	Keyword float64 `json:"keyword"`
	History float64 `json:"history"`
	Recency float64 `json:"recency"`
}

// DefaultRecommender returns the weights that the recommender has by default.
func DefaultRecommender() Recommender { return Recommender{40, 30, 20, 10} }

// Selection returns the weights as a recommender that is on.
func (w Recommender) Selection() selection.Recommend {
	return selection.Recommend{On: true, Channel: w.Channel, Keyword: w.Keyword, History: w.History, Recency: w.Recency}
}

// maxShare is the greatest weight of the recommender while it is fitted.
const maxShare = 400

// Check reports weights that the recommender cannot have.
func (w Recommender) Check() error {
	for _, share := range []float64{w.Channel, w.Keyword, w.History, w.Recency} {
		if !(share >= 0 && share <= 100) {
			return errors.New("a weight of the recommender is not between 0 and 100")
		}
	}
	if w == (Recommender{}) {
		return errors.New("all weights of the recommender are 0")
	}
	return nil
}

// whole returns the weights as whole shares of 100.
func (w Recommender) whole() Recommender {
	shares := []*float64{&w.Channel, &w.Keyword, &w.History, &w.Recency}
	sum, left := w.Channel+w.Keyword+w.History+w.Recency, 100.0
	most := shares[0]
	for _, share := range shares {
		*share = math.Round(100 * *share / sum)
		left -= *share
		if *share > *most {
			most = share
		}
	}
	*most += left
	return w
}

// Recommend fits the weights of the recommender to past turns, as [Run] fits those of the
// ranking, which are words. A turn counts if its conversation is known: what a conversation
// said and used before is what its earlier turns did. Every tool of c must be visible to a
// caller without facts.
func Recommend(ctx context.Context, c *catalog.Catalog, turns []usage.Turn, words rank.Weights,
	cfg Config[Recommender]) (Report[Recommender], error) {
	if cfg.Start == (Recommender{}) {
		cfg.Start = DefaultRecommender()
	}
	p := problem[Recommender]{
		Config: cfg, catalog: c, most: maxShare, final: Recommender.whole,
		knobs: func(w *Recommender) []*float64 { return []*float64{&w.Channel, &w.Keyword, &w.History, &w.Recency} },
		selector: func(w Recommender) *selection.Selector {
			return selection.New(c, selection.Config{Weights: words, Recommend: w.Selection()})
		},
		rank: func(s *selection.Selector, r selection.Request) []selection.Match { return s.Select(r).Ranked },
	}
	return p.solve(ctx, again(c, turns))
}

// How far back the recommender looks in a conversation.
const (
	maxUsed = 200 // calls
	maxSaid = 8   // messages
)

// again returns the questions of past turns as they were asked: with the channel, the
// time, and what the conversation had said and used before.
func again(c *catalog.Catalog, turns []usage.Turn) (list []question) {
	used, said := map[string][]selection.Use{}, map[string][]chat.Message{}
	turns = slices.Clone(turns)
	slices.SortStableFunc(turns, func(a, b usage.Turn) int { return a.Time.Compare(b.Time) })
	for _, t := range turns {
		if t.Session == "" {
			continue
		}
		if tools := existing(c, t.Tools); len(tools) > 0 {
			list = append(list, question{selection.Request{
				Query: t.Text, Facts: chat.Facts{Agent: t.Agent, Channel: t.Channel, Time: t.Time},
				Used: slices.Clone(used[t.Session]), History: slices.Clone(said[t.Session]),
			}, tools})
		}
		for _, name := range t.Tools {
			used[t.Session] = newest(append(used[t.Session], selection.Use{Tool: name, Time: t.Time}), maxUsed)
		}
		said[t.Session] = newest(append(said[t.Session], chat.Message{Role: chat.User, Text: t.Text, Time: t.Time}),
			maxSaid)
	}
	return list
}

func newest[T any](list []T, most int) []T { return list[max(len(list)-most, 0):] }
