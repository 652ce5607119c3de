package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/tool"
)

// Change replaces what one source gives.
type Change struct {
	// Source is the file; it names what it replaces. Order among sources of one
	// scope and version is that of their names: the later one is in force.
	Source string
	Scope  Scope
	// Skills are all that the source gives now; none when it has gone.
	Skills []Skill
	// Disabled says that the source itself asks for its skills not to be enabled.
	Disabled bool
	// Err says that the source could not be used. What it gave before stays.
	Err error
}

// Table is the registry of a running etui. It is safe for concurrent use:
// readers take an immutable snapshot and never wait, writers take turns. The cost
// of one change grows with the number of skills only as that of copying a map; a
// lookup does not.
type Table struct {
	log     *slog.Logger
	current atomic.Pointer[Snapshot]

	changing sync.Mutex // guards what follows
	names    map[string]*named
	said     map[string]Decision // by name, of skills that are not there, too
	limit    func(*Entry) string
	sources  map[string][]string // the names that a source gives
	failed   map[string]error    // by source
	watchers []func(*Snapshot)
}

var _ Registry = (*Table)(nil)

// named is all that a table knows about one name.
type named struct {
	candidates []*candidate // in rising order: the last one is in force
}

// candidate is a skill that a source gives.
type candidate struct {
	skill      Skill
	details    Details
	definition tool.Definition
	schema     func() (*tool.Schema, error)
	scope      Scope
	source     string
	since      time.Time
	initial    State  // the state that it comes in
	why        string // it is not enabled
	removed    bool
}

// NewTable returns an empty table. A nil log discards.
func NewTable(log *slog.Logger) *Table {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &Table{
		log: log, names: map[string]*named{}, said: map[string]Decision{}, limit: func(*Entry) string { return "" },
		sources: map[string][]string{}, failed: map[string]error{},
	}
	t.current.Store(newSnapshot(map[string]*Entry{}, nil, nil))
	return t
}

// Snapshot returns what the table holds now.
func (t *Table) Snapshot() *Snapshot { return t.current.Load() }

// Watch calls f with every new snapshot from now on, one after the other and in
// order, before the change that made it returns. f must not change the table.
func (t *Table) Watch(f func(*Snapshot)) {
	t.changing.Lock()
	defer t.changing.Unlock()
	t.watchers = append(t.watchers, f)
	f(t.current.Load())
}

// Register adds a skill of the program.
func (t *Table) Register(skill Skill) error { return t.As("program", "").Register(skill) }

// Unregister removes the skill of a name that is in force.
func (t *Table) Unregister(name string) error { return t.As("program", "").Unregister(name) }

// Enable lets a skill be used.
func (t *Table) Enable(name string) error { return t.As("program", "").Enable(name) }

// Disable keeps a skill from being used.
func (t *Table) Disable(name string) error { return t.As("program", "").Disable(name) }

// Get returns a skill that may be used.
func (t *Table) Get(name string) (Skill, error) {
	e, err := t.usable(name)
	if err != nil {
		return nil, err
	}
	return e.Skill, nil
}

func (t *Table) usable(name string) (*Entry, error) {
	e, ok := t.Snapshot().Get(name)
	switch {
	case !ok || e.State == Removed:
		return nil, fmt.Errorf("skill %q: %w", name, ErrNotFound)
	case e.State != Enabled:
		return nil, fmt.Errorf("skill %q: %w (%s)", name, ErrDisabled, e.Why)
	}
	return e, nil
}

// List returns all skills, by name.
func (t *Table) List() []Skill { return slices.Clone(t.Snapshot().all()) }

// ListEnabled returns the skills that may be used, by name.
func (t *Table) ListEnabled() []Skill { return slices.Clone(t.Snapshot().enabled()) }

// ToTools returns the definitions of the skills that may be used, by name.
func (t *Table) ToTools() []tool.Definition { return slices.Clone(t.Snapshot().tools()) }

// Actor makes changes of a table in somebody's name.
type Actor struct {
	*Table
	who, why string
}

var _ Registry = Actor{}

// As returns the same registry with changes logged as made by who, for why.
func (t *Table) As(who, why string) Actor { return Actor{t, who, why} }

