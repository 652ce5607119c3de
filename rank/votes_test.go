package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// usable finds the tools of the office, without some.
func usable(without ...string) rank.Find {
	return func(name, version string) (int, bool) {
		i := slices.IndexFunc(office, func(d *tool.Definition) bool { return d.Name == name })
		return i, i >= 0 && !slices.Contains(without, name) && (version == "" || version == "new")
	}
}

// Votes speak for what similar questions led to, and for nothing else.
func TestVotes(t *testing.T) {
	t.Parallel()
	past := rank.NewVotes([]rank.PastQuestion{
		{Question: "is the sun out over there", Tools: []string{"get_weather"}},
		{Question: "my purse should be fuller", Tools: []string{"createInvoice"}},
		{Question: "the grumpy one called again", Tools: []string{"send_mail", "gone_tool"}, User: "alice", Own: true},
		{Question: "的", Tools: []string{"send_mail"}},
		{Question: "nothing came of it"},
	})
	if past.Len() != 3 {
		t.Errorf("%d questions vote, want 3", past.Len())
	}
	for _, c := range []struct {
		question, user string
		find           rank.Find
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
	past := slices.Repeat([]rank.PastQuestion{{Question: "pod logs", Tools: []string{"get_weather"}}}, 500)
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
	var past []rank.PastQuestion
	for range 5 {
		for _, d := range office {
			past = append(past, rank.PastQuestion{Question: "yep sure", Tools: []string{d.Name, d.Name}})
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
	var past []rank.PastQuestion
	for i := range 5000 {
		past = append(past, rank.PastQuestion{Question: fmt.Sprintf("please approve the overdue thing number %d of customer %d in department %d", i, i%70, i%50), Tools: []string{"approve"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		rank.NewVotes(past)
	}
}

// However much one user asks, another user gets little of it: at most MaxOther of what
// votes can add, for a tool that only this user wants, and what several others or the
// user themself asked counts nearly as before.
func TestOneUserCannotSteerAnother(t *testing.T) {
	t.Parallel()
	share := func(v *rank.Votes, user, tool string) (share float32) {
		i, _ := usable()(tool, "")
		for _, vote := range v.Cast("the sun over there", user, usable()) {
			if vote.Position == i {
				share = vote.Share
			}
		}
		return share
	}
	honest := []rank.PastQuestion{
		{User: "bob", Question: "is the sun over there", Tools: []string{"get_weather"}},
		{User: "carol", Question: "how is the sun over there", Tools: []string{"get_weather"}},
		{User: "dave", Question: "the sun over there?", Tools: []string{"get_weather"}},
		{User: "erin", Question: "the grumpy one called", Tools: []string{"send_mail"}},
	}
	var flood []rank.PastQuestion
	for i := range 1000 {
		flood = append(flood, rank.PastQuestion{User: "mallory", Question: fmt.Sprint("the sun over there", strings.Repeat(" sun", i%3), " word", i), Tools: []string{"createInvoice"}},
			rank.PastQuestion{User: "mallory", Question: "the sun over there", Tools: []string{"createInvoice"}})
	}
	before, after, alone := rank.NewVotes(honest), rank.NewVotes(append(flood, honest...)), rank.NewVotes(flood)
	for _, user := range []string{"bob", "erin", ""} {
		if got := share(alone, user, "createInvoice"); got == 0 || got > rank.MaxOther+1e-6 {
			t.Errorf("mallory alone gives %q a share of %.2f, want at most %.2f", user, got, rank.MaxOther)
		}
		right, wrong, was := share(after, user, "get_weather"), share(after, user, "createInvoice"), share(before, user, "get_weather")
		if right <= wrong || right < was-0.25 {
			t.Errorf("%q: what others asked has %.2f, was %.2f; what mallory asked %.2f", user, right, was, wrong)
		}
	}
	if got := share(after, "mallory", "createInvoice"); got < 0.3 {
		t.Errorf("mallory's own questions have a share of %.2f", got)
	}
}

// A vote for a tool that has changed is forgotten.
func TestVotesForgetChangedTools(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"new": 1, "old": 0, "": 1} {
		v := rank.NewVotes([]rank.PastQuestion{{Question: "sun over there", Tools: []string{"get_weather"}, Versions: map[string]string{"get_weather": version}}})
		if got := v.Cast("sun over there", "", usable()); len(got) != want {
			t.Errorf("version %q: %d votes, want %d", version, len(got), want)
		}
	}
}

// An explanation says which questions voted.
func TestVotesSayWhy(t *testing.T) {
	t.Parallel()
	votes := rank.NewVotes([]rank.PastQuestion{
		{User: "alice", Question: "is the sun out over there", Tools: []string{"get_weather"}, Corrected: true},
		{User: "bob", Question: "sun over there", Tools: []string{"get_weather"}, Search: true},
	}).Cast("sun over there", "alice", usable())
	r := rank.New(office, rank.Weights{}).Rank(rank.Query{Text: "sun over there", Votes: votes})
	terms, _ := r.Explain(votes[0].Position)
	if want := "1 by the user, 1 by others, 1 searched for, 1 corrected"; !slices.ContainsFunc(terms, func(x rank.Term) bool { return x.Why == want }) {
		t.Errorf("%+v, want %q", terms, want)
	}
}
