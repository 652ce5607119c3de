package rank_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// FuzzRank: an index that was asked before scores as a fresh one does, for any question,
// history and definition.
func FuzzRank(f *testing.F) {
	f.Add("great", "great hotel deals", "", "Finds good deals")
	f.Add("log in", "预订航班 17 * 23", "which one?", "login 航班")
	f.Add("\xff", "pod\x00logs", "请提供", "+ - * 的")
	f.Fuzz(func(t *testing.T, first, question, said, description string) {
		tools := append(slices.Clone(deals), &tool.Definition{Name: "fuzzed", Description: description, Aliases: []string{first}})
		history := []chat.Message{{Role: chat.User, Text: first}, {Role: chat.Assistant, Text: said, Calls: []chat.Call{{Name: said}}}}
		index := rank.New(tools, rank.Weights{})
		q := rank.Query{Text: question, History: history}
		for _, before := range []rank.Query{{Text: first}, {Text: first, History: history}, q} {
			if r := index.Rank(before); r.Failed != nil {
				t.Fatal(r.Failed)
			}
		}
		fresh := rank.New(tools, rank.Weights{}).Rank(q)
		if got := index.Rank(q); !slices.Equal(got.Scores, fresh.Scores) {
			t.Errorf("%q after %q: %v, want %v", question, first, got.Scores, fresh.Scores)
		}
	})
}
