package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// directoryShare is the part of the model's window that a directory may take.
const directoryShare = 0.05

// Directory lists what the caller may use, for the system prompt, so that
// nothing is invisible that is not declared: each name with a short line, or
// names alone, or how many tools each group has, whatever is the most that fits
// the bound of the [Config]. It is empty when nothing is chosen.
//
// Frozen is the directory of the session so far. It is returned as it is unless
// the session's front is made anew or it names what the caller may not use any
// more. The text depends on what may be used and on nothing else.
//
// Descriptions of tools that came from outside are left out: a system prompt is
// no place for strangers' words.
func (sel *Selection) Directory(frozen string) string {
	limit := sel.selector.config.Directory
	if share := int(float64(sel.Request.Window) * directoryShare); sel.Request.Window > 0 && share < limit {
		limit = share
	}
	switch {
	case sel.Mode == Direct || limit <= 0:
		return ""
	case !sel.anew && !sel.revoked(frozen):
		return frozen
	}
	usable := sel.Usable()
	for _, write := range []func([]*catalog.Entry, int) string{directoryLines, directoryNames} {
		if text := write(usable, limit); text != "" {
			return text
		}
	}
	return directoryGroups(usable, limit)
}

// Groups tells how many of the tools that the caller may use each group has, in
// at most so many tokens.
func (sel *Selection) Groups(tokens int) string { return directoryGroups(sel.Usable(), tokens) }

// Usable returns the tools that the caller may use, by name.
func (sel *Selection) Usable() []*catalog.Entry {
	usable := make([]*catalog.Entry, 0, sel.usable)
	for e := range sel.selector.catalog.All() {
		if sel.stages[e.Position()].Usable() {
			usable = append(usable, e)
		}
	}
	slices.SortFunc(usable, compareNames)
	return usable
}

// revoked reports whether a directory names a tool that may not be used, or a
// group of which none may.
func (sel *Selection) revoked(directory string) bool {
	for line := range strings.SplitSeq(directory, "\n") {
		head, rest, found := strings.Cut(line, ": ")
		list := strings.Split(rest, ", ")
		switch {
		case sel.hides(head), !found && slices.ContainsFunc(strings.Split(line, ", "), sel.hidesGroup):
			return true
		case slices.ContainsFunc(list, func(item string) bool { return strings.Contains(item, " ") }):
			// A short line: its words are no names.
		case slices.ContainsFunc(list, sel.hides):
			return true
		}
	}
	return false
}

// hides reports whether there is a tool of that name that may not be used.
func (sel *Selection) hides(name string) bool {
	e, ok := sel.selector.catalog.Get(name)
	return ok && !sel.stages[e.Position()].Usable()
}

// hidesGroup reports whether a group with its count, as in "file 7", has tools of
// which none may be used.
func (sel *Selection) hidesGroup(counted string) bool {
	name, _, _ := strings.Cut(counted, " ")
	members := sel.selector.catalog.Groups(name)
	return len(members) > 0 && !slices.ContainsFunc(members, func(e *catalog.Entry) bool { return sel.stages[e.Position()].Usable() })
}

// directoryLines writes a name and a short line for each tool; nothing when that
// is longer than limit.
func directoryLines(tools []*catalog.Entry, limit int) string {
	var lines []string
	tokens := 0
	for _, e := range tools {
		line := e.Definition.Name
		if short := shortLine(e); short != "" {
			line += ": " + short
		}
		lines = append(lines, line)
		if tokens += chat.Tokens(line + "\n"); tokens > limit {
			return ""
		}
	}
	return strings.Join(lines, "\n")
}

// directoryNames writes the names of each group; nothing when that is longer
// than limit.
func directoryNames(tools []*catalog.Entry, limit int) string {
	var lines []string
	tokens := 0
	for _, g := range grouped(tools) {
		line := g.name + ": " + strings.Join(g.tools, ", ")
		lines = append(lines, line)
		if tokens += chat.Tokens(line + "\n"); tokens > limit {
			return ""
		}
	}
	return strings.Join(lines, "\n")
}

// directoryGroups writes how many tools each group has, the largest first where
// not all fit.
func directoryGroups(tools []*catalog.Entry, limit int) string {
	groups := grouped(tools)
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(len(b.tools), len(a.tools)) })
	var parts []string
	tokens := 0
	for _, g := range groups {
		part := fmt.Sprintf("%s %d", g.name, len(g.tools))
		if tokens += chat.Tokens(part + ", "); tokens > limit {
			break
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// group is a group with the names of its tools.
type group struct {
	name  string
	tools []string
}

// other is the group of the tools that have none.
const other = "other"

// grouped puts each tool into the first of its groups, sorted.
func grouped(tools []*catalog.Entry) []group {
	byName := map[string][]string{}
	for _, e := range tools {
		name := other
		if i := slices.IndexFunc(e.Definition.Groups, plain); i >= 0 {
			name = e.Definition.Groups[i]
		}
		byName[name] = append(byName[name], e.Definition.Name)
	}
	groups := make([]group, 0, len(byName))
	for name, tools := range byName {
		groups = append(groups, group{name, tools})
	}
	slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.name, b.name) })
	return groups
}

// plain reports whether the name of a group is short and nothing but a name: it
// may come from outside.
func plain(name string) bool {
	return len(name) <= 40 && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}) < 0
}

// maxShortLine is how long a short line may be, in characters.
const maxShortLine = 60

// ownSources are those whose texts are this program's.
var ownSources = []string{"", "builtin", "demo"}

// shortLine is the first sentence of a tool's description, if it is our own.
func shortLine(e *catalog.Entry) string {
	if !slices.Contains(ownSources, e.Definition.Source) {
		return ""
	}
	line, _, _ := strings.Cut(strings.Join(strings.Fields(e.Definition.Description), " "), ". ")
	line = strings.TrimSuffix(line, ".")
	if runes := []rune(line); len(runes) > maxShortLine {
		line = string(runes[:maxShortLine-1]) + "…"
	}
	return line
}