// Register adds a skill of the program, in state Loaded.
func (a Actor) Register(skill Skill) error {
	if err := Check(skill); err != nil {
		return err
	}
	c := Change{Source: programSource + skill.Name(), Scope: Builtin, Skills: []Skill{skill}, Disabled: true}
	a.changing.Lock()
	defer a.changing.Unlock()
	if a.sources[c.Source] != nil {
		a.log.Warn("two skills have one name: the later one is in force", "skill", skill.Name(), "by", a.who, "why", a.why)
	}
	a.replace(c)
	return nil
}

// programSource begins the sources of skills that the program registered itself.
const programSource = "program:"

// Unregister removes the skill of a name that is in force. One from a file stays
// away until its file changes.
func (a Actor) Unregister(name string) error {
	return a.change(name, "removed", func(n *named) {
		c := a.inForce(name, n)
		c.removed = true
		if strings.HasPrefix(c.source, programSource) {
			n.drop(c.source)
			delete(a.sources, c.source)
		}
		a.say(name, func(d *Decision) { d.State = "" })
	})
}

// Enable lets a skill be used.
func (a Actor) Enable(name string) error {
	return a.change(name, "enabled", func(*named) { a.say(name, func(d *Decision) { d.State = Enabled }) })
}

// Disable keeps a skill from being used.
func (a Actor) Disable(name string) error {
	return a.change(name, "disabled", func(*named) { a.say(name, func(d *Decision) { d.State = Disabled }) })
}

// change changes what is known about one name.
func (a Actor) change(name, message string, f func(*named)) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	n := a.names[name]
	if n == nil || a.gone(name, a.inForce(name, n)) {
		return fmt.Errorf("skill %q: %w", name, ErrNotFound)
	}
	a.log.Info("skill changed", "change", message, "skill", name, "by", a.who, "why", a.why)
	f(n)
	a.publish(map[string]bool{name: true})
	return nil
}

// maxTold is how many changes made at once are logged one by one; of more the
// number is, and each of them for debugging.
const maxTold = 20

// Replace makes the given changes in one step. The skills of a source have passed
// [Check].
func (a Actor) Replace(changes ...Change) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.replace(changes...)
}

func (a Actor) replace(changes ...Change) {
	touched := map[string]bool{}
	level := slog.LevelInfo
	if len(changes) > maxTold {
		a.log.Info("skill files changed", "files", len(changes), "by", a.who, "why", a.why)
		level = slog.LevelDebug
	}
	for _, c := range changes {
		if c.Err != nil {
			a.log.Warn("skill file cannot be used; what was in force stays", "file", c.Source, "error", c.Err, "by", a.who, "why", a.why)
			a.failed[c.Source] = c.Err
		} else {
			delete(a.failed, c.Source)
		}
		for _, name := range a.sources[c.Source] {
			touched[name] = true
			if c.Err != nil {
				continue
			}
			a.names[name].drop(c.Source)
			if !slices.ContainsFunc(c.Skills, func(s Skill) bool { return s.Name() == name }) {
				a.log.Log(context.Background(), level, "skill gone", "skill", name, "file", c.Source, "by", a.who, "why", a.why)
			}
		}
		if c.Err == nil {
			delete(a.sources, c.Source)
			a.add(c, touched, level)
		}
	}
	a.publish(touched)
}

// add makes the skills of a source candidates.
func (a Actor) add(c Change, touched map[string]bool, level slog.Level) {
	for _, s := range c.Skills {
		d := DetailsOf(s)
		n := a.names[s.Name()]
		if n == nil {
			n = &named{}
			a.names[s.Name()] = n
		}
		added := &candidate{
			skill: s, details: d, definition: Definition(s), schema: sync.OnceValues(func() (*tool.Schema, error) { return compile(s) }),
			scope: c.Scope, source: c.Source, since: time.Now(), initial: Enabled,
		}
		switch {
		case len(d.Unmet) > 0:
			added.initial, added.why = Loaded, strings.Join(d.Unmet, "; ")
		case strings.HasPrefix(c.Source, programSource):
			added.initial, added.why = Loaded, "nobody has enabled it yet"
		case c.Disabled:
			added.initial, added.why = Loaded, "its file says enabled: false"
		}
		n.candidates = append(n.candidates, added)
		slices.SortStableFunc(n.candidates, precedence)
		a.sources[c.Source] = append(a.sources[c.Source], s.Name())
		touched[s.Name()] = true
		for _, other := range n.candidates {
			if other != added && other.scope == c.Scope && other.details.Version == d.Version {
				a.log.Warn("two skills have one name: the later one is in force", "skill", s.Name(), "file", a.inForce(s.Name(), n).source, "shadowed", other.source)
			}
		}
		a.log.Log(context.Background(), level, "skill loaded", "skill", s.Name(), "file", c.Source, "by", a.who, "why", a.why)
	}
}

