package selection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// Explanation says what a selection did and why. It is for operators: it names
// tools that the caller may not see.
type Explanation struct {
	Query string     `json:"query"`
	Facts chat.Facts `json:"facts"`
	// Mode is how the selection reaches the model, and Why says why it is this
	// one.
	Mode Mode   `json:"mode"`
	Why  string `json:"why"`
	// Funnel tells how many tools were left after each stage.
	Funnel []Step `json:"funnel"`
	Tokens Tokens `json:"tokens"`
	// Declared and Announced name what reaches the model, in order.
	Declared  []string `json:"declared"`
	Announced []string `json:"announced,omitempty"`
	// Deferred is how many more the provider is sent, but not the model.
	Deferred int `json:"deferred,omitempty"`
	// Tools holds a verdict for every tool: first those that are sent, then the
	// others by score, then by position in the catalog.
	Tools []Verdict `json:"tools"`
	// Skills holds a verdict for every skill.
	Skills []SkillVerdict `json:"skills,omitempty"`
	// Preferred names what was put first by name, and Advice who preferred it, or
	// why nobody did.
	Preferred []string `json:"preferred,omitempty"`
	Advice    string   `json:"advice,omitempty"`
	// Alternatives tell what other callers and skills would get. They are there
	// when they were asked for, see [Selection.Alternatives].
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// Step is a stage of the funnel.
type Step struct {
	Stage string `json:"stage"`
	// Left is how many tools were left after the stage.
	Left int `json:"left"`
	// Dropped is how many the stage dropped.
	Dropped int `json:"dropped"`
}

// Tokens counts what definitions cost in a request, as estimated by
// [chat.Tokens].
type Tokens struct {
	// Usable is what it would cost to send every tool that the caller may use.
	Usable int `json:"usable"`
	// Sent is what stands in the request, with the tools for searching.
	Sent int `json:"sent"`
	// Saved is the difference, SavedPercent its share of Usable; both are 0 when
	// nothing is saved.
	Saved        int     `json:"saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Budget is what the definitions might have cost at most.
	Budget int `json:"budget"`
}

// Verdict says what became of one tool, and why.
type Verdict struct {
	Tool   string   `json:"tool"`
	Source string   `json:"source,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Stage is the one that dropped the tool, or Sent.
	Stage  Stage  `json:"stage"`
	Sent   bool   `json:"sent"`
	Reason string `json:"reason"`
	// Score is the tool's score for the question, 0 when no word matches, and
	// Rank its place among the tools that may be used, from 1; 0 when it has none.
	Score  float64 `json:"score"`
	Rank   int     `json:"rank,omitempty"`
	Tokens int     `json:"tokens"`
	// Terms are the words that matched, the strongest first. The term "(usage)" is
	// what similar questions of the past add, "(context)", the last, what the tool
	// gains from others of its group and as the answer to a sentence of the question.
	Terms []Term `json:"terms,omitempty"`
	// Meaning is the part of the score that comes from comparing vectors.
	Meaning float64 `json:"meaning,omitempty"`
	// Recommendation is how the recommender scored the tool; nil when it did not.
	Recommendation *Recommendation `json:"recommendation,omitempty"`
}

// Term is what one word of the question adds to a tool's score.
type Term struct {
	Word string `json:"word"`
	// From is the word of the question that brought it in as a translation or as
	// one of like meaning; empty when the question has it itself.
	From  string  `json:"from,omitempty"`
	Score float64 `json:"score"`
	// Fields tell how much of Score comes from where the word stands: name,
	// alias, description, translation, parameter, parameter_text, group, example,
	// body. Only the first [MaxParts] tools of an explanation have them.
	Fields map[string]float64 `json:"fields,omitempty"`
}

// MaxParts is for how many tools an explanation tells the fields of its terms:
// their texts are read again for it.
const MaxParts = 64

// Explain says what was done and why, for every tool.
func (sel *Selection) Explain() Explanation {
	x := Explanation{
		Query: sel.Request.Query, Facts: sel.Request.Facts, Mode: sel.Mode, Why: sel.Why, Deferred: len(sel.Deferred),
		Funnel: sel.funnel(), Tokens: sel.Tokens(),
		Declared: names(sel.Declared), Announced: names(sel.Announced),
		Tools: make([]Verdict, 0, len(sel.stages)), Skills: sel.Skills(),
		Preferred: sel.Request.Preferred, Advice: sel.Request.Advice,
	}
	because := reasons{Selection: sel, admission: sel.admission(), ranks: sel.ranks(), least: round(sel.noise(sel.best()))}
	for e := range sel.selector.catalog.All() {
		x.Tools = append(x.Tools, because.verdict(e))
	}
	slices.SortStableFunc(x.Tools, func(a, b Verdict) int {
		return cmp.Or(compareBools(b.Sent, a.Sent), cmp.Compare(sel.place(a), sel.place(b)), cmp.Compare(b.Score, a.Score), cmp.Compare(a.Rank, b.Rank))
	})
	for i := range x.Tools[:min(len(x.Tools), MaxParts)] {
		if v := &x.Tools[i]; len(v.Terms) > 0 {
			e, _ := sel.selector.catalog.Get(v.Tool)
			sel.selector.index.parts(e, v.Terms)
		}
	}
	return x
}

// place is where the recommender put a tool; the same for all when it was not
// asked.
func (sel *Selection) place(v Verdict) int {
	switch {
	case sel.advice == nil:
		return 0
	case v.Rank == 0:
		return len(sel.stages) + 1
	}
	return v.Rank
}

// contextTerm is how that part of a score is named which no word has alone.
const contextTerm = "(context)"

// fieldNames say where a word stands.
var fieldNames = [fields]string{
	fieldName: "name", fieldAlias: "alias", fieldDescription: "description", fieldTranslation: "translation", fieldParameter: "parameter",
	fieldParameterText: "parameter_text", fieldGroup: "group", fieldExample: "example", fieldBody: "body",
}

// parts divides the scores of a tool's terms among its fields. The index has
// added them up, so the tool is read again.
func (x *Index) parts(e *catalog.Entry, terms []Term) {
	v := newVocabulary()
	doc := v.read(textsOf(&e.Definition))
	norms := x.norms(x.lengths(doc))
	for i := range terms {
		t := &terms[i]
		number, ok := v.terms[t.Word]
		if !ok {
			number, ok = v.glossed[t.Word]
		}
		if !ok {
			continue
		}
		count := x.counts(doc, slices.Index(doc.terms, number))
		all := frequency(&count, &norms, x.weight)
		t.Fields = map[string]float64{}
		for f, n := range count {
			if n > 0 {
				var only [fields]uint8
				only[f] = n
				t.Fields[fieldNames[f]] = round(float32(t.Score * frequency(&only, &norms, x.weight) / all))
			}
		}
	}
}

// matching returns the terms of a question that a document has, with what they
// add to its score, each and together.
func (x *Index) matching(query []queryTerm, doc int) (terms []Term, sum float32) {
	for _, q := range query {
		if score := x.impact(q.term, doc) * q.weight; score > 0 {
			terms = append(terms, Term{Word: x.names[q.term], From: q.from, Score: round(score)})
			sum += score
		}
	}
	slices.SortStableFunc(terms, func(a, b Term) int { return cmp.Compare(b.Score, a.Score) })
	return terms, sum
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Tokens counts what the selection costs and saves.
func (sel *Selection) Tokens() Tokens {
	t := Tokens{Budget: sel.budget, Usable: sel.usableTokens}
	for _, e := range sel.Declared {
		t.Sent += e.Tokens
	}
	for _, e := range sel.Announced {
		t.Sent += e.Tokens
	}
	if t.Saved = t.Usable - t.Sent; t.Saved > 0 {
		t.SavedPercent = 100 * float64(t.Saved) / float64(t.Usable)
	} else {
		t.Saved = 0
	}
	return t
}

// Stage tells what became of a tool of the catalog.
func (sel *Selection) Stage(e *catalog.Entry) Stage { return sel.stages[e.Position()] }

// Failed returns the errors of filters that panicked and of rules that failed.
// What they guard is hidden.
func (sel *Selection) Failed() []error {
	return append(slices.Collect(maps.Values(sel.failed)), sel.failedRules...)
}

// Catalog returns the catalog that was selected from.
func (sel *Selection) Catalog() *catalog.Catalog { return sel.selector.catalog }

// dropped counts the tools of each stage, by its number.
func (sel *Selection) dropped() []int {
	dropped := make([]int, len(Stages()))
	for _, stage := range sel.stages {
		dropped[stage]++
	}
	return dropped
}

func (sel *Selection) funnel() []Step {
	dropped := sel.dropped()
	left := len(sel.stages)
	steps := []Step{{Stage: "catalog", Left: left}}
	for _, stage := range Stages() {
		if stage != Sent {
			left -= dropped[stage]
			steps = append(steps, Step{stage.String(), left, dropped[stage]})
		}
	}
	return steps
}

// ranks gives each matching tool that may be used its place, by position.
func (sel *Selection) ranks() map[int]int {
	var matching []Match
	for i, score := range sel.scores {
		if (score > 0 || sel.advice[i] != nil) && sel.stages[i].Usable() {
			matching = append(matching, Match{sel.selector.catalog.At(i), score})
		}
	}
	slices.SortFunc(matching, compareMatches)
	slices.SortStableFunc(matching, sel.compareAdvised)
	ranks := make(map[int]int, len(matching))
	for i, m := range matching {
		ranks[m.Position()] = i + 1
	}
	return ranks
}

// reasons finds the words for what a selection did.
type reasons struct {
	*Selection
	admission admission
	ranks     map[int]int
	least     float64 // the score below which a tool is noise
}

func (sel *reasons) verdict(e *catalog.Entry) Verdict {
	i := e.Position()
	v := Verdict{
		Tool: e.Definition.Name, Source: e.Definition.Source, Groups: e.Definition.Groups,
		Stage: sel.stages[i], Sent: sel.stages[i] == Sent,
		Score: round(sel.scores[i]), Rank: sel.ranks[i], Tokens: e.Tokens,
	}
	words, said := sel.selector.index.matching(sel.query, i)
	v.Terms = words
	rest := sel.scores[i] - said
	for _, vote := range sel.votes {
		if vote.entry == e {
			v.Terms = append(v.Terms, Term{Word: usageTerm, Score: round(vote.share)})
			rest -= vote.share
		}
	}
	if sel.meanings != nil {
		v.Meaning = round(sel.meanings[i])
		rest -= sel.meanings[i]
	}
	slices.SortStableFunc(v.Terms, func(a, b Term) int { return cmp.Compare(b.Score, a.Score) })
	if round(rest) > 0 {
		v.Terms = append(v.Terms, Term{Word: contextTerm, Score: round(rest)})
	}
	if a := sel.advice[i]; a != nil {
		v.Recommendation = a.rounded()
	}
	v.Reason = sel.reason(e, v)
	return v
}

func (sel *reasons) reason(e *catalog.Entry, v Verdict) string {
	s, i := sel.selector, e.Position()
	switch v.Stage {
	case Enabled:
		if Meta(v.Tool) {
			return "its name is reserved"
		}
		return "switched off in the configuration"
	case Groups:
		return fmt.Sprintf("in none of the groups %q", sel.Request.Groups)
	case Visibility:
		if err := sel.failed[e.Filter()]; err != nil {
			return err.Error()
		}
		if denied, _ := s.catalog.Denied(&sel.Request.Facts); set(denied).has(i) {
			return s.catalog.WhyDenied(&sel.Request.Facts, e)
		}
		return "its filter hides it from this caller"
	case Toolset:
		if !sel.admission.known {
			return fmt.Sprintf("there is no skill %q", sel.Request.Facts.Skill)
		}
		return fmt.Sprintf("not part of the active skill %q", sel.Request.Facts.Skill)
	case Requested:
		if sel.admission.exclude.has(i) {
			return "excluded by the request"
		}
		return "not among the tools that the request includes"
	case Rank:
		switch {
		case v.Rank == 0:
			return "no word of the question matches"
		case v.Recommendation != nil:
			return fmt.Sprintf("rank %d, %s; others fit better, %d are sent", v.Rank, recommended(v.Recommendation), sel.limit)
		case v.Score < round(s.index.least()):
			return fmt.Sprintf("rank %d: too little of the question matches", v.Rank)
		case v.Score < sel.least:
			return fmt.Sprintf("rank %d: too far below the best", v.Rank)
		}
		return fmt.Sprintf("rank %d: others fit better, %d are sent", v.Rank, sel.limit)
	case Budget:
		return fmt.Sprintf("rank %d: its %d tokens do not fit what was left of %d", v.Rank, v.Tokens, sel.budget)
	}
	switch {
	case sel.Mode == Direct:
		return "all are sent: " + sel.Why
	case s.pinned.has(i):
		return "pinned"
	case slices.Contains(sel.Request.Declared, v.Tool):
		return "declared since the session began"
	case slices.Contains(sel.Request.Announced, v.Tool):
		return "announced by an earlier message"
	}
	if v.Recommendation != nil {
		return fmt.Sprintf("rank %d, %s", v.Rank, recommended(v.Recommendation))
	}
	return fmt.Sprintf("rank %d", v.Rank)
}

func (sel *Selection) best() float32 {
	best := float32(0)
	for i, score := range sel.scores {
		if sel.stages[i].Usable() {
			best = max(best, score)
		}
	}
	return best
}

func names(entries []*catalog.Entry) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Definition.Name
	}
	return list
}

// round keeps two decimals, which is all that a person reads.
func round(score float32) float64 { return float64(int(score*100+0.5)) / 100 }
