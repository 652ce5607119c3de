// Package catalog holds everything that exists now: the tools and the named
// toolsets, with indexes by name, group, source and risk.
//
// Writers use a [Registry]. Readers take its [Catalog], an immutable snapshot:
// reading takes no lock, and a reader that keeps a Catalog sees the same tools
// for as long as it likes, whatever is registered or removed meanwhile. Indexes
// are built when something is written and only looked up when it is read.
//
// The package decides only who may see a tool: its filter and the [Rules] must
// both allow it. What a question needs is decided in package selection.
package catalog

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Catalog is an immutable snapshot. The zero value is an empty catalog. It is
// safe for concurrent use.
type Catalog struct {
	tools
	skills
	ruled *ruled // nil without rules
}

// skills are the toolsets of a catalog. Catalogs that differ in their tools or
// rules alone share them.
type skills struct {
	toolsets    []Skill // in order of registration, [Full] among them
	bySkill     map[string]int
	unavailable []Unavailable // by name
}

// tools are the tools of a catalog. Catalogs that differ in their toolsets or
// rules alone share them.
type tools struct {
	entries  []*Entry // those in force, in order of registration
	shadowed []*Entry // those that a later one of the same name replaced
	byName   map[string]*Entry
	byGroup  map[string][]*Entry
	bySource map[string][]*Entry
	byRisk   map[tool.Risk][]*Entry
	guarded  []*Entry // by number of filter, from 1: a tool that it guards
}

// Len returns how many tools are in force.
func (c *Catalog) Len() int { return len(c.entries) }

// All yields the tools in force, in order of registration.
func (c *Catalog) All() iter.Seq[*Entry] { return slices.Values(c.entries) }

// At returns the tool at a position, 0 ≤ i < Len. The position of a tool is its
// [Entry.Position] in this catalog.
func (c *Catalog) At(i int) *Entry { return c.entries[i] }

// Get finds a tool by its exact name.
func (c *Catalog) Get(name string) (*Entry, bool) {
	e, ok := c.byName[name]
	return e, ok
}

// Groups returns the tools that have at least one of the groups in a
// comma-separated list such as "file,shell", each once, in order of
// registration. The cost is that of the result. Unknown groups are empty.
func (c *Catalog) Groups(list string) []*Entry {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 1 {
		return c.byGroup[names[0]]
	}
	var found []*Entry
	for _, name := range names {
		found = append(found, c.byGroup[name]...)
	}
	slices.SortFunc(found, byPosition)
	return slices.Compact(found)
}

// Source returns the tools that came from a source.
func (c *Catalog) Source(name string) []*Entry { return c.bySource[name] }

// Risk returns the tools of a risk.
func (c *Catalog) Risk(r tool.Risk) []*Entry { return c.byRisk[r] }

// GroupNames returns the names of all groups, sorted.
func (c *Catalog) GroupNames() []string { return slices.Sorted(maps.Keys(c.byGroup)) }

// Names yields the names of all tools in force, in order of registration.
func (c *Catalog) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range c.entries {
			if !yield(e.Definition.Name) {
				return
			}
		}
	}
}

// Shadowed returns the tools that cannot be reached because a later one has
// the same name, in order of registration.
func (c *Catalog) Shadowed() []*Entry { return c.shadowed }

// Hidden asks every filter about a caller, once. The answer is by number of
// filter, see [Entry.Filter]: true means that the filter's tools are hidden, and
// number 0 is never. Failed holds the filters that panicked; their tools are
// hidden too. It is nil when none did.
func (c *Catalog) Hidden(f *chat.Facts) (hidden []bool, failed map[int]error) {
	hidden = make([]bool, len(c.guarded)+1)
	for i := 0; i < len(c.guarded); {
		if i = c.ask(f, hidden, i); i < len(c.guarded) {
			// The i-th filter panicked; asking it alone tells how.
			e := c.guarded[i]
			if failed == nil {
				failed = map[int]error{}
			}
			hidden[e.filterNumber] = true
			_, failed[e.filterNumber] = e.Visible(f)
			i++
		}
	}
	return hidden, failed
}

// ask asks the filters from the i-th on, and returns the place of one that
// panicked, or their number.
func (c *Catalog) ask(f *chat.Facts, hidden []bool, i int) (at int) {
	at = i
	defer func() { _ = recover() }() // at says which one it was
	for ; at < len(c.guarded); at++ {
		hidden[at+1] = !c.guarded[at].filter.allow(*f)
	}
	return at
}

// Definitions returns what the caller may see, in order of registration.
func (c *Catalog) Definitions(f chat.Facts) []tool.Definition {
	var visible []tool.Definition
	denied, _ := c.Denied(&f)
	for i, e := range c.entries {
		if denied != nil && denied[i] {
			continue
		}
		if ok, _ := e.Visible(&f); ok {
			visible = append(visible, e.Definition)
		}
	}
	return visible
}

// AllDefinitions returns every definition in force, whoever may see it. It is
// for operators and debugging, never for a model.
func (c *Catalog) AllDefinitions() []tool.Definition {
	all := make([]tool.Definition, len(c.entries))
	for i, e := range c.entries {
		all[i] = e.Definition
	}
	return all
}

// Skill finds a toolset by name. The toolset [Full] always exists.
func (c *Catalog) Skill(name string) (Skill, bool) {
	if i, ok := c.bySkill[name]; ok {
		return c.toolsets[i], true
	}
	if name == Full {
		return full, true // of the zero Catalog
	}
	return Skill{}, false
}