// precedence orders candidates so that the later one is in force: by scope, then
// by version, then by source.
func precedence(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.scope, b.scope), compareVersions(a.details.Version, b.details.Version), cmp.Compare(a.source, b.source))
}

func (n *named) drop(source string) {
	n.candidates = slices.DeleteFunc(n.candidates, func(c *candidate) bool { return c.source == source })
}

// gone reports whether a candidate was removed.
func (t *Table) gone(name string, c *candidate) bool {
	return c.removed || slices.Contains(t.said[name].Removed, c.source)
}

// inForce is the candidate that a name stands for: the last one that is there, of
// the version that was chosen if there is one.
func (t *Table) inForce(name string, n *named) *candidate {
	found := n.candidates[len(n.candidates)-1]
	version := t.said[name].Version
	for _, c := range n.candidates {
		switch {
		case t.gone(name, c):
		case version == "", t.gone(name, found), c.details.Version == version, found.details.Version != version:
			found = c
		}
	}
	return found
}

// publish makes a new snapshot in which some names have changed.
func (t *Table) publish(touched map[string]bool) {
	old := t.current.Load()
	byName := maps.Clone(old.byName)
	names := slices.Sorted(maps.Keys(touched))
	for _, name := range names {
		n := t.names[name]
		if len(n.candidates) == 0 {
			delete(t.names, name)
			delete(byName, name)
			continue
		}
		byName[name] = t.entry(name, n)
	}
	next := newSnapshot(byName, merge(old.list, names, byName), t.withoutSkills())
	t.current.Store(next)
	for _, f := range t.watchers {
		f(next)
	}
}

// entry is what stands in a snapshot for a name.
func (t *Table) entry(name string, n *named) *Entry {
	c := t.inForce(name, n)
	e := t.entryOf(c)
	for _, other := range slices.Backward(n.candidates) {
		if other != c && !t.gone(name, other) {
			e.Shadows = append(e.Shadows, t.entryOf(other))
		}
	}
	e.State, e.Why = c.initial, c.why
	said := t.said[name]
	switch {
	case t.gone(name, c):
		e.State, e.Why = Removed, "removed"
	case said.State == Disabled:
		e.State, e.Why = Disabled, said.disabled()
	case said.State == Enabled:
		e.State, e.Why = Enabled, ""
	}
	if e.State == Enabled {
		if why := t.limit(e); why != "" {
			e.State, e.Why = Loaded, why
		}
	}
	return e
}

func (t *Table) entryOf(c *candidate) *Entry {
	return &Entry{Skill: c.skill, Details: c.details, State: Loaded, Scope: c.scope, Source: c.source, Since: c.since, Err: t.failed[c.source], definition: c.definition, schema: c.schema}
}

// withoutSkills are the failures of sources that give nothing.
func (t *Table) withoutSkills() map[string]error {
	failed := maps.Clone(t.failed)
	maps.DeleteFunc(failed, func(source string, _ error) bool { return len(t.sources[source]) > 0 })
	return failed
}

// Call executes a skill that may be used, after its arguments have been held
// against its parameters.
func (t *Table) Call(ctx context.Context, name string, args []byte) (any, error) {
	e, err := t.usable(name)
	if err != nil {
		return nil, err
	}
	schema, err := e.schema()
	return execute(ctx, e.Skill, schema, err, args)
}

// compareVersions compares dotted versions number by number, and the rest as
// text: 1.10 is higher than 1.9, and a version higher than none.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(strings.TrimPrefix(a, "v"), ".")
		y, b, _ = strings.Cut(strings.TrimPrefix(b, "v"), ".")
		if c := cmp.Or(compareNumbers(x, y), strings.Compare(x, y)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNumbers compares the numbers with which two texts begin.
func compareNumbers(a, b string) int {
	digits := func(s string) string {
		s = s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
		return strings.TrimLeft(s, "0")
	}
	x, y := digits(a), digits(b)
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

// errNoName is what Check says of a skill without a name.
var errNoName = errors.New("a skill has no name")
