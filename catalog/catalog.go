// Package catalog holds everything that exists now: the tools and skills, with
// indexes by name, group and risk.
//
// Writers use a [Registry]. Readers take its [Catalog], an immutable snapshot:
// reading takes no lock, and a reader that keeps a Catalog goes on seeing the same
// tools while others are registered or removed. Writing builds the indexes; reading
// only looks them up.
//
// The package decides only who may see a tool: its filter and the [Rules] must
// both allow it. Package selection decides which tools a question needs.
package catalog

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Catalog is an immutable snapshot of a [Registry]. It is safe for concurrent use.
type Catalog struct {
	toolIndex
	skillIndex
	ruled    *ruleset    // nil without rules
	enriched *enrichment // nil without texts
}

// toolIndex is the tools of a catalog. Catalogs that differ only in their skills or
// rules share it.
type toolIndex struct {
	entries  []*Entry // those in effect, in order of registration
	shadowed []*Entry // those that a later one of the same name replaced
	byName   map[string]*Entry
	byGroup  map[string][]*Entry
	byRisk   map[tool.Risk][]*Entry
	guarded  []*Entry          // by number of filter, from 1: a tool that it guards
	filters  []tool.FilterFunc // of each
}

// Len returns the number of tools in effect.
func (c *Catalog) Len() int { return len(c.entries) }

// All yields the tools in effect, in order of registration.
func (c *Catalog) All() iter.Seq[*Entry] { return slices.Values(c.entries) }

// At returns the tool at a position, 0 ≤ i < Len. The position of a tool is its
// [Entry.Position] in this catalog.
func (c *Catalog) At(i int) *Entry { return c.entries[i] }

// Get finds a tool by its exact name, or by its original one if no other tool has that.
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

// Risk returns the tools of a risk.
func (c *Catalog) Risk(r tool.Risk) []*Entry { return c.byRisk[r] }

// GroupNames returns the names of all groups, sorted.
func (c *Catalog) GroupNames() []string { return slices.Sorted(maps.Keys(c.byGroup)) }

// Names yields the names of all tools in effect, in order of registration.
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

// SameTools reports whether two catalogs hold the same tools at the same positions.
// Their skills and rules may differ.
func (c *Catalog) SameTools(o *Catalog) bool {
	return len(c.entries) == len(o.entries) && (len(c.entries) == 0 || &c.entries[0] == &o.entries[0])
}

// Hidden calls every filter once for a caller. The result is indexed by number of
// filter, see [Entry.Filter]: true means that the filter hides its tools, and number 0
// is never true. Failed holds the errors of filters that panicked, which hide their
// tools, too; it is nil when none did.
func (c *Catalog) Hidden(f *chat.Facts) (hidden []bool, failed map[int]error) {
	hidden = make([]bool, len(c.guarded)+1)
	for i := 0; i < len(c.guarded); {
		if i = c.filter(f, hidden, i); i < len(c.guarded) {
			// The i-th filter panicked: call it alone for the error.
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

// filter calls the filters from the i-th on, and returns the place of one that
// panicked, or their number.
func (c *Catalog) filter(f *chat.Facts, hidden []bool, i int) (at int) {
	at = i
	defer func() { _ = recover() }() // at says which one it was
	facts := *f                      // from here the calls copy it in half the time
	for n, allow := range c.filters[i:] {
		at = i + n
		hidden[at+1] = !allow(facts)
	}
	return len(c.filters)
}

// Definitions returns the tools that a caller may see, in order of registration.
func (c *Catalog) Definitions(f chat.Facts) []tool.Definition {
	var visible []tool.Definition
	denied, _ := c.Denied(&f)
	for i, e := range c.entries {
		if denied != nil && denied[i] || !e.On(f.Channel) {
			continue
		}
		if ok, _ := e.Visible(&f); ok {
			visible = append(visible, e.Definition)
		}
	}
	return visible
}

func byPosition(a, b *Entry) int { return a.position - b.position }

// build indexes a list in which a later entry replaces an earlier one of the same
// name.
func build(list []*Registration) toolIndex {
	c := toolIndex{
		byName:  make(map[string]*Entry, len(list)),
		byGroup: map[string][]*Entry{},
		byRisk:  map[tool.Risk][]*Entry{},
	}
	filters := map[*filter]int{}
	// One allocation holds all entries of the snapshot.
	entries := make([]Entry, len(list))
	for i, r := range list {
		entries[i].Registration = r
		c.byName[r.Definition.Name] = &entries[i] // the last one is in effect
	}
	for i := range entries {
		e := &entries[i]
		if e.filter != nil {
			if filters[e.filter] == 0 {
				filters[e.filter] = len(filters) + 1
				c.guarded, c.filters = append(c.guarded, e), append(c.filters, e.filter.allow)
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
		c.byRisk[d.Risk] = append(c.byRisk[d.Risk], e)
		for i, g := range d.Groups {
			if !slices.Contains(d.Groups[:i], g) {
				c.byGroup[g] = append(c.byGroup[g], e)
			}
		}
	}
	for _, e := range c.entries {
		if name := e.Definition.Original; name != "" && c.byName[name] == nil {
			c.byName[name] = e
		}
	}
	return c
}
