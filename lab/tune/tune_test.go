package tune_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/usage"
)

// set is a set whose parameters mislead: each names the subject of another tool.
func set(n int) *eval.Set {
	s := &eval.Set{}
	for i := range n {
		s.Tools = append(s.Tools, eval.Tool{ID: fmt.Sprint(i), Definition: tool.Definition{
			Name: "tool", Description: fmt.Sprintf("About subject%c%c and more", 'a'+i%26, 'a'+i/26), Groups: []string{"a group, with commas"},
			Parameters: []byte(fmt.Sprintf(`{"type":"dict","properties":{"subject%c%c":{}}}`, 'a'+(i+1)%n%26, 'a'+(i+1)%n/26)),
		}})
		for _, ask := range []string{"what is it with subject%c%c", "subject%c%c please"} {
			s.Queries = append(s.Queries, eval.Query{ID: fmt.Sprint(i, ask), Text: fmt.Sprintf(ask, 'a'+i%26, 'a'+i/26), Relevant: []string{fmt.Sprint(i)}})
		}
	}
	return s
}

func TestRunFindsBetterWeights(t *testing.T) {
	c, questions, err := set(100).Catalog()
	if err != nil {
		t.Fatal(err)
	}
	bad := rank.DefaultWeights()
	bad.Description, bad.Parameter = 0.2, 3
	told := 0
	r, err := tune.Run(t.Context(), c, questions, tune.Config[rank.Weights]{Start: bad, Progress: func(tune.Progress) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Better {
		t.Error("r.Better is false")
	}
	if r.After.NDCG < 0.99 {
		t.Errorf("r.After.NDCG = %v, want at least 0.99", r.After.NDCG)
	}
	if r.Before.NDCG > 0.7 {
		t.Errorf("r.Before.NDCG = %v, want at most 0.7", r.Before.NDCG)
	}
	if r.HeldOut < tune.MinHeldOut {
		t.Errorf("r.HeldOut = %v, want at least %v", r.HeldOut, tune.MinHeldOut)
	}
	if r.Fitted+r.HeldOut != 200 {
		t.Errorf("r.Fitted+r.HeldOut = %v, want 200", r.Fitted+r.HeldOut)
	}
	if told == 0 {
		t.Errorf("told = %v, want another than 0", told)
	}
	if r.Weights.Votes != bad.Votes {
		t.Errorf("r.Weights.Votes = %v, want %v", r.Weights.Votes, bad.Votes)
	}
	if r.Weights.Body != bad.Body {
		t.Errorf("r.Weights.Body = %v, want %v", r.Weights.Body, bad.Body)
	}
	again, err := tune.Run(t.Context(), c, questions, tune.Config[rank.Weights]{Start: r.Weights})
	if err != nil {
		t.Fatal(err)
	}
	if again.Better {
		t.Error("again.Better")
	}
	if again.Weights != r.Weights {
		t.Errorf("again.Weights = %v, want %v", again.Weights, r.Weights)
	}
}

// Votes get more weight when past questions say more than the words.
func TestRunLearnsToVote(t *testing.T) {
	c, _, err := set(20).Catalog()
	if err != nil {
		t.Fatal(err)
	}
	var questions []rank.PastQuestion
	for i := range 200 {
		e := c.At(i % 20)
		questions = append(questions, rank.PastQuestion{User: "alice", Question: fmt.Sprintf("slang%c talk%c, subjectaa no%c%c", 'a'+i%20, 'a'+i%20, 'a'+i/26, 'a'+i%26), Tools: []string{e.Definition.Name, "gone"}})
	}
	little := rank.DefaultWeights()
	little.Votes = 0.1
	r, err := tune.Run(t.Context(), c, questions, tune.Config[rank.Weights]{Start: little, Votes: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Better {
		t.Error("r.Better is false")
	}
	if r.Weights.Votes <= little.Votes {
		t.Errorf("r.Weights.Votes = %v, want more than %v", r.Weights.Votes, little.Votes)
	}
}

func TestRunNeedsQuestions(t *testing.T) {
	c, questions, err := set(50).Catalog()
	if err != nil {
		t.Fatal(err)
	}
	var few *tune.TooFewError
	if _, err = tune.Run(t.Context(), c, questions, tune.Config[rank.Weights]{}); !errors.As(err, &few) || few.Have != 100 || few.Need != 150 {
		t.Errorf("100 questions: %v", err)
	}
}

// past are turns of conversations that stay with the tool that they began with, on a
// channel for which it is not made.
func past(conversations int) (turns []usage.Turn) {
	began := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for i := range conversations {
		for j := range 4 {
			turns = append(turns, usage.Turn{
				Time: began.Add(time.Duration(i)*time.Hour + time.Duration(j)*time.Minute), Agent: "main", Session: fmt.Sprint("s", i),
				Channel: []string{"slack", "mail"}[(i+1)%2], Text: fmt.Sprintf("show records %c%c%c", 'a'+i%26, 'a'+i/26, 'a'+j), Tools: []string{fmt.Sprint("show_", i%8)},
			})
		}
	}
	return turns
}

func recommended(t *testing.T) *catalog.Catalog {
	t.Helper()
	s := &eval.Set{}
	for i := range 8 {
		s.Tools = append(s.Tools, eval.Tool{ID: fmt.Sprint(i), Definition: tool.Definition{
			Name: fmt.Sprint("show_", i), Description: "Shows records", Channels: [][]string{{"slack", "mail"}, nil}[i%2],
		}})
	}
	c, _, err := s.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRecommendFindsBetterWeights(t *testing.T) {
	c, turns := recommended(t), past(60)
	r, err := tune.Recommend(t.Context(), c, turns, rank.DefaultWeights(), tune.Config[tune.Recommender]{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Better {
		t.Errorf("the weights %+v are not better: gain %.3f ± %.3f", r.Weights, r.Gain, r.Noise)
	}
	if r.Start != tune.DefaultRecommender() {
		t.Errorf("began with %+v", r.Start)
	}
	if r.Weights.Channel >= r.Start.Channel {
		t.Errorf("the misleading channel has the weight %v, want less than %v", r.Weights.Channel, r.Start.Channel)
	}
	if err := r.Weights.Check(); err != nil {
		t.Error(err)
	}
	if r.After.Recall < 0.7 {
		t.Errorf("recall is %.2f, want 0.7: three of four turns follow another", r.After.Recall)
	}
	again, err := tune.Recommend(t.Context(), c, turns, rank.DefaultWeights(), tune.Config[tune.Recommender]{Start: r.Weights})
	if err != nil {
		t.Fatal(err)
	}
	if again.Better {
		t.Errorf("the same turns improve %+v again, to %+v", r.Weights, again.Weights)
	}
}

// Turns that are older than the record of conversations teach nothing, and few turns too
// little.
func TestRecommendNeedsConversations(t *testing.T) {
	turns := past(60)
	for i := range turns[:100] {
		turns[i].Session = ""
	}
	var few *tune.TooFewError
	if _, err := tune.Recommend(t.Context(), recommended(t), turns, rank.DefaultWeights(), tune.Config[tune.Recommender]{}); !errors.As(err, &few) || few.Have != 140 {
		t.Errorf("140 turns with a conversation: %v", err)
	}
}
