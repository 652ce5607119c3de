package selection_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
)

// TestUsageVotes for what similar questions led to, and for nothing else.
func TestUsageVotes(t *testing.T) {
	r := office(t)
	must(t, r.RegisterWithFilter(define("raise_salary", "Change what people earn"), func(f chat.Facts) bool { return f.HasRole("hr") }))
	s := selection.New(r.Catalog(), choosing)
	past := rank.NewVotes([]rank.Asked{
		{Question: "is the sun out over there", Tools: []string{"get_weather"}},
		{Question: "my purse should be fuller", Tools: []string{"raise_salary"}},
		{Question: "the grumpy one called again", Tools: []string{"send_mail", "gone_tool"}, User: "alice"},
		{Question: "的", Tools: []string{"send_mail"}},
		{Question: "nothing came of it"},
	})
	if past.Len() != 3 {
		t.Errorf("%d questions vote, want 3", past.Len())
	}
	cases := []struct {
		query string
		facts chat.Facts
		want  string
	}{
		{"sun over there?", chat.Facts{}, "get_weather"},
		{"a fuller purse", chat.Facts{}, ""}, // who may not see a tool learns nothing of it
		{"a fuller purse", chat.Facts{Roles: []string{"hr"}}, "raise_salary"},
		{"the grumpy one called", chat.Facts{User: "bob"}, ""},
		{"the grumpy one called", chat.Facts{User: "alice"}, "send_mail"},
		{"hello there my dear", chat.Facts{}, ""},
	}
	for _, c := range cases {
		req := selection.Request{Query: c.query, Facts: c.facts}
		got := ""
		for _, m := range s.WithVotes(past).Search(req, 3) {
			got += m.Definition.Name
		}
		if got != c.want {
			t.Errorf("%q of %+v finds %q, want %q", c.query, c.facts, got, c.want)
		}
		if found := s.Search(req, 3); len(found) > 0 {
			t.Errorf("%q finds %s without a past", c.query, found[0].Definition.Name)
		}
	}
	for _, v := range s.WithVotes(past).Select(selection.Request{Query: "sun over there"}).Explain().Tools {
		said := slices.ContainsFunc(v.Terms, func(t rank.Term) bool { return t.Word == "(usage)" && t.Score > 0 })
		if said != (v.Tool == "get_weather") {
			t.Errorf("%s: %+v", v.Tool, v.Terms)
		}
	}
	off := rank.DefaultWeights()
	off.Votes = 0
	cfg := choosing
	cfg.Weights = off
	if found := selection.New(r.Catalog(), cfg).WithVotes(past).Search(selection.Request{Query: "sun over there"}, 3); len(found) > 0 {
		t.Error("votes of weight 0 count")
	}
}

// TestUsageIsBounded: what fits by its words stays, whatever was asked before.
func TestUsageIsBounded(t *testing.T) {
	s := selection.New(office(t).Catalog(), choosing)
	var past []rank.Asked
	for i := range 500 {
		past = append(past, rank.Asked{Question: fmt.Sprint("weather pod ", i), Tools: []string{"get_weather"}})
	}
	req := selection.Request{Query: "pod logs"}
	want := s.Search(req, 5)[0]
	if got := s.WithVotes(rank.NewVotes(past)).Search(req, 5)[0]; got.Entry != want.Entry {
		t.Errorf("%s took the place of %s", got.Definition.Name, want.Definition.Name)
	}
}

// TestUsageOfWhatIsSaidAllTheTime: an answer to everything is a vote for nothing.
func TestUsageOfWhatIsSaidAllTheTime(t *testing.T) {
	r := office(t)
	var past []rank.Asked
	for range 5 {
		for e := range r.Catalog().All() {
			past = append(past, rank.Asked{Question: "yep sure", Tools: []string{e.Definition.Name, e.Definition.Name}})
		}
	}
	once, often := rank.NewVotes(past[:1]), rank.NewVotes(past)
	s := selection.New(r.Catalog(), choosing)
	req := selection.Request{Query: "yep sure"}
	if found := s.WithVotes(once).Search(req, 9); len(found) != 1 {
		t.Errorf("said once it finds %d tools", len(found))
	}
	if found := s.WithVotes(often).Search(req, 9); often.Len() != 1 || len(found) != 0 {
		t.Errorf("%d questions vote; said of everything they find %d tools", often.Len(), len(found))
	}
}

func BenchmarkSelectUsage(b *testing.B) {
	s := many(b, 1000, 0)
	var past []rank.Asked
	for i := range 5000 {
		past = append(past, rank.Asked{
			Question: fmt.Sprintf("please approve the overdue thing number %d of customer %d in department %d", i, i%70, i%50),
			Tools:    []string{s.Catalog().At(i % 1000).Definition.Name},
		})
	}
	s = s.WithVotes(rank.NewVotes(past))
	req := selection.Request{Query: "approve the overdue invoice of the customer", Facts: chat.Facts{Channel: "web", Roles: []string{"user"}}}
	b.ReportAllocs()
	for b.Loop() {
		s.Select(req)
	}
}

func BenchmarkNewUsage5000(b *testing.B) {
	var past []rank.Asked
	for i := range 5000 {
		past = append(past, rank.Asked{Question: fmt.Sprintf("please approve the overdue thing number %d of customer %d in department %d", i, i%70, i%50), Tools: []string{"approve"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		rank.NewVotes(past)
	}
}
