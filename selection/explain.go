package selection

import (
	"cmp"
	"maps"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// Explanation says what a selection did and why. It is for operators, because it
// names tools that the caller may not see.
type Explanation struct {
	Query string `json:"query"`
	// Request is what was taken as the request of a message with pasted text, see [rank.Divide],
	// of which the rest counts a little, and the Chinese of one in pinyin. It is empty when the
	// message itself was.
	Request string `json:"request,omitempty"`
	// Language is that of a question which the words of the tools do not cover; empty
	// where they do, or where meanings were compared.
	Language string `json:"language,omitempty"`
	// Phase is that of the workflow that runs, as in [Request].
	Phase string     `json:"phase,omitempty"`
	Facts chat.Facts `json:"facts"`
	// Mode is how the selection reaches the model, and Why the reason for it.
	Mode Mode   `json:"mode"`
	Why  string `json:"why"`
	// Funnel has how many tools were left after each stage.
	Funnel []Step `json:"funnel"`
	Tokens Tokens `json:"tokens"`
	Counts Counts `json:"counts"`
	// Declared, Announced and Named name the tools that reach the model, in order.
	Declared  []string `json:"declared"`
	Announced []string `json:"announced,omitempty"`
	Named     []string `json:"named,omitempty"`
	// Deferred is how many more tools reach the provider, but not the model.
	Deferred int `json:"deferred,omitempty"`
	// Tools has a verdict for every tool: first the tools that are sent, then the
	// others by score, then by position in the catalog.
	Tools []Verdict `json:"tools"`
	// Skills has a verdict for every skill.
	Skills []SkillVerdict `json:"skills,omitempty"`
	// Preferred names the tools and skills that were put first by name, and Advice
	// is the reason for them, or for their absence.
	Preferred []string `json:"preferred,omitempty"`
	Advice    string   `json:"advice,omitempty"`
	// Alternatives say what other callers and skills would get, if they were
	// requested, see [Selection.Alternatives].
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

// MaxParts is how many tools of an explanation have [rank.Term.Fields]: their texts
// must be read again for them.
const MaxParts = 64

// Explain says what was done and why, for every tool.
func (sel *Selection) Explain() Explanation {
	x := Explanation{
		Phase: sel.Request.Phase, Query: sel.Request.Query, Request: sel.ranking.Request, Language: uncovered(sel),
		Facts: sel.Request.Facts, Mode: sel.Mode, Why: sel.Why, Deferred: len(sel.Deferred),
		Funnel: sel.stages.funnel(), Tokens: sel.Tokens(), Counts: sel.Counts(),
		Declared: names(sel.Declared), Announced: names(sel.Announced), Named: names(sel.Named),
		Tools: make([]Verdict, 0, len(sel.stages)), Skills: sel.Skills(),
		Preferred: sel.Request.Preferred, Advice: sel.Request.Advice,
	}
	because := newReasons(sel)
	for e := range sel.selector.catalog.All() {
		x.Tools = append(x.Tools, because.verdict(e))
	}
	slices.SortStableFunc(x.Tools, func(a, b Verdict) int {
		return cmp.Or(compareSent(a.Stage, b.Stage), cmp.Compare(because.place(a), because.place(b)),
			cmp.Compare(b.Score, a.Score), cmp.Compare(a.Rank, b.Rank))
	})
	for i := range x.Tools[:min(len(x.Tools), MaxParts)] {
		if v := &x.Tools[i]; len(v.Terms) > 0 {
			e, _ := sel.selector.catalog.Get(v.Tool)
			sel.selector.index.Fields(&e.Definition, v.Terms)
		}
	}
	return x
}

// place is where the recommender put a tool; the same for all tools when nothing
// was recommended.
func (r reasons) place(v Verdict) int {
	switch {
	case r.sel.advice == nil:
		return 0
	case v.Rank == 0:
		return len(r.sel.stages) + 1
	}
	return v.Rank
}

// Stage returns the stage that dropped a tool of the catalog, or Sent.
func (sel *Selection) Stage(e *catalog.Entry) Stage { return sel.stages[e.Position()] }

// Failed returns the errors of filters that panicked, in order of registration, and of
// rules that failed. Their tools are hidden.
func (sel *Selection) Failed() []error {
	var list []error
	for _, filter := range slices.Sorted(maps.Keys(sel.own.failed)) {
		list = append(list, sel.own.failed[filter])
	}
	return append(list, sel.failedRules...)
}

// Unranked returns the error of a ranking that panicked; nil otherwise. Such a selection
// has only the tools that need no ranking: pinned ones and those to search with.
func (sel *Selection) Unranked() error { return sel.ranking.Failed }

// Catalog returns the catalog that was selected from.
func (sel *Selection) Catalog() *catalog.Catalog { return sel.selector.catalog }

// funnel says how many tools were left after each stage.
func (list stages) funnel() []Step {
	dropped := list.count()
	left := len(list)
	steps := []Step{{Stage: "catalog", Left: left}}
	for _, stage := range Stages() {
		if stage != Sent {
			left -= dropped[stage]
			steps = append(steps, Step{stage.String(), left, dropped[stage]})
		}
	}
	return steps
}
