// Package nameset knows what a configuration and toolsets can name: tools, groups and skills that
// exist, and those of etui's own that a configuration has switched off.
package nameset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/builtin"
	"github.com/etui-run/etui/cmd/internal/builtin/memories"
	"github.com/etui-run/etui/cmd/internal/builtin/shell"
	"github.com/etui-run/etui/cmd/internal/builtin/web"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// Mistakes are names in a configuration and in files of toolsets that name nothing, as
// errors with their place and the nearest name that exists.
type Mistakes struct {
	// Refused are names with which etui does not start, and does not reload: a skill that
	// should be in effect, and a tool that should be switched off and would stay on.
	Refused []error
	// Unknown are other names. They open nothing.
	Unknown []error
	// Later are names that may come to exist: of a tool of an MCP server that is not
	// connected yet, of one that a toolset names, or anything while a file of a skill cannot be
	// read.
	Later []error
}

// Names is what a configuration can name.
type Names struct {
	catalog *catalog.Catalog
	skills  *skill.Snapshot

	tools  map[string]bool // of the catalog, and of skills that are not enabled
	groups map[string]bool
	off    map[string]bool // tools and groups of etui's own that are not in the catalog, which may be switched off
	named  map[string]bool // skills and toolsets
}

// New returns what a configuration can name.
func New(c *config.Config, catalog *catalog.Catalog, skills *skill.Snapshot) Names {
	x := Names{catalog, skills, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{"full": true}}
	for e := range catalog.All() {
		x.tools[e.Definition.Name] = true
		if e.Definition.Original != "" {
			x.tools[e.Definition.Original] = true
		}
	}
	for _, group := range catalog.GroupNames() {
		x.groups[group] = true
	}
	for _, e := range skills.All() {
		x.named[e.Name()] = true
		switch skill.KindOf(e.Skill) {
		case "callable":
			x.tools[e.Name()] = true
		case "server":
			x.groups[e.Name()] = true
		}
		for _, group := range e.Details.Groups {
			x.groups[group] = true
		}
	}
	for _, t := range c.Skills.Toolsets {
		x.named[t.Name] = true
	}
	for _, d := range Builtin() {
		x.off[d.Name] = true
		for _, group := range d.Groups {
			x.off["group:"+group] = true
		}
	}
	return x
}

// Add adds what the file of a skill would bring.
func (x Names) Add(c skill.Config) {
	for _, group := range c.Groups {
		x.groups[group] = true
	}
	if c.Provider != "" {
		x.tools[c.Name], x.groups[c.Name] = true, true // of a server, its tools are a group
	}
}

// Check holds the names of a configuration, and those of toolsets in files, against
// what exists.
func Check(c *config.Config, now *catalog.Catalog, skills *skill.Snapshot) (m Mistakes) {
	x := New(c, now, skills)
	for _, r := range c.Names {
		if r.Kind == config.Folder {
			continue // readFolders has looked
		}
		missing := x.Missing(r)
		err := config.Error{File: r.Place.File, Line: r.Place.Line, Column: r.Place.Column, Message: missing}
		switch {
		case missing == "":
		case r.Kind == config.Allowance || r.Kind == config.Member || x.later(r.Text):
			m.Later = append(m.Later, err)
		case r.Kind == config.Disabled || r.Kind == config.Skill:
			m.Refused = append(m.Refused, err)
		default:
			m.Unknown = append(m.Unknown, err)
		}
	}
	for _, f := range append([]config.Flow{{Phases: c.Workflow.Phases}}, c.Workflows...) {
		for _, p := range f.Phases {
			if missing := x.Missing(config.Name{Kind: config.Skill, Text: p.Skill,
				Where: "the phase " + p.Name}); p.Skill != "" && missing != "" {
				m.Unknown = append(m.Unknown, config.Error{File: p.Place.File, Line: p.Place.Line,
					Column: p.Place.Column, Message: missing + "; the phase has all tools"})
			}
			m.Unknown = append(m.Unknown, x.unread(p)...)
		}
	}
	for _, e := range skills.All() {
		m.Later = append(m.Later, x.MissingTools(e)...)
	}
	return m
}

