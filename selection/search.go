package selection

import (
	"slices"
	"strings"

	"github.com/etui-run/etui/rank"
)

// Search ranks all tools that the caller may use, whatever the session has
// seen, and returns at most limit of them, best first. A query that is the exact
// name of a tool finds that tool first, and one of the beginnings of a name's
// parts ("jira create", "create_iss") the tools of such names next. The history
// does not count.
func (s *Selector) Search(req Request, limit int) []Match {
	req.History = nil
	sel := s.begin(req)
	sel.limit = limit
	sel.admitTools()
	sel.rank()
	found := append(sel.named(), sel.Ranked...)
	var once []Match
	for _, m := range found {
		if len(once) < limit && !slices.ContainsFunc(once, func(n Match) bool { return n.Entry == m.Entry }) {
			once = append(once, m)
		}
	}
	return once
}

// named returns the tools that the query names, wholly or in part: the exact
// name, then the shortest ones. A query of a single word that is no exact name
// is left to the ranking when that finds something.
func (sel *Selection) named() []Match {
	query := strings.TrimSpace(sel.Request.Query)
	c := sel.selector.catalog
	match := func(position int) Match { return Match{c.At(position), sel.ranking.Scores[position]} }
	if e, ok := c.Get(query); ok && sel.stages[e.Position()] == Sent {
		return []Match{match(e.Position())}
	}
	wanted := rank.NameParts(query)
	if len(wanted) == 0 || len(wanted) > maxNameParts || len(wanted) == 1 && len(sel.Ranked) > 0 {
		return nil
	}
	var found []Match
	for i, stage := range sel.stages {
		if stage == Sent && begins(c.At(i).Definition.Name, wanted) {
			found = append(found, match(i))
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		return len(a.Definition.Name) - len(b.Definition.Name)
	})
	return found
}

// maxNameParts is how many words a query may have that is taken for a name.
const maxNameParts = 6

// begins reports whether each wanted word begins a part of the name.
func begins(name string, wanted []string) bool {
	if !strings.Contains(strings.ToLower(name), wanted[0]) {
		return false
	}
	parts := rank.NameParts(name)
	for _, w := range wanted {
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, w) }) {
			return false
		}
	}
	return true
}
