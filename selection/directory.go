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

// directoryShare is the part of the model's window that a directory or a list of
// skills may take.
const directoryShare = 0.05

// Directory lists the tools that the caller may use, for the system prompt, so
// that the model knows of tools that are not declared. It has each name with a
// short line, or names alone, or how many tools each group has, whatever is the
// most that fits the limit of the [Config]. It is empty in the mode direct.
//
// Frozen is the session's directory so far. It is returned unchanged unless the
// session's front is made anew or it names a tool that the caller may no longer
// use. The text depends on nothing but the tools that may be used.
//
// The directory leaves out descriptions of tools that came from outside: they
// must not speak in the system prompt.
func (sel *Selection) Directory(frozen string) string {
	limit := sel.Request.within(sel.selector.config.Directory, directoryShare)
	switch {
	case sel.Mode == Direct || limit <= 0:
		return ""
	case !sel.anew && !(directory{sel}).revoked(frozen):
		return frozen
	}
	usable := sel.Usable()
	text, ok := linesWithin(limit, len(usable), func(i int) string { return directoryLine(usable[i]) })
	if !ok {
		groups := grouped(usable)
		text, ok = linesWithin(limit, len(groups),
			func(i int) string { return groups[i].name + ": " + strings.Join(groups[i].tools, ", ") })
	}
	if !ok {
		text = directoryGroups(usable, limit)
	}
	return text
}

// Groups lists how many tools of each group the caller may use, in at most the
// given number of tokens.
func (sel *Selection) Groups(tokens int) string { return directoryGroups(sel.Usable(), tokens) }

// Usable returns the tools that the caller may use, by name.
func (sel *Selection) Usable() []*catalog.Entry {
	usable := make([]*catalog.Entry, 0, sel.usable)
	for e := range sel.selector.catalog.All() {
		if sel.Stage(e).Usable() {
			usable = append(usable, e)
		}
	}
	slices.SortFunc(usable, compareNames)
	return usable
}

// directory is the text that names the tools of a selection.
type directory struct{ sel *Selection }

// revoked reports whether a directory names a tool that may not be used, or a
// group without a tool that may.
func (d directory) revoked(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		head, rest, found := strings.Cut(line, ": ")
		list := strings.Split(rest, ", ")
		switch {
		case d.hides(head), !found && slices.ContainsFunc(strings.Split(line, ", "), d.hidesGroup):
			return true
		case slices.ContainsFunc(list, func(item string) bool { return strings.Contains(item, " ") }):
			// The words of a short line are not names.
		case slices.ContainsFunc(list, d.hides):
			return true
		}
	}
	return false
}

// hides reports whether a tool has that name and may not be used.
func (d directory) hides(name string) bool {
	e, ok := d.sel.selector.catalog.Get(name)
	return ok && !d.sel.Stage(e).Usable() && !d.sel.holds(e)
}

// holds reports whether the session's front may go on showing a tool that only the active
// toolset leaves out.
func (sel *Selection) holds(e *catalog.Entry) bool {
	return sel.Request.Held && !sel.anew && sel.Stage(e) == Toolset
}

// hidesGroup reports whether a group with its count, as in "file 7", has tools and
// none of them may be used.
func (d directory) hidesGroup(counted string) bool {
	name, _, _ := strings.Cut(counted, " ")
	members := d.sel.selector.catalog.Groups(name)
	return len(members) > 0 && !slices.ContainsFunc(members,
		func(e *catalog.Entry) bool { return d.sel.Stage(e).Usable() || d.sel.holds(e) })
}

// linesWithin joins n lines. It reports false when they have more than the given
// number of tokens.
func linesWithin(tokens, n int, line func(i int) string) (text string, ok bool) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = line(i)
		if tokens -= chat.Tokens(lines[i] + "\n"); tokens < 0 {
			return "", false
		}
	}
	return strings.Join(lines, "\n"), true
}

// directoryGroups writes how many tools each group has, the largest groups first,
// as far as they fit.
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

// other is the group of the tools without a group.
const other = "other"

// grouped puts each tool into the first of its groups and sorts the groups.
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

// plain reports whether the name of a group is short and nothing but a name. Names
// from outside may be anything.
func plain(name string) bool {
	return len(name) <= 40 && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}) < 0
}

// maxShortLine is how long a short line may be, in characters.
const maxShortLine = 60

// ownSources are the sources whose texts belong to this program.
var ownSources = []string{"", "builtin", "demo"}

// directoryLine is a tool's name, with the first sentence of its description if the
// tool is ours.
func directoryLine(e *catalog.Entry) string {
	line, _, _ := strings.Cut(strings.Join(strings.Fields(e.Definition.Description), " "), ". ")
	line = strings.TrimSuffix(line, ".")
	if line == "" || !slices.Contains(ownSources, e.Definition.Source) {
		return e.Definition.Name
	}
	return e.Definition.Name + ": " + shorten(line, maxShortLine)
}

// shorten cuts a text after length characters.
func shorten(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text
}
