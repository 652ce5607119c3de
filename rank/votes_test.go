package rank_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// usable finds the tools of the office, without some.
func usable(without ...string) func(string) (int, bool) {
	return func(name string) (int, bool) {
		i := slices.IndexFunc(office, func(d *tool.Definition) bool { return d.Name == name })
		return i, i >= 0 && !slices.Contains(without, name)
	}
}

// Votes speak for what similar questions led to, and for nothing else.
func TestVotes(t *testing.T) {
	t.Parallel()
	past := rank.NewVotes([]rank.Asked{
		{Question: "is the sun out over there", Tools: []string{"get_weather"}},
		{Question: "my purse should be fuller", Tools: []string{"createInvoice"}},
		{Question: "the grumpy one called again", Tools: []string{"send_mail", "gone_tool"}, User: "alice"},
		{Question: "的", Tools: []string{"send_mail"}},
		{Question: "nothing came of it"},
	})
	if past.Len() != 3 {
		t.Errorf("%d questions vote, want 3", past.Len())
	}
	for _, c := range []struct {
		question, user string
		find           func(string) (int, bool)
		want           []string
	}{
		{"sun over there?", "", usable(), []string{"get_weather"}},
		{"a fuller purse", "", usable("createInvoice"), nil}, // reveals nothing about tools that the user may not use
		{"a fuller purse", "", usable(), []string{"createInvoice"}},
		{"the grumpy one called", "bob", usable(), nil},
		{"the grumpy one called", "alice", usable(), []string{"send_mail"}},
		{"hello there my dear", "", usable(), nil},
	} {
		votes := past.Cast(c.question, c.user, c.find)
		if got := found(office, rank.Query{Text: c.question, Votes: votes}, 1); !slices.Equal(got, c.want) {
			t.Errorf("%q of %q finds %q, want %q", c.question, c.user, got, c.want)
		}
	}
	q := rank.Query{Text: "sun over there", Votes: past.Cast("sun over there", "", usable())}
	r := rank.New(office, rank.Weights{}).Rank(q)
	for i, d := range office {
		terms, _ := r.Explain(i)
		voted := slices.ContainsFunc(terms, func(t rank.Term) bool { return t.Word == "(usage)" && t.Score > 0 })
		if voted != (d.Name == "get_weather") {
			t.Errorf("%s: %+v", d.Name, terms)
		}
	}
	off := rank.DefaultWeights()
	off.Votes = 0
	r = rank.New(office, off).Rank(q)
	if len(r.Hits(3)) > 0 {
		t.Error("votes of weight 0 count")
	}
}

// What fits by its words stays first, whatever was asked before.
func TestVotesAreBounded(t *testing.T) {
	t.Parallel()
	past := slices.Repeat([]rank.Asked{{Question: "pod logs", Tools: []string{"get_weather"}}}, 500)
	q := rank.Query{Text: "pod logs"}
	want := found(office, q, 1)
	q.Votes = rank.NewVotes(past).Cast(q.Text, "", usable())
	if got := found(office, q, 1); len(q.Votes) == 0 || !slices.Equal(got, want) {
		t.Errorf("%d votes put %s before %s", len(q.Votes), got, want)
	}
}

// A question that led everywhere speaks for nothing.
func TestVotesOfWhatIsAlwaysSaid(t *testing.T) {
	t.Parallel()
	var past []rank.Asked
	for range 5 {
		for _, d := range office {
			past = append(past, rank.Asked{Question: "yep sure", Tools: []string{d.Name, d.Name}})
		}
	}
	finds := func(v *rank.Votes) int {
		return len(found(office, rank.Query{Text: "yep sure", Votes: v.Cast("yep sure", "", usable())}, 9))
	}
	if n := finds(rank.NewVotes(past[:1])); n != 1 {
		t.Errorf("said once it finds %d tools", n)
	}
	if often := rank.NewVotes(past); often.Len() != 1 || finds(often) != 0 {
		t.Errorf("%d questions vote; said of everything they find %d tools", often.Len(), finds(often))
	}
}

func BenchmarkNewVotes5000(b *testing.B) {
	var past []rank.Asked
	for i := range 5000 {
		past = append(past, rank.Asked{Question: fmt.Sprintf("please approve the overdue thing number %d of customer %d in department %d", i, i%70, i%50), Tools: []string{"approve"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		rank.NewVotes(past)
	}
}
