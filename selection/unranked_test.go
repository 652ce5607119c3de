package selection_test

import (
	"testing"

	"github.com/etui-run/etui/selection"
)

// A panic costs one selection its ranking: pinned tools and the search remain, and the
// next question is ranked.
func TestRankingThatPanics(t *testing.T) {
	c := office(t).Catalog()
	s := selection.New(c, selection.Config{Direct: -1, Limit: 2, Pinned: []string{"get_weather"}})
	vectors := make([][]float32, c.Len()+1) // one more than there are tools
	vectors[c.Len()] = []float32{1}
	broken := s.WithVectors(vectors)
	req := selection.Request{Query: "create an invoice", Vector: []float32{1}}
	sel := broken.Select(req)
	if sel.Unranked() == nil {
		t.Fatal("the ranking did not fail")
	}
	if got := sent(sel); len(sel.Ranked) > 0 || got != "find_tools call_tool get_weather" {
		t.Errorf("sends %s", got)
	}
	sel.Explain()
	req.Vector = nil
	again := broken.Select(req)
	if err := again.Unranked(); err != nil {
		t.Error(err)
	}
	if len(again.Ranked) == 0 || again.Ranked[0].Definition.Name != "createInvoice" {
		t.Errorf("afterwards it finds %s", sent(again))
	}
}