// unread returns an error for each tool that a phase waits for and that does not exist.
func (x Names) unread(p config.Phase) (list []error) {
	conditions := rules.NewConditions(workflow.Variables()...)
	for _, n := range p.Next {
		c, err := conditions.Compile(cmp.Or(n.When, "finished"), rules.Place(n.WhenPlace))
		if err != nil {
			continue // who compiles the workflow says so
		}
		here, _ := c.Names("results")
		before, _ := c.Names("earlier")
		for _, name := range append(here, before...) {
			missing := x.Missing(config.Name{Kind: config.Tool, Text: name,
				Where: "a condition of the phase " + p.Name})
			if missing != "" && !x.later(name) {
				list = append(list, config.Error{File: n.WhenPlace.File, Line: n.WhenPlace.Line,
					Column: n.WhenPlace.Column, Message: missing})
			}
		}
	}
	return list
}

// MissingTools returns an error for each tool that the file of a toolset names and that
// does not exist.
func (x Names) MissingTools(e *skill.Entry) (list []error) {
	if skill.KindOf(e.Skill) != "toolset" {
		return nil // instructions may name tools of other programs
	}
	for _, name := range e.Details.Tools {
		missing := x.Missing(config.Name{Kind: config.Member, Text: name, Where: fmt.Sprintf("the skill %q", e.Name())})
		if missing != "" {
			list = append(list, config.Error{File: e.Source, Message: missing})
		}
	}
	return list
}

// Missing says that nothing has a name; it is empty when something has.
func (x Names) Missing(r config.Name) string {
	what, name, known := "tool", r.Text, x.tools
	group, isGroup := strings.CutPrefix(r.Text, "group:")
	switch {
	case r.Kind == config.Disabled && x.off[r.Text]:
		return ""
	case r.Kind == config.Disabled && selection.Meta(name):
		return fmt.Sprintf("%s: %s cannot be switched off: selection.mode says how tools reach the model", r.Where,
			name)
	case r.Kind == config.Skill || r.Kind == config.Allowance:
		what, known = "skill", x.named
	case r.Kind == config.Group:
		what, known = "group", x.groups
	case isGroup:
		what, name, known = "group", group, x.groups
	}
	if known[name] || (r.Kind == config.Tool || r.Kind == config.Member) && known[strings.TrimSuffix(name, "Tool")] {
		return ""
	}
	candidates := slices.Sorted(maps.Keys(known))
	if r.Kind == config.Disabled {
		for own := range x.off {
			if group, ok := strings.CutPrefix(own, "group:"); ok == isGroup {
				candidates = append(candidates, group)
			}
		}
		slices.Sort(candidates)
	}
	then := ""
	if r.Kind == config.Member && !x.catalog.Away(name) {
		then = "; until it does, the skill has all tools"
	}
	return fmt.Sprintf("%s names the %s %q, which does not exist%s%s", r.Where, what, name,
		nearest.Hint(name, slices.Values(candidates)), then)
}

// later reports whether something of a name may come to exist while etui runs.
func (x Names) later(name string) bool {
	return len(x.skills.Failed()) > 0 || slices.ContainsFunc(x.skills.All(), func(e *skill.Entry) bool {
		return skill.KindOf(e.Skill) == "server" && strings.HasPrefix(name, "mcp__"+e.Name()+"__")
	})
}

// Err joins the errors with which etui does not start.
func (m Mistakes) Err() error { return errors.Join(m.Refused...) }

// Warnings returns the errors with which it starts.
func (m Mistakes) Warnings() []error { return slices.Concat(m.Unknown, m.Later) }

// Builtin returns the definitions of all tools that etui brings.
func Builtin() (list []tool.Definition) {
	for _, t := range slices.Concat(
		builtin.Tools(&builtin.Clock{}, &builtin.Files{}), web.Tools(&web.Fetcher{}, &web.Searcher{}),
		shell.Tools(&shell.Shell{}),
		memories.Tools(&memories.Keeper{}), hub.Tools(&hub.Finder{}, &hub.Installer{}),
	) {
		list = append(list, t.Definition())
	}
	return list
}

// Own returns the names of etui's tools that are not in every catalog, and of the
// toolset of all tools.
func Own() []string {
	names := []string{catalog.Full, catalog.None}
	for _, d := range meta.Definitions() {
		names = append(names, d.Name)
	}
	for _, t := range hub.Tools(&hub.Finder{}, &hub.Installer{}) {
		names = append(names, t.Definition().Name)
	}
	return names
}

// Reserved returns the names that no skill may have where all of etui's own tools
// are registered.
func Reserved() []string {
	names := Own()
	for _, d := range Builtin() {
		names = append(names, d.Name)
	}
	return names
}
