package tune_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/etui-run/etui/internal/eval"
	"github.com/etui-run/etui/internal/tune"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
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
	c, questions, err := tune.FromSet(set(100))
	if err != nil {
		t.Fatal(err)
	}
	bad := rank.DefaultWeights()
	bad.Description, bad.Parameter = 0.5, 3
	told := 0
	r, err := tune.Run(t.Context(), c, questions, tune.Config{Start: bad, Progress: func(tune.Progress) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Better || r.After.NDCG < 0.99 || r.Before.NDCG > 0.7 || r.HeldOut < tune.MinHeldOut || r.Fitted+r.HeldOut != 200 || told == 0 {
		t.Errorf("report %+v, told %d times", r, told)
	}
	if r.Weights.Votes != bad.Votes || r.Weights.Body != bad.Body {
		t.Errorf("what changes nothing was changed: %+v", r.Weights)
	}
	again, err := tune.Run(t.Context(), c, questions, tune.Config{Start: r.Weights})
	if err != nil || again.Better || again.Weights != r.Weights {
		t.Errorf("nothing is left to gain, but: %+v, %v", again, err)
	}
}

// Votes get more weight when past questions say more than the words.
func TestRunLearnsToVote(t *testing.T) {
	c, _, err := tune.FromSet(set(20))
	if err != nil {
		t.Fatal(err)
	}
	var questions []rank.Asked
	for i := range 200 {
		e := c.At(i % 20)
		questions = append(questions, rank.Asked{User: "alice", Question: fmt.Sprintf("slang%c talk%c, subjectaa no%c%c", 'a'+i%20, 'a'+i%20, 'a'+i/26, 'a'+i%26), Tools: []string{e.Definition.Name, "gone"}})
	}
	little := rank.DefaultWeights()
	little.Votes = 0.1
	r, err := tune.Run(t.Context(), c, questions, tune.Config{Start: little, Votes: true})
	if err != nil || !r.Better || r.Weights.Votes <= little.Votes {
		t.Errorf("report %+v, %v", r, err)
	}
}

func TestRunNeedsQuestions(t *testing.T) {
	c, questions, err := tune.FromSet(set(50))
	if err != nil {
		t.Fatal(err)
	}
	var few *tune.TooFewError
	if _, err = tune.Run(t.Context(), c, questions, tune.Config{}); !errors.As(err, &few) || few.Have != 100 || few.Need != 150 {
		t.Errorf("100 questions: %v", err)
	}
}
