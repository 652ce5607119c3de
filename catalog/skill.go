package catalog

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// Full is the skill of all tools. It always exists.
const Full = "full"

// None is a name that, alone in a list of skills in which an empty list means all, means
// no skill. No skill has this name; as the active skill it lets no tool through.
const None = "none"

// Skill is a skill as the model sees it: a toolset, which is a choice of tools that
// are the only ones shown while the skill is active, or instructions, or both.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Tools are names of tools, or "group:" and the name of a group. A name that ends in
	// Tool, as a class in other programs, also means the tool without that. An empty list
	// means all tools; in a skill with instructions it means no toolset, see
	// [Catalog.Switches].
	Tools []string `json:"tools"`
	// Allowed are calls that the skill's author wants to need no approval while it is active: names of tools,
	// or "*", some with a pattern: exec(git:*). They allow nothing unless the operator's policy says so.
	Allowed []string `json:"allowed,omitempty"`
	// Guide reads the skill's instructions; nil when it has none.
	Guide Guide `json:"-"`
	// Aliases are other names and phrases that people use for the skill, and Examples
	// questions that it answers, in any language. Only the ranking reads them.
	Aliases  []string `json:"aliases,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// Manual means that only people activate the skill: models do not see it.
	Manual bool `json:"manual,omitempty"`
	// Translations and Body are as in tool.Definition. Only the ranking reads them.
	Translations map[string]string `json:"translations,omitempty"`
	Body         string            `json:"-"`
	// Channels are the only ones on which the skill exists; empty means all.
	Channels []string `json:"channels,omitempty"`
}

// On reports whether the skill exists on a channel.
func (s *Skill) On(channel string) bool {
	return len(s.Channels) == 0 || slices.Contains(s.Channels, channel)
}

// Guide reads the files of a skill. It is safe for concurrent use.
type Guide interface {
	// Read returns a file of the skill, by its path below the skill's folder; the
	// empty path means the instructions. The error is shown to the model.
	Read(ctx context.Context, file string) (string, error)
}

// Unavailable is a skill that exists but cannot be used now, and the reason.
type Unavailable struct{ Name, Reason string }

// Read reads a file of a skill that has instructions, as its [Guide] does. A panic in
// the guide becomes an error.
func (s Skill) Read(ctx context.Context, file string) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the skill %s could not be read: %w", s.Name, &PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	return s.Guide.Read(ctx, file)
}

// Check returns the first mistake in s itself. [Catalog.Members] reports whether its
// tools exist.
func (s Skill) Check() error {
	if s.Name == "" {
		return fmt.Errorf("a skill has no name")
	}
	if s.Name == None {
		return fmt.Errorf("no skill can have the name %q: in lists of skills it means that there are none", None)
	}
	if strings.ContainsAny(s.Name, ",\r\n") {
		return fmt.Errorf("the skill %q: a name must have no commas and no line breaks, because names are listed with commas between them", s.Name)
	}
	if slices.Contains(s.Channels, "") {
		return fmt.Errorf("the skill %q: a channel is empty", s.Name)
	}
	if s.Name == Full && len(s.Tools) > 0 {
		return fmt.Errorf("the skill %q always means all tools: leave its tools empty, or give it another name", Full)
	}
	return nil
}

// skillIndex is the skills of a catalog. Catalogs that differ only in their tools or
// rules share it.
type skillIndex struct {
	skills      []Skill // in order of registration, [Full] among them
	places      map[string]int
	unavailable []Unavailable // by name
}

// indexSkills joins the program's skills and those of suppliers. Of two with one name
// the program's is in effect.
func indexSkills(own []Skill, suppliers []supplier) skillIndex {
	x := skillIndex{skills: slices.Clone(own), places: map[string]int{}}
	for i, s := range own {
		x.places[s.Name] = i
	}
	add := func(s Skill) bool {
		if _, taken := x.places[s.Name]; taken {
			return false
		}
		x.places[s.Name] = len(x.skills)
		x.skills = append(x.skills, s)
		return true
	}
	for _, from := range suppliers {
		for _, s := range from.skills {
			if !add(s) {
				x.unavailable = append(x.unavailable, Unavailable{s.Name, "the configuration has a skill of that name"})
			}
		}
		x.unavailable = append(x.unavailable, from.unavailable...)
	}
	add(Skill{Name: Full, Description: "all tools"})
	slices.SortStableFunc(x.unavailable, func(a, b Unavailable) int { return strings.Compare(a.Name, b.Name) })
	return x
}

// Skill finds a skill by name.
func (c *Catalog) Skill(name string) (Skill, bool) {
	i, ok := c.places[name]
	if !ok {
		return Skill{}, false
	}
	return c.skills[i], true
}

// Skills returns all skills, in order of registration, [Full] among them. Do not
// change the slice.
func (c *Catalog) Skills() []Skill { return c.skills }

// Unavailable returns the skills that cannot be used now, by name. Do not change the
// slice.
func (c *Catalog) Unavailable() []Unavailable { return c.unavailable }

// SameSkills reports whether two catalogs hold the same skills in the same order.
func (c *Catalog) SameSkills(o *Catalog) bool {
	return len(c.skills) == len(o.skills) && &c.skills[0] == &o.skills[0]
}

// Members returns the tools that a skill shows, in order of registration, and those
// of its targets that name nothing.
func (c *Catalog) Members(s Skill) (members []*Entry, unknown []string) {
	switch {
	case len(s.Tools) == 0 && s.Guide != nil:
		return nil, nil
	case len(s.Tools) == 0:
		return c.entries, nil
	}
	for _, target := range s.Tools {
		found := c.byName[target]
		if found == nil {
			found = c.byName[strings.TrimSuffix(target, "Tool")] // the class of a tool, in files of other programs
		}
		group, isGroup := strings.CutPrefix(target, "group:")
		switch {
		case isGroup && len(c.byGroup[group]) > 0:
			members = append(members, c.byGroup[group]...)
		case found != nil:
			members = append(members, found)
		default:
			unknown = append(unknown, target)
		}
	}
	slices.SortFunc(members, byPosition)
	return slices.Compact(members), unknown
}

// ToolsOf returns the tools that are shown while a skill is active, in order of registration: those
// that it names, and all if it names none, if its instructions name only tools of other programs,
// or if it is a toolset that lacks one, so that a missing tool keeps nobody from their work.
func (c *Catalog) ToolsOf(s Skill) (tools []*Entry, all bool) {
	tools, _ = c.Members(s)
	if len(s.Tools) == 0 || s.Guide != nil && len(tools) == 0 || s.Guide == nil && len(c.Missing(s)) > 0 {
		return c.entries, true
	}
	return tools, false
}

// Missing returns the tools and groups that a skill names and that do not exist, without those
// that are only away for now: a server's, and a skill's that cannot be used.
func (c *Catalog) Missing(s Skill) []string {
	_, unknown := c.Members(s)
	return slices.DeleteFunc(unknown, c.Away)
}

// Away reports whether a name that no tool has may come to be that of one again.
func (c *Catalog) Away(name string) bool {
	return strings.HasPrefix(name, "mcp__") || slices.ContainsFunc(c.unavailable, func(u Unavailable) bool {
		return u.Name == name || u.Name == strings.TrimSuffix(name, "Tool")
	})
}

// Switches reports whether activating a skill changes which tools are shown. A skill
// with instructions does so only when it names tools that exist: many are written for
// other programs, whose tool names mean nothing here.
func (c *Catalog) Switches(s Skill) bool {
	if s.Guide == nil {
		return true
	}
	members, _ := c.Members(s)
	return len(members) > 0
}
