package rules

import (
	"encoding/json"
	"net/url"
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
			return Decision{Effect: Allow, Reason: "the active skill " + s.Name + ", which policy.skills names, lists " + allowed}
		}
	}
	asks.Depends = asks.Depends || len(patterns) > 0 && a.Arguments == nil
	if !cover(patterns, a.Arguments) {
		return asks
	}
	return Decision{Effect: Allow, Reason: "the active skill " + s.Name + ", which policy.skills names, lists it: " + strings.Join(patterns, ", ")}
}

// cover reports whether patterns of allowed calls cover the arguments of one: commands or the
// beginning of some ("git add:*", "git add *", "make test"), "domain:" and a host, or paths ("docs/**"). Each
// command in a text must be covered. What cannot be read is not covered.
func cover(patterns []string, arguments json.RawMessage) bool {
	c, err := newCall(arguments)
	if err != nil {
		return false
	}
	some := func(covers func(pattern string) bool) bool { return slices.ContainsFunc(patterns, covers) }
	if _, ok := c.args["command"]; ok {
		commands, simple := shelltext.Simple(c.args)
		return simple && !slices.ContainsFunc(commands, func(command string) bool {
			return !some(func(pattern string) bool { return coversCommand(pattern, command) })
		})
	}
	if address, ok := c.args["url"].(string); ok {
		u, err := url.Parse(address)
		return err == nil && u.Hostname() != "" && some(func(pattern string) bool { return strings.EqualFold(pattern, "domain:"+u.Hostname()) })
	}
	file, _ := c.args["path"].(string)
	return file != "" && some(func(pattern string) bool { return coversPath(strings.TrimPrefix(pattern, "./"), file) })
}

func coversCommand(pattern, command string) bool {
	if pattern == "*" || pattern == ":*" {
		return true
	}
	for _, end := range []string{":*", " *"} {
		if begin, ok := strings.CutSuffix(pattern, end); ok {
			return begin != "" && !strings.Contains(begin, "*") && strings.HasPrefix(command+" ", begin+" ")
		}
	}
	return pattern == command
}

func coversPath(pattern, file string) bool {
	if file != path.Clean(file) || strings.HasPrefix(file, "../") || file == ".." {
		return false
	}
	if pattern == "**" || pattern == "*" && !strings.Contains(file, "/") {
		return !path.IsAbs(file)
	}
	if below, ok := strings.CutSuffix(pattern, "/**"); ok && below != "" && !strings.ContainsAny(below, `*?[\`) {
		return strings.HasPrefix(file, below+"/")
	}
	matches, err := path.Match(pattern, file)
	return matches && err == nil
}
