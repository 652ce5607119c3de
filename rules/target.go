package rules

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/tool"
)

// The kinds of targets, as written before the colon. The name of a tool has none.
const (
	toolKind   = ""
	groupKind  = "group"
	sourceKind = "source"
	riskKind   = "risk"
	skillKind  = "skill"
)

// target names tools.
type target struct {
	kind    string
	pattern string
	begin   string // the literal text before the first wildcard
	exact   bool   // there is no wildcard
}

func parseTarget(text string) (target, error) {
	kind, pattern, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(kind, "__") { // the original name of a tool may have a colon
		kind, pattern = toolKind, text
	}
	kinds := []string{groupKind, sourceKind, riskKind, skillKind}
	if kind != toolKind && !slices.Contains(kinds, kind) {
		return target{}, fmt.Errorf("the target %q begins with no known kind, which are group:, source:, risk: and skill:%s", text, nearest.Hint(kind, slices.Values(kinds)))
	}
	if pattern == "" {
		return target{}, fmt.Errorf("the target %q names nothing", text)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return target{}, fmt.Errorf(`the target %q is no valid pattern: patterns have *, ? and [a-z]`, text)
	}
	t := target{kind: kind, pattern: pattern, begin: pattern, exact: true}
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		t.begin, t.exact = pattern[:i], false
	}
	if kind == riskKind && !slices.ContainsFunc(tool.Risks(), func(r tool.Risk) bool { return t.match(string(r)) }) {
		return t, fmt.Errorf("the target %q names no risk, which are read, write and destructive%s", text,
			nearest.Hint(pattern, slices.Values([]string{"read", "write", "destructive"})))
	}
	return t, nil
}

func (t target) match(name string) bool {
	if t.exact || name == t.pattern {
		return name == t.pattern
	}
	if !strings.HasPrefix(name, t.begin) {
		return false
	}
	ok, _ := path.Match(t.pattern, name) // checked before
	return ok
}

// find returns the tools that t names, some of them perhaps several times.
func (t target) find(c *catalog.Catalog) (found []*catalog.Entry) {
	switch t.kind {
	case toolKind:
		if t.exact {
			if e, ok := c.Get(t.pattern); ok {
				return []*catalog.Entry{e}
			}
			return nil
		}
		for e := range c.All() {
			// A star of a pattern matches no slash, which a name that models read does not have.
			whole := strings.ReplaceAll(e.Definition.Original, "/", "_")
			if t.match(e.Definition.Name) || whole != "" && (t.match(whole) || t.match(e.Definition.Original)) {
				found = append(found, e)
			}
		}
	case groupKind:
		for _, g := range c.GroupNames() {
			if t.match(g) {
				found = append(found, c.Groups(g)...)
			}
		}
	case sourceKind:
		for e := range c.All() {
			if t.match(e.Definition.Source) {
				found = append(found, e)
			}
		}
	case riskKind:
		for _, r := range tool.Risks() {
			if t.match(string(r)) {
				found = append(found, c.Risk(r)...)
			}
		}
	case skillKind:
		for _, s := range c.Skills() {
			// The tools of instructions are a wish of their author: a rule that names such a
			// skill neither allows nor hides them.
			if t.match(s.Name) && s.Guide == nil {
				members, _ := c.Members(s)
				found = append(found, members...)
			}
		}
	}
	return found
}

// names reports whether t names anything.
func (t target) names(c *catalog.Catalog) bool {
	if t.kind == skillKind {
		return slices.ContainsFunc(c.Skills(), func(s catalog.Skill) bool { return t.match(s.Name) })
	}
	return len(t.find(c)) > 0
}

// missing says that t names nothing, and suggests a name.
func (t target) missing(c *catalog.Catalog) string {
	what := t.kind
	if what == toolKind {
		what = "tool"
	}
	if !t.exact {
		return fmt.Sprintf("no %s matches %q", what, t.pattern)
	}
	return fmt.Sprintf("it names the %s %q, which does not exist%s", what, t.pattern,
		nearest.Hint(t.pattern, t.known(c)))
}

// known yields the names that t could have meant.
func (t target) known(c *catalog.Catalog) iter.Seq[string] {
	var names []string
	switch t.kind {
	case groupKind:
		names = c.GroupNames()
	case sourceKind:
		for e := range c.All() {
			names = append(names, e.Definition.Source)
		}
	case skillKind:
		for _, s := range c.Skills() {
			names = append(names, s.Name)
		}
	default:
		return c.Names()
	}
	return slices.Values(names)
}
