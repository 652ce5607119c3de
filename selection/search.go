package selection

import (
	"slices"
	"strings"

	"github.com/etui-run/etui/rank"
)

// Search ranks all tools that the caller may use, whether the session knows them
// or not, and returns at most limit of them, best first. The tool whose exact name
// is the query comes first, then the tools whose names have parts that begin like
// the query's ("jira create", "create_iss"). The history does not count.
func (s *Selector) Search(req Request, limit int) []Match {
	req.History = nil
	sel := s.begin(req)
	sel.limit = max(0, min(limit, s.catalog.Len()))
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

// named returns the tool whose exact name is the query, or the tools whose names
// it begins, the shortest names first. A single word that is not an exact name is
// left to the ranking if that finds something.
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

// maxNameParts is how many words a query has at most that is taken for a name.
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
