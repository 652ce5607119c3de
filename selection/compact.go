package selection

import (
	"cmp"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

// Compact is an explanation that is small enough to be stored with every message:
// a few hundred bytes of JSON, at most 4 KiB. Like [Explanation] it names tools
// that the caller may not see; [Compact.Only] leaves them out. It does not repeat
// the question and the caller, which are stored beside it.
type Compact struct {
	// Tools is how many tools the catalog had, and Dropped how many each stage
	// dropped, without stages that dropped none.
	Tools   int           `json:"tools"`
	Dropped map[Stage]int `json:"dropped,omitempty"`
	// Mode is how the selection reached the model.
	Mode Mode `json:"mode,omitempty"`
	// Phase is that of the workflow that ran, as in [Request].
	Phase string `json:"phase,omitempty"`
	// Request is the beginning of [Explanation.Request].
	Request string `json:"request,omitempty"`
	// Language is that of [Explanation.Language].
	Language string `json:"language,omitempty"`
	// All, Usable, Sent, Meta and Budget count tokens as [Tokens] does.
	All    int `json:"tokens_all,omitempty"`
	Usable int `json:"tokens_usable"`
	Sent   int `json:"tokens_sent"`
	Meta   int `json:"tokens_meta,omitempty"`
	Budget int `json:"tokens_budget"`
	// Declared, Announced and Named are the tools that reached the model, together at
	// most 10: those for the message in order, and of the declared ones the meta tools
	// and then those with the best scores. More counts the others.
	Declared  []Scored `json:"declared,omitempty"`
	Announced []Scored `json:"announced,omitempty"`
	Named     []Scored `json:"named,omitempty"`
	More      int      `json:"more,omitempty"`
	// Near are the best tools that match and were not sent, best first, at most
	// 4, with the stage that dropped them.
	Near []Scored `json:"near,omitempty"`
	// Skills are the best skills that were described with the message, at most 4,
	// without the skills of the system prompt's list.
	Skills []string `json:"skills,omitempty"`
}

const (
	compactSent = 10
	compactNear = 4 // skills, too
	// compactRequest is how much is kept of the request, in characters.
	compactRequest = 160
)

// Scored is a tool with its score for the question; 0 when no word matches.
type Scored struct {
	Tool     string  `json:"tool"`
	Original string  `json:"original,omitempty"` // where it comes from, if that is another
	Score    float64 `json:"score,omitempty"`
	// Stage is the one that dropped the tool; nil when it was sent.
	Stage *Stage `json:"stage,omitempty"`
	// Kept says that an earlier message of the session declared the tool.
	Kept bool `json:"kept,omitempty"`
}

// Compact sums the selection up. It takes a few microseconds, so every message can
// have one.
func (sel *Selection) Compact() Compact {
	t, s := sel.Tokens(), summary{sel}
	c := Compact{Tools: len(sel.stages), Mode: sel.Mode, Phase: sel.Request.Phase,
		Request: shorten(sel.ranking.Request, compactRequest), Language: uncovered(sel), All: t.All, Usable: t.Usable,
		Sent: t.Sent, Meta: t.Meta, Budget: t.Budget, Dropped: map[Stage]int{}}
	best := rank.NewTop[Match](compactNear, compareMatches)
	for i, stage := range sel.stages {
		if stage != Sent && sel.ranking.Scores[i] > 0 {
			best.Add(Match{sel.selector.catalog.At(i), sel.ranking.Scores[i]})
		}
	}
	for stage, n := range sel.stages.count() {
		if stage := Stage(stage); stage != Sent && n > 0 {
			c.Dropped[stage] = n
		}
	}
	for _, m := range best.List {
		stage := sel.stages[m.Position()]
		c.Near = append(c.Near, Scored{Tool: m.Definition.Name, Original: m.Definition.Original,
			Score: rank.Round(m.Score), Stage: &stage})
	}
	for _, skill := range sel.AnnouncedSkills[:min(len(sel.AnnouncedSkills), compactNear)] {
		c.Skills = append(c.Skills, skill.Name)
	}
	c.Announced = s.scored(sel.Announced[:min(len(sel.Announced), compactSent)])
	c.Named = s.scored(sel.Named[:min(len(sel.Named), compactSent-len(c.Announced))])
	c.Declared = s.scored(s.bestOf(sel.Declared, compactSent-len(c.Announced)-len(c.Named)))
	c.More = len(sel.Declared) + len(sel.Announced) + len(sel.Named) - len(c.Declared) - len(c.Announced) - len(c.Named)
	return c
}

// summary picks what of a selection is worth storing.
type summary struct{ sel *Selection }

// bestOf returns the meta tools among the entries, in order, and then the others, best
// score first; at most limit.
func (s summary) bestOf(entries []*catalog.Entry, limit int) []*catalog.Entry {
	top := rank.NewTop(limit, func(i, j int) int {
		return cmp.Or(cmp.Compare(s.score(entries[j]), s.score(entries[i])), cmp.Compare(i, j))
	})
	var list []*catalog.Entry
	for i, e := range entries {
		if Meta(e.Definition.Name) {
			list = append(list, e)
		} else {
			top.Add(i)
		}
	}
	for _, i := range top.List {
		list = append(list, entries[i])
	}
	return list[:min(len(list), limit)]
}

// scored returns the entries with their scores.
func (s summary) scored(entries []*catalog.Entry) []Scored {
	var list []Scored
	for _, e := range entries {
		name := e.Definition.Name
		list = append(list, Scored{Tool: name, Original: e.Definition.Original, Score: rank.Round(s.score(e)),
			Kept: slices.Contains(s.sel.Request.Declared, name)})
	}
	return list
}

// score is a tool's score for the question. Meta tools have none.
func (s summary) score(e *catalog.Entry) float32 {
	if Meta(e.Definition.Name) {
		return 0
	}
	return s.sel.ranking.Scores[e.Position()]
}

// ReachedTools returns the tools that reached the model: those declared, described and named.
func (c Compact) ReachedTools() []Scored { return slices.Concat(c.Declared, c.Announced, c.Named) }

// Only returns c for the caller's eyes: it names only the tools that usable admits
// and the skills that offered does. It does not count the others either, because
// the caller must not learn that they exist.
func (c Compact) Only(usable, offered func(name string) bool) Compact {
	keep := func(list []Scored) []Scored {
		return slices.DeleteFunc(slices.Clone(list), func(s Scored) bool { return !Meta(s.Tool) && !usable(s.Tool) })
	}
	c.Declared, c.Announced, c.Named, c.Near = keep(c.Declared), keep(c.Announced), keep(c.Named), keep(c.Near)
	c.Skills = slices.DeleteFunc(slices.Clone(c.Skills), func(name string) bool { return !offered(name) })
	dropped := map[Stage]int{}
	for stage, n := range c.Dropped {
		if stage.Usable() {
			dropped[stage] = n
		} else {
			c.Tools -= n
		}
	}
	c.Dropped = dropped
	return c
}
