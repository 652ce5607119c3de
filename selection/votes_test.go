package selection_test

import (
	"fmt"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
)

// Votes count for tools that the caller may use and for no others.
func TestVotes(t *testing.T) {
	r := office(t)
	must(t, r.RegisterWithFilter(define("raise_salary", "Change what people earn"), func(f chat.Facts) bool { return f.HasRole("hr") }))
	s := selection.New(r.Catalog(), choosing)
	voting := s.WithVotes(rank.NewVotes([]rank.PastQuestion{
		{Question: "my purse should be fuller", Tools: []string{"raise_salary"}},
		{Question: "the grumpy one called again", Tools: []string{"send_mail", "gone_tool"}, User: "alice", Own: true},
	}))
	for _, c := range []struct {
		query string
		facts chat.Facts
		want  string
	}{
		{"a fuller purse", chat.Facts{}, ""},
		{"a fuller purse", chat.Facts{Roles: []string{"hr"}}, "raise_salary"},
		{"the grumpy one called", chat.Facts{User: "bob"}, ""},
		{"the grumpy one called", chat.Facts{User: "alice"}, "send_mail"},
	} {
		req := selection.Request{Query: c.query, Facts: c.facts}
		got := ""
		for _, m := range voting.Search(req, 3) {
			got += m.Definition.Name
		}
		if got != c.want {
			t.Errorf("%q of %+v finds %q, want %q", c.query, c.facts, got, c.want)
		}
		if found := s.Search(req, 3); len(found) > 0 {
			t.Errorf("%q finds %s without votes", c.query, found[0].Definition.Name)
		}
	}
}

func BenchmarkSelectVotes(b *testing.B) {
	s := many(b, 1000, 0)
	var past []rank.PastQuestion
	for i := range 5000 {
		past = append(past, rank.PastQuestion{
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
