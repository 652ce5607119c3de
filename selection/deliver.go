package selection

import (
	"slices"

	"github.com/etui-run/etui/catalog"
)

// fit cuts what may be used down to what is sent: everything where that is
// little, else the pinned tools and the best ranked ones that fit the budget. A
// session that began with a choice goes on with choosing.
func (sel *Selection) fit() {
	s := sel.selector
	usable, tokens := 0, 0
	for i, stage := range sel.stages {
		if stage == Sent {
			usable++
			tokens += s.catalog.At(i).Tokens
		}
	}
	choosing := slices.Contains(sel.Request.Declared, CallTool)
	if usable <= s.config.Direct && tokens <= sel.budget && !choosing {
		sel.Direct = true
		sel.Ranked = sel.Ranked[:min(len(sel.Ranked), sel.limit)]
		return
	}
	left, sent := sel.budget, 0
	for i, stage := range sel.stages {
		if stage != Sent {
			continue
		}
		sel.stages[i] = Rank
		if e := s.catalog.At(i); s.pinned.has(i) {
			sel.stages[i] = sel.spend(&left, e)
		}
	}
	kept := sel.Ranked[:0]
	for _, m := range sel.Ranked {
		switch {
		case sent == sel.limit:
			continue
		case sel.stages[m.Position()] != Sent: // not pinned
			sel.stages[m.Position()] = sel.spend(&left, m.Entry)
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

// spend takes a tool's tokens from what is left of the budget.
func (sel *Selection) spend(left *int, e *catalog.Entry) Stage {
	if e.Tokens > *left {
		return Budget
	}
	*left -= e.Tokens
	return Sent
}

// deliver decides how what is sent reaches the model. A session's first
// question fixes what stands in front of its requests: a provider's prompt cache
// ends at the first byte that changes, and tools stand at the very front. What
// later questions need is announced with their message, at the end, unless the
// session began with all tools there were.
func (sel *Selection) deliver() {
	if len(sel.Request.Declared) == 0 {
		sel.Declared = sel.front()
		return
	}
	s := sel.selector
	for _, name := range sel.Request.Declared {
		if meta, ok := metaEntry(name); ok {
			sel.Declared = append(sel.Declared, meta)
		} else if e, ok := s.catalog.Get(name); ok && sel.stages[e.Position()].Usable() {
			// What the caller may not use any more leaves at once, whatever that
			// costs.
			sel.stages[e.Position()] = Sent
			sel.Declared = append(sel.Declared, e)
		}
	}
	canAnnounce := slices.Contains(sel.Request.Declared, CallTool)
	for _, e := range sel.sent() {
		if slices.Contains(sel.Declared, e) || slices.Contains(sel.Request.Announced, e.Definition.Name) {
			continue
		}
		if canAnnounce {
			sel.Announced = append(sel.Announced, e)
		} else {
			sel.Declared = append(sel.Declared, e)
		}
	}
}

// front is what stands in front of a new session's requests.
func (sel *Selection) front() []*catalog.Entry {
	sent := sel.sent()
	if sel.Direct {
		return sent
	}
	return append([]*catalog.Entry{findTools, callTool}, sent...)
}

// sent returns what is sent for this question: by rank, then the others in
// order of registration. When nothing was chosen the order is that of
// registration.
func (sel *Selection) sent() []*catalog.Entry {
	var sent []*catalog.Entry
	if !sel.Direct {
		for _, m := range sel.Ranked {
			sent = append(sent, m.Entry)
		}
	}
	for i, stage := range sel.stages {
		if e := sel.selector.catalog.At(i); stage == Sent && (sel.Direct || sel.selector.pinned.has(i) && !slices.Contains(sent, e)) {
			sent = append(sent, e)
		}
	}
	return sent
}
