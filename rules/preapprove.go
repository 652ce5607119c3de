package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/rules/internal/shelltext"
)

// Preapprove names the skills, by patterns as path.Match has them, whose lists of allowed calls
// (catalog.Skill.Allowed) are heeded: while such a skill is active, a call that its list covers needs no
// approval where the default of the tool's risk asks for one. A rule that asks or denies still does. It is
// for who has just compiled the rules.
func (r *Rules) Preapprove(skills ...string) { r.preapproved = skills }

// preapprove returns the decision on an attempt of which the default says that somebody is to be asked.
func (r *Rules) preapprove(a Attempt, asks Decision) Decision {
	s, ok := a.Catalog.Skill(a.Facts.Skill)
	if !ok || !slices.ContainsFunc(r.preapproved, func(pattern string) bool {
		matches, err := path.Match(pattern, s.Name)
		return matches && err == nil
	}) {
		return asks
	}
	var patterns []string
	for _, allowed := range s.Allowed {
		name, pattern, limited := strings.Cut(allowed, "(")
		switch {
		case name != "*" && name != a.Entry.Definition.Name:
		case limited:
			patterns = append(patterns, strings.TrimSuffix(pattern, ")"))
		default:
			return Decision{Effect: Allow,
				Reason: fmt.Sprintf("the active skill %s, which policy.skills names, lists %s", s.Name, allowed)}
		}
	}
	asks.Depends = asks.Depends || len(patterns) > 0 && a.Arguments == nil
	if c, err := newCall(a.Arguments); err != nil || !shelltext.Cover(patterns, c.args) {
		return asks
	}
	return Decision{Effect: Allow,
		Reason: fmt.Sprintf("the active skill %s, which policy.skills names, lists it: %s", s.Name,
			strings.Join(patterns, ", "))}
}