// Skills returns all toolsets, in order of registration, [Full] among them. The
// slice is not to be changed.
func (c *Catalog) Skills() []Skill {
	if c.toolsets == nil {
		return onlyFull
	}
	return c.toolsets
}

// Unavailable returns the skills that nobody may use now, by name. The slice is not
// to be changed.
func (c *Catalog) Unavailable() []Unavailable { return c.unavailable }

// Members returns the tools of a toolset, in order of registration, and those
// of its targets that name nothing.
func (c *Catalog) Members(t Skill) (members []*Entry, unknown []string) {
	switch {
	case len(t.Tools) == 0 && t.Guide != nil:
		return nil, nil
	case len(t.Tools) == 0:
		return c.entries, nil
	}
	for _, target := range t.Tools {
		found := c.byName[target]
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

// Switches reports whether taking a skill up changes what tools are shown. One with
// instructions does so only when it names tools that exist: many are written for
// other programs, and their names of tools mean nothing here.
func (c *Catalog) Switches(t Skill) bool {
	if t.Guide == nil {
		return true
	}
	members, _ := c.Members(t)
	return len(members) > 0
}

func byPosition(a, b *Entry) int { return a.position - b.position }

// build makes the tools of a list in which a later entry replaces an
// earlier one of the same name.
func build(list []*Registration) tools {
	c := tools{
		byName:   make(map[string]*Entry, len(list)),
		byGroup:  map[string][]*Entry{},
		bySource: map[string][]*Entry{},
		byRisk:   map[tool.Risk][]*Entry{},
	}
	filters := map[*filter]int{}
	// One allocation holds all entries of the snapshot.
	entries := make([]Entry, len(list))
	for i, r := range list {
		entries[i].Registration = r
		c.byName[r.Definition.Name] = &entries[i] // the last one is in force
	}
	for i := range entries {
		e := &entries[i]
		if e.filter != nil {
			if filters[e.filter] == 0 {
				filters[e.filter] = len(filters) + 1
				c.guarded = append(c.guarded, e)
			}
			e.filterNumber = filters[e.filter]
		}
		d := &e.Definition
		if c.byName[d.Name] != e {
			e.position = -1
			c.shadowed = append(c.shadowed, e)
			continue
		}
		e.position = len(c.entries)
		c.entries = append(c.entries, e)
		c.bySource[d.Source] = append(c.bySource[d.Source], e)
		c.byRisk[d.Risk] = append(c.byRisk[d.Risk], e)
		for i, g := range d.Groups {
			if !slices.Contains(d.Groups[:i], g) {
				c.byGroup[g] = append(c.byGroup[g], e)
			}
		}
	}
	return c
}

// with makes a catalog of tools and skills.
func (t tools) with(s skills, rules Rules) *Catalog {
	c := &Catalog{tools: t, skills: s}
	if rules != nil {
		c.ruled = &ruled{rules: rules}
	}
	return c
}

// Full is the toolset of all tools. It exists even when nobody defined it.
const Full = "full"

var (
	full     = Skill{Name: Full, Description: "all tools"}
	onlyFull = []Skill{full} // what the zero Catalog has
)

// Skill is a skill that the model can take up: a named choice of tools, the only
// ones that are shown while the skill is active, or instructions, or both.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Tools are names of tools, or "group:" and the name of a group. An empty
	// list means all tools, and with instructions that the skill has no choice of
	// tools: see [Catalog.Switches].
	Tools []string `json:"tools"`
	// Guide reads the skill's instructions; nil when it has none.
	Guide Guide `json:"-"`
	// Aliases are other names and phrases that people use for the skill, and
	// Examples questions that it is for, in any language. The ranking reads them;
	// models do not.
	Aliases  []string `json:"aliases,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// Manual says that people take the skill up: models are not told of it.
	Manual bool `json:"manual,omitempty"`
	// Translations and Body are as in tool.Definition. The ranking reads them.
	Translations map[string]string `json:"translations,omitempty"`
	Body         string            `json:"-"`
	// Channels are those that the skill is made for; empty means none in
	// particular.
	Channels []string `json:"channels,omitempty"`
}

// Guide reads what a skill says. It is safe for concurrent use.
type Guide interface {
	// Read returns a file of the skill, by its path below the skill's folder; the
	// empty path is the instructions. The error goes to the model.
	Read(ctx context.Context, file string) (string, error)
}

// Unavailable is a skill that exists and that nobody may use now, and why.
type Unavailable struct{ Name, Reason string }

// Read reads a file of a skill that has instructions, as its [Guide] does. A guide
// that panics gives an error.
func (t Skill) Read(ctx context.Context, file string) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the skill %s could not be read: it failed unexpectedly", t.Name)
		}
	}()
	return t.Guide.Read(ctx, file)
}

// Check reports the first thing that is wrong with t by itself. Whether its
// tools exist is told by [Catalog.Members].
func (t Skill) Check() error {
	if t.Name == "" {
		return fmt.Errorf("a skill has no name")
	}
	if slices.Contains(t.Channels, "") {
		return fmt.Errorf("the skill %q: a channel is empty", t.Name)
	}
	if t.Name == Full && len(t.Tools) > 0 {
		return fmt.Errorf("the skill %q always means all tools: leave its tools empty, or give it another name", Full)
	}
	return nil
}
