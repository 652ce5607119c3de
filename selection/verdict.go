package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

// Verdict says what happened to one tool, and why.
type Verdict struct {
	Tool   string   `json:"tool"`
	Source string   `json:"source,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Stage is the one that dropped the tool, or Sent.
	Stage  Stage  `json:"stage"`
	Sent   bool   `json:"sent"`
	Reason string `json:"reason"`
	// Score is the tool's score for the question, 0 when no word matches. Rank is
	// its place among the tools that may be used, from 1; 0 when it has none.
	Score  float64 `json:"score"`
	Rank   int     `json:"rank,omitempty"`
	Tokens int     `json:"tokens"`
	// Terms are the words that matched, the strongest first, see [rank.Ranking.Explain].
	// The first [MaxParts] tools of an explanation have the fields of each term.
	Terms []rank.Term `json:"terms,omitempty"`
	// Meaning is the part of the score that comes from vectors.
	Meaning float64 `json:"meaning,omitempty"`
	// Recommendation is how the recommender scored the tool; nil if it did not.
	Recommendation *Recommendation `json:"recommendation,omitempty"`
}

// reasons puts a selection's decisions into words.
type reasons struct {
	*Selection
	ranks map[int]int
	least float64 // the score below which a tool is noise
}

func (sel *reasons) verdict(e *catalog.Entry) Verdict {
	i := e.Position()
	v := Verdict{
		Tool: e.Definition.Name, Source: e.Definition.Source, Groups: e.Definition.Groups,
		Stage: sel.stages[i], Sent: sel.stages[i] == Sent,
		Score: rank.Round(sel.ranking.Scores[i]), Rank: sel.ranks[i], Tokens: e.Tokens,
	}
	v.Terms, v.Meaning = sel.ranking.Explain(i)
	if a := sel.advice[i]; a != nil {
		v.Recommendation = a.rounded()
	}
	v.Reason = sel.reason(e, v)
	return v
}

func (sel *reasons) reason(e *catalog.Entry, v Verdict) string {
	s, i := sel.selector, e.Position()
	for n, b := range sel.bounds {
		if !v.Stage.Usable() && sel.own.judge(i) != v.Stage && b.stages[i] == v.Stage {
			if sel.Request.Bounds[n].Past {
				return "not for the person who asked for this task, at that time"
			}
			return fmt.Sprintf("not for the agent %s, which started this sub-agent", sel.Request.Bounds[n].Facts.Agent)
		}
	}
	switch v.Stage {
	case Enabled:
		if Meta(v.Tool) {
			return "its name is reserved"
		}
		return "switched off in the configuration"
	case Groups:
		return fmt.Sprintf("in none of the groups %q", sel.Request.Groups)
	case Visibility:
		if !e.On(sel.Request.Facts.Channel) {
			return onlyOn(e.Definition.Channels)
		}
		if err := sel.own.failed[e.Filter()]; err != nil {
			return err.Error()
		}
		if denied, _ := s.catalog.Denied(&sel.Request.Facts); set(denied).has(i) {
			return s.catalog.WhyDenied(&sel.Request.Facts, e)
		}
		return "its filter hides it from this caller"
	case Toolset:
		if sel.Request.Facts.Skill == catalog.None {
			return "the phase has no tools: its skill cannot be used"
		}
		if !sel.own.known {
			return fmt.Sprintf("there is no skill %q", sel.Request.Facts.Skill)
		}
		return fmt.Sprintf("not part of the active skill %q", sel.Request.Facts.Skill)
	case Requested:
		if sel.own.exclude.has(i) {
			return "excluded by the request"
		}
		return "not among the tools that the request includes"
	case Rank:
		switch {
		case v.Rank == 0:
			return "no word of the question matches"
		case v.Recommendation != nil:
			return fmt.Sprintf("rank %d, %s; others fit better, %d are sent", v.Rank, recommended(v.Recommendation), sel.limit)
		case v.Score < rank.Round(sel.ranking.Least()):
			return fmt.Sprintf("rank %d: too little of the question matches", v.Rank)
		case v.Score < sel.least:
			return fmt.Sprintf("rank %d: too far below the best", v.Rank)
		}
		return fmt.Sprintf("rank %d: others fit better, %d are sent", v.Rank, sel.limit)
	case Budget:
		if slices.Contains(sel.unnamed, e) {
			return sel.standing(v, i) + ": the session's messages announce enough tools; find_tools finds it"
		}
		return fmt.Sprintf("%s: its %d tokens do not fit what was left of %d", sel.standing(v, i), v.Tokens, sel.budget)
	}
	switch {
	case sel.Mode == Direct:
		return "all are sent: " + sel.Why
	case s.pinned.has(i):
		return "pinned"
	case sel.fresh && !slices.ContainsFunc(sel.Ranked, func(m Match) bool { return m.Entry == e }):
		return "called earlier in the session"
	case !sel.fresh && slices.Contains(sel.Request.Declared, v.Tool):
		return "declared since the session began"
	case slices.Contains(sel.Request.Announced, v.Tool) && !slices.Contains(sel.Declared, e):
		return "announced by an earlier message"
	case slices.Contains(sel.Named, e):
		return sel.standing(v, i) + ", named with the message"
	}
	if v.Recommendation != nil {
		return fmt.Sprintf("rank %d, %s", v.Rank, recommended(v.Recommendation))
	}
	return sel.standing(v, i)
}

// standing says why a tool is a candidate: it has a rank, or needs none.
func (sel *reasons) standing(v Verdict, position int) string {
	switch {
	case v.Rank > 0:
		return fmt.Sprintf("rank %d", v.Rank)
	case sel.selector.pinned.has(position):
		return "pinned"
	}
	return "a tool of the phase"
}

func onlyOn(channels []string) string { return "exists only on " + strings.Join(channels, ", ") }

func (sel *Selection) best() float32 {
	best := float32(0)
	for i, score := range sel.ranking.Scores {
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

// ranks returns the place of each matching tool that may be used, by position.
func (sel *Selection) ranks() map[int]int {
	var matching []Match
	for i, score := range sel.ranking.Scores {
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
