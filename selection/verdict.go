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
	Tool     string   `json:"tool"`
	Original string   `json:"original,omitempty"` // where it comes from, if that is another
	Source   string   `json:"source,omitempty"`
	Groups   []string `json:"groups,omitempty"`
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
	sel   *Selection
	ranks map[int]int // the place of each matching tool that may be used, by position
	least float64     // the score below which a tool is noise
}

func newReasons(sel *Selection) reasons {
	r := reasons{sel: sel, ranks: map[int]int{}}
	var matching []Match
	best := float32(0)
	for i, score := range sel.ranking.Scores {
		if !sel.stages[i].Usable() {
			continue
		}
		best = max(best, score)
		if score > 0 || sel.advice[i] != nil {
			matching = append(matching, Match{sel.selector.catalog.At(i), score})
		}
	}
	slices.SortFunc(matching, compareMatches)
	slices.SortStableFunc(matching, sel.advice.compare)
	for i, m := range matching {
		r.ranks[m.Position()] = i + 1
	}
	r.least = rank.Round(sel.ranking.Noise(best))
	return r
}

func (r reasons) verdict(e *catalog.Entry) Verdict {
	i := e.Position()
	v := Verdict{
		Tool: e.Definition.Name, Original: e.Definition.Original,
		Source: e.Definition.Source, Groups: e.Definition.Groups,
		Stage: r.sel.stages[i], Sent: r.sel.stages[i] == Sent,
		Score: rank.Round(r.sel.ranking.Scores[i]), Rank: r.ranks[i], Tokens: e.Tokens,
	}
	v.Terms, v.Meaning = r.sel.ranking.Explain(i)
	if a := r.sel.advice[i]; a != nil {
		v.Recommendation = a.rounded()
	}
	v.Reason = r.reason(e, v)
	return v
}

func (r reasons) reason(e *catalog.Entry, v Verdict) string {
	s, i := r.sel.selector, e.Position()
	for n, b := range r.sel.bounds {
		if !v.Stage.Usable() && r.sel.own.judge(i) != v.Stage && b.stages[i] == v.Stage {
			if r.sel.Request.Bounds[n].Past {
				return "not for the person who asked for this task, at that time"
			}
			return fmt.Sprintf("not for the agent %s, which started this sub-agent",
				r.sel.Request.Bounds[n].Facts.Agent)
		}
	}
	switch v.Stage {
	case Enabled:
		if Meta(v.Tool) {
			return "its name is reserved"
		}
		return "switched off in the configuration"
	case Groups:
		return fmt.Sprintf("in none of the groups %q", r.sel.Request.Groups)
	case Visibility:
		if !e.On(r.sel.Request.Facts.Channel) {
			return onlyOn(e.Definition.Channels)
		}
		if err := r.sel.own.failed[e.Filter()]; err != nil {
			return err.Error()
		}
		if denied, _ := s.catalog.Denied(&r.sel.Request.Facts); set(denied).has(i) {
			return s.catalog.WhyDenied(&r.sel.Request.Facts, e)
		}
		return "its filter hides it from this caller"
	case Toolset:
		if r.sel.Request.Facts.Skill == catalog.None {
			return "the phase has no tools: its skill cannot be used"
		}
		if !r.sel.own.known {
			return fmt.Sprintf("there is no skill %q", r.sel.Request.Facts.Skill)
		}
		return fmt.Sprintf("not part of the active skill %q", r.sel.Request.Facts.Skill)
	case Requested:
		if r.sel.own.exclude.has(i) {
			return "excluded by the request"
		}
		return "not among the tools that the request includes"
	case Rank:
		switch {
		case v.Rank == 0 && uncovered(r.sel) != "":
			return "the question is in " + uncovered(r.sel) + ", which the tools do not speak"
		case v.Rank == 0:
			return "no word of the question matches"
		case v.Recommendation != nil:
			return fmt.Sprintf("rank %d, %s; others fit better, %d are sent", v.Rank, recommended(v.Recommendation),
				r.sel.limit)
		case v.Score < rank.Round(r.sel.ranking.Least()):
			return fmt.Sprintf("rank %d: too little of the question matches", v.Rank)
		case v.Score < r.least:
			return fmt.Sprintf("rank %d: too far below the best", v.Rank)
		}
		return fmt.Sprintf("rank %d: others fit better, %d are sent", v.Rank, r.sel.limit)
	case Budget:
		if slices.Contains(r.sel.unnamed, e) {
			return r.standing(v, i) + ": the session's messages announce enough tools; find_tools finds it"
		}
		return fmt.Sprintf("%s: its %d tokens do not fit what was left of %d", r.standing(v, i), v.Tokens, r.sel.budget)
	}
	switch {
	case r.sel.Mode == Direct:
		return "all are sent: " + r.sel.Why
	case s.pinned.has(i):
		return "pinned"
	case r.sel.fresh && !slices.ContainsFunc(r.sel.Ranked, func(m Match) bool { return m.Entry == e }):
		return "called earlier in the session"
	case !r.sel.fresh && slices.Contains(r.sel.Request.Declared, v.Tool):
		return "declared since the session began"
	case slices.Contains(r.sel.Request.Announced, v.Tool) && !slices.Contains(r.sel.Declared, e):
		return "announced by an earlier message"
	case slices.Contains(r.sel.Named, e):
		return r.standing(v, i) + ", named with the message"
	}
	if v.Recommendation != nil {
		return fmt.Sprintf("rank %d, %s", v.Rank, recommended(v.Recommendation))
	}
	return r.standing(v, i)
}

// standing says why a tool is a candidate: it has a rank, or needs none.
func (r reasons) standing(v Verdict, position int) string {
	switch {
	case v.Rank > 0:
		return fmt.Sprintf("rank %d", v.Rank)
	case r.sel.selector.pinned.has(position):
		return "pinned"
	case uncovered(r.sel) != "" && r.sel.Request.Phase == "":
		return "used lately; the question is in " + uncovered(r.sel) + ", which the tools do not speak"
	}
	return "a tool of the phase"
}

func onlyOn(channels []string) string { return "exists only on " + strings.Join(channels, ", ") }

func names(entries []*catalog.Entry) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Definition.Name
	}
	return list
}
