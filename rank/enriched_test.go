package rank_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

func enriched(name string, aliases, examples []string) map[string]tool.Texts {
	return map[string]tool.Texts{name: {Aliases: aliases, Examples: examples}}
}

// best returns the name of the definition that fits a question best, if one does.
func best(x *rank.Index, tools []*tool.Definition, question string) string {
	r := x.Rank(rank.Query{Text: question})
	for _, hit := range r.Hits(1) {
		return tools[hit.Position].Name
	}
	return ""
}

// Texts that somebody else wrote about a definition find it, and explanations say so.
func TestEnriched(t *testing.T) {
	t.Parallel()
	x := rank.NewIndexer(rank.Weights{}).Index(office, enriched("request_leave", []string{"sabbath", "time out"}, []string{"I'm knackered, can I stay home tomorrow?"}))
	for question, field := range map[string]string{"sabbath please": "alias (enriched)", "I am knackered": "example (enriched)"} {
		if got := best(rank.New(office, rank.Weights{}), office, question); got != "" {
			t.Errorf("%q finds %q without texts", question, got)
		}
		r := x.Rank(rank.Query{Text: question})
		hits := r.Hits(1)
		if len(hits) == 0 || office[hits[0].Position].Name != "request_leave" {
			t.Fatalf("%q: %v", question, hits)
		}
		terms, _ := r.Explain(hits[0].Position)
		x.Fields(office[hits[0].Position], terms)
		if terms[0].Fields[field] == 0 {
			t.Errorf("%q: %+v, want a share of %q", question, terms, field)
		}
	}
}

// An alias that many definitions claim, or that is the name of one from another source,
// has no weight.
func TestEnrichedIsBounded(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "get_invoice", Description: "Bill a customer", Source: "finance"},
		{Name: "buy", Description: "Shop", Source: "greedy"}, {Name: "sell", Description: "Trade", Source: "greedy"},
		{Name: "lend", Description: "Credit", Source: "greedy"}, {Name: "rob", Description: "Steal", Source: "greedy"},
	}
	names := []string{"get_invoice", "buy", "sell", "lend", "rob"}
	claim := func(alias string, of ...string) map[string]tool.Texts {
		texts := map[string]tool.Texts{}
		for _, name := range of {
			texts[name] = tool.Texts{Aliases: []string{alias}}
		}
		return texts
	}
	index := func(texts map[string]tool.Texts) *rank.Index {
		return rank.NewIndexer(rank.Weights{}).Index(tools, texts)
	}
	if got := best(index(claim("payday", names[1:4]...)), tools, "payday"); got != "buy" {
		t.Errorf("an alias of three finds %q", got)
	}
	if got := best(index(claim("payday", names[1:]...)), tools, "payday"); got != "" {
		t.Errorf("an alias of four finds %q", got)
	}
	if got := best(index(enriched("buy", []string{"payday", "Payday", "pay-day", "PAY DAY"}, nil)), tools, "payday"); got != "buy" {
		t.Errorf("an alias of one that writes it four times finds %q", got)
	}
	score := func(texts map[string]tool.Texts) float32 {
		r := index(texts).Rank(rank.Query{Text: "get the invoice"})
		return r.Scores[1]
	}
	if score(claim("Get Invoice", "buy")) > 0 || score(claim("get the invoice now", "buy")) == 0 {
		t.Error("the name of another source's tool must have no weight as an alias, other phrases must")
	}
	long := index(enriched("buy", []string{strings.Repeat("payday ", 100)}, nil))
	if got := best(long, tools, "payday"); got != "" {
		t.Errorf("an endless alias finds %q", got)
	}
}

// The words of examples count less in long questions, which often ask for several tools.
func TestExamplesCountLessInLongQuestions(t *testing.T) {
	t.Parallel()
	x := rank.NewIndexer(rank.Weights{}).Index(office, enriched("send_mail", nil, []string{"knackered"}))
	at := slices.IndexFunc(office, func(d *tool.Definition) bool { return d.Name == "send_mail" })
	score := func(question string) float32 {
		r := x.Rank(rank.Query{Text: question})
		return r.Scores[at]
	}
	short, long := score("knackered"), score("knackered zebras yawn while purple elephants juggle frozen umbrellas near quiet volcanoes")
	if !(0 < long && long < short) {
		t.Errorf("a short question gives %v, a long one %v", short, long)
	}
}

// An indexer that is given other texts ranks like a new one.
func TestIndexerFollowsTexts(t *testing.T) {
	t.Parallel()
	indexer := rank.NewIndexer(rank.Weights{})
	for _, texts := range []map[string]tool.Texts{nil, enriched("send_mail", []string{"ping"}, []string{"tell Bob"}), enriched("send_mail", []string{"pong"}, nil), nil} {
		got, want := indexer.Index(office, texts), rank.NewIndexer(rank.Weights{}).Index(office, texts)
		for _, question := range []string{"ping Bob", "pong", "tell Bob", "mail"} {
			q := rank.Query{Text: question}
			if g, w := got.Rank(q), want.Rank(q); !slices.Equal(g.Scores, w.Scores) {
				t.Errorf("%v, %q: %v, want %v", texts, question, g.Scores, w.Scores)
			}
		}
	}
}
