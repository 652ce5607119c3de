package rank_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// deals are tools whose descriptions hold polite words.
var deals = []*tool.Definition{
	{Name: "good_deals", Description: "Find good and great hotel deals."},
	{Name: "thank_customer", Description: "Send a customer a thank you, 谢谢 included.", Translations: map[string]string{"zh": "向客户说谢谢"}},
	{Name: "get_weather", Description: "Tell the weather of a city."},
}

func hits(x *rank.Index, question string) []rank.Hit {
	r := x.Rank(rank.Query{Text: question})
	return r.Hits(3)
}

// A question that only says something polite returns early and must leave
// nothing behind for the next one.
func TestPoliteQuestionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	index := rank.New(deals, rank.DefaultWeights())
	want := hits(rank.New(deals, rank.DefaultWeights()), "great hotel deals")
	for _, polite := range []string{"great", "谢谢", "thanks", "good", "thank you"} {
		hits(index, polite)
		if got := hits(index, "great hotel deals"); !reflect.DeepEqual(got, want) {
			t.Errorf("after %q: %v, want %v", polite, got, want)
		}
	}
}

// Every question gets the answer that it gets from an index that nobody has asked
// before, whatever was asked in between and by how many at once.
func TestQuestionsAreIndependent(t *testing.T) {
	t.Parallel()
	index := rank.New(deals, rank.DefaultWeights())
	words := []string{"great", "good", "谢谢", "hotel", "deals", "weather", "天气", "thank", "please", "city", "custmer", "ok", "log", "in", "17 * 23", "订酒店", "の", "hotelling"}
	for worker := range 4 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for i := range len(words) * len(words) {
				i += worker * 7
				q := words[i%len(words)] + " " + words[i/len(words)%len(words)] + ". " + words[i*5%len(words)]
				if i%3 == 0 {
					q = words[i%len(words)]
				}
				got, want := hits(index, q), hits(rank.New(deals, rank.DefaultWeights()), q)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%q: %v, want %v", q, got, want)
				}
			}
		})
	}
}
