package selection_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// deals are tools whose descriptions hold polite words.
var deals = []*tool.Definition{
	{Name: "good_deals", Description: "Find good and great hotel deals."},
	{Name: "thank_customer", Description: "Send a customer a thank you, 谢谢 included.", Translations: map[string]string{"zh": "向客户说谢谢"}},
	{Name: "get_weather", Description: "Tell the weather of a city."},
}

// A question that only says something polite returns early and must leave
// nothing behind for the next one.
func TestPoliteQuestionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	index := selection.NewIndex(deals, selection.DefaultWeights())
	want := selection.NewIndex(deals, selection.DefaultWeights()).Rank(selection.Query{Text: "great hotel deals"}, 3)
	for _, polite := range []string{"great", "谢谢", "thanks", "good", "thank you"} {
		index.Rank(selection.Query{Text: polite}, 3)
		if got := index.Rank(selection.Query{Text: "great hotel deals"}, 3); !reflect.DeepEqual(got, want) {
			t.Errorf("after %q: %v, want %v", polite, got, want)
		}
	}
}

// Every question gets the answer that it gets from an index that nobody has asked
// before, whatever was asked in between and by how many at once.
func TestQuestionsAreIndependent(t *testing.T) {
	t.Parallel()
	index := selection.NewIndex(deals, selection.DefaultWeights())
	words := []string{"great", "good", "谢谢", "hotel", "deals", "weather", "天气", "thank", "please", "city", "custmer", "ok"}
	for worker := range 4 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for i := range len(words) * len(words) {
				i += worker * 7
				q := selection.Query{Text: words[i%len(words)] + " " + words[i/len(words)%len(words)] + ". " + words[i*5%len(words)]}
				if i%3 == 0 {
					q.Text = words[i%len(words)]
				}
				got, want := index.Rank(q, 3), selection.NewIndex(deals, selection.DefaultWeights()).Rank(q, 3)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%q: %v, want %v", q.Text, got, want)
				}
			}
		})
	}
}
