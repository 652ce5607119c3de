package selection

import (
	"slices"

	"github.com/etui-run/etui/catalog"
)

// fit cuts the usable tools down to the ones that are sent: all of them in the
// mode direct, otherwise the pinned tools and the best ranked ones that fit the
// budget.
func (sel *Selection) fit() {
	s := sel.selector
	if sel.Mode == Direct {
		sel.Ranked = sel.Ranked[:min(len(sel.Ranked), sel.limit)]
		return
	}
	left, sent, limit := sel.budget, 0, sel.limit
	if sel.Request.Phase != "" && sel.few() { // the tools of a phase are chosen, whatever the words
		sel.rankAll()
		limit = len(sel.Ranked)
	}
	for i, stage := range sel.stages {
		if stage != Sent {
			continue
		}
		sel.stages[i] = Rank
		if e := s.catalog.At(i); s.pinned.has(i) {
			sel.stages[i] = spend(&left, e)
		}
	}
	kept := sel.Ranked[:0]
	for _, m := range sel.Ranked {
		switch {
		case sent == limit:
			continue
		case sel.stages[m.Position()] != Sent: // not pinned
			sel.stages[m.Position()] = spend(&left, m.Entry)
		}
		if sel.stages[m.Position()] == Sent {
			kept = append(kept, m)
			if !s.pinned.has(m.Position()) {
				sent++
			}
		}
	}
	sel.Ranked = kept
}

// rankAll puts the usable tools that no word of the question found behind the others.
func (sel *Selection) rankAll() {
	var rest []Match
	for _, e := range sel.Usable() {
		if !slices.ContainsFunc(sel.Ranked, func(m Match) bool { return m.Entry == e }) {
			rest = append(rest, Match{Entry: e})
		}
	}
	sel.Ranked = append(slices.Clip(sel.Ranked), rest...)
}

// spend takes a tool's tokens from the rest of the budget, if they fit.
func spend(left *int, e *catalog.Entry) Stage {
	if e.Tokens > *left {
		return Budget
	}
	*left -= e.Tokens
	return Sent
}
