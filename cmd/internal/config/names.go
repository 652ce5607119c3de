package config

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Name is the name of a tool, group, skill or folder in the configuration.
type Name struct {
	Kind Kind
	// Text is the name as it is written; that of a tool may be group: and a group.
	Text string
	// Where says what names it: "tools.disabled", "agent main: groups".
	Where string
	Place Position
}

// Kind is what a [Name] names.
type Kind int

// The kinds of names.
const (
	// Tool: a tool that is chosen.
	Tool Kind = iota
	// Disabled: a tool that is switched off. A name without a tool would leave open what
	// it was meant to close.
	Disabled
	// Group: a group of tools.
	Group
	// Skill: a skill or toolset that is in effect.
	Skill
	// Allowance: a skill that may be enabled or not, whether or not it exists yet.
	Allowance
	// Folder: a folder of tools.read.
	Folder
	// Member: a tool of a toolset, which has all tools if one does not exist.
	Member
)

// names notes the names of tools, groups, skills and folders.
func (r *reader) names(c *Config, root *yaml.Node) {
	note := func(kind Kind, where, name string, at ...any) {
		if name != "" {
			c.Names = append(c.Names, Name{kind, name, where, r.Position(find(root, at...))})
		}
	}
	for i, t := range c.Skills.Toolsets {
		for j, name := range t.Tools {
			note(Member, fmt.Sprintf("the skill %q", t.Name), name, "skills", "toolsets", i, "tools", j)
		}
	}
	for i, name := range c.Tools.Disabled {
		note(Disabled, "tools.disabled", name, "tools", "disabled", i)
	}
	for i, dir := range c.Tools.Read {
		note(Folder, "tools.read", dir, "tools", "read", i)
	}
	for i, name := range c.Selection.Pinned {
		note(Tool, "selection.pinned", name, "selection", "pinned", i)
	}
	note(Skill, "workflow.default_skill", c.Workflow.DefaultSkill, "workflow", "default_skill")
	for i, a := range c.Agents {
		for _, name := range strings.FieldsFunc(a.Groups, func(r rune) bool { return r == ',' || r == ' ' }) {
			note(Group, "agent "+a.Name+": groups", name, "agents", i, "groups")
		}
		note(Skill, "agent "+a.Name+": skill", a.Skill, "agents", i, "skill")
		for j, name := range a.Skills {
			if name != "none" {
				note(Skill, "agent "+a.Name+": skills", name, "agents", i, "skills", j)
			}
		}
	}
	for key, list := range map[string][]string{"allow": c.Skills.Allow, "deny": c.Skills.Deny} {
		for i, name := range list {
			if !isPattern(name) {
				note(Allowance, "skills."+key, name, "skills", key, i)
			}
		}
	}
}

// isPattern reports whether a name stands for others.
func isPattern(name string) bool {
	_, err := path.Match(name, "")
	return err != nil || strings.ContainsAny(name, `*?[\`)
}

// Names returns the names by which clients may address the gateway.
func (a *API) Names() []string {
	names := slices.Clone(a.Hosts)
	for _, address := range []string{a.URL, a.Console.URL} {
		if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
			names = append(names, strings.ToLower(u.Hostname()))
		}
	}
	return names
}
