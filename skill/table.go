package skill

import (
	"context"
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

// Change replaces the skills of one source.
type Change struct {
	// Source is the file. Among sources of one scope and version, the last one by
	// name is in effect.
	Source string
	Scope  Scope
	// Skills are all skills of the source; none when it is gone.
	Skills []Skill
	// Disabled means that the source says enabled: false.
	Disabled bool
	// Err says why the source cannot be used. Its earlier skills stay.
	Err error
}

// Table is the registry of a running etui. It is safe for concurrent use: readers
// take an immutable snapshot and never wait, writers take turns. A change copies a
// map of all skills; a lookup does not depend on their number.
type Table struct {
	log     *slog.Logger
	current atomic.Pointer[Snapshot]

	changing sync.Mutex // guards what follows
	names    map[string]*candidates
	said     map[string]Decision // by name, also of skills that do not exist
	limit    func(*Entry) string
	sources  map[string][]string // the names of a source's skills
	failed   map[string]error    // by source
	watchers []func(*Snapshot)
}

var _ Registry = (*Table)(nil)

// NewTable returns an empty table. A nil log discards.
func NewTable(log *slog.Logger) *Table {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &Table{
		log: log, names: map[string]*candidates{}, said: map[string]Decision{},
		limit:   func(*Entry) string { return "" },
		sources: map[string][]string{}, failed: map[string]error{},
	}
	t.current.Store(newSnapshot(map[string]*Entry{}, nil, nil))
	return t
}

// Snapshot returns the current content.
func (t *Table) Snapshot() *Snapshot { return t.current.Load() }

// Watch calls f with the current snapshot and with every new one, in order, before
// the change returns. f must not change the table.
func (t *Table) Watch(f func(*Snapshot)) {
	t.changing.Lock()
	defer t.changing.Unlock()
	t.watchers = append(t.watchers, f)
	f(t.current.Load())
}

// Register adds a skill of the program.
func (t *Table) Register(skill Skill) error { return t.As("program", "").Register(skill) }

// Unregister removes the skill of a name.
func (t *Table) Unregister(name string) error { return t.As("program", "").Unregister(name) }

// Enable lets a skill be used.
func (t *Table) Enable(name string) error { return t.As("program", "").Enable(name) }

// Disable stops a skill from being used.
func (t *Table) Disable(name string) error { return t.As("program", "").Disable(name) }

// Get returns a skill. One that may not be used comes with a [StateError].
func (t *Table) Get(name string) (Skill, error) {
	e, err := t.usable(name)
	if e == nil {
		return nil, err
	}
	return e.Skill, err
}

func (t *Table) usable(name string) (*Entry, error) {
	e, ok := t.Snapshot().Get(name)
	switch {
	case !ok || e.State == Removed:
		return nil, fmt.Errorf("skill %q: %w", name, ErrNotFound)
	case e.State != Enabled:
		return e, &StateError{name, e.State, e.Why}
	}
	return e, nil
}

// List returns all skills, by name.
func (t *Table) List() []Skill { return slices.Clone(t.Snapshot().all()) }

// ListEnabled returns the skills that may be used, by name.
func (t *Table) ListEnabled() []Skill { return slices.Clone(t.Snapshot().enabled()) }

// ToTools returns the definitions of the skills that may be used, by name.
func (t *Table) ToTools() []tool.Definition { return slices.Clone(t.Snapshot().tools()) }

// Actor changes a table in somebody's name.
type Actor struct {
	*Table
	who, why string
}

var _ Registry = Actor{}

// As returns the same registry; its changes are logged with who makes them and why.
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
		a.log.Warn("two skills have one name: the later one is in effect", "skill", skill.Name(), "by", a.who, "why",
			a.why)
	}
	a.replace(c)
	return nil
}

// programSource begins the sources of skills that the program registered.
const programSource = "program:"

// Unregister removes the skill of a name. One from a file stays away until the file
// changes.
func (a Actor) Unregister(name string) error {
	return a.change(name, "removed", func(n *candidates) {
		c := a.effective(name, n)
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
	return a.change(name, "enabled", func(*candidates) { a.say(name, func(d *Decision) { d.State = Enabled }) })
}

// Disable stops a skill from being used.
func (a Actor) Disable(name string) error {
	return a.change(name, "disabled", func(*candidates) { a.say(name, func(d *Decision) { d.State = Disabled }) })
}

// change changes one name by f.
func (a Actor) change(name, message string, f func(*candidates)) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	n := a.names[name]
	if n == nil || a.gone(name, a.effective(name, n)) {
		return fmt.Errorf("skill %q: %w", name, ErrNotFound)
	}
	a.log.Info("skill changed", "change", message, "skill", name, "by", a.who, "why", a.why)
	f(n)
	a.publish(map[string]bool{name: true})
	return nil
}

// maxTold is how many changes at once are logged one by one. Of more, the number is
// logged, and each at debug level.
const maxTold = 20

// Replace makes the changes in one step. The skills must have passed [Check].
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
			a.log.Warn("skill file cannot be used; the last good version stays", "file", c.Source, "error", c.Err, "by",
				a.who, "why", a.why)
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
				a.log.Log(context.Background(), level, "skill gone", "skill", name, "file", c.Source, "by", a.who,
					"why", a.why)
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
			n = &candidates{}
			a.names[s.Name()] = n
		}
		added := &candidate{
			skill: s, details: d, definition: Definition(s),
			schema: sync.OnceValues(func() (*tool.Schema, error) { return compile(s) }),
			scope:  c.Scope, source: c.Source, since: time.Now(), initial: Enabled,
		}
		switch {
		case len(d.Unmet) > 0:
			added.initial, added.why = Loaded, strings.Join(d.Unmet, "; ")
		case strings.HasPrefix(c.Source, programSource):
			added.initial, added.why = Loaded, "it was not enabled yet"
		case c.Disabled:
			added.initial, added.why = Loaded, "its file says enabled: false"
		}
		n.candidates = append(n.candidates, added)
		slices.SortStableFunc(n.candidates, precedence)
		a.sources[c.Source] = append(a.sources[c.Source], s.Name())
		touched[s.Name()] = true
		a.reportShadowed(added, n)
		a.log.Log(context.Background(), level, "skill loaded", "skill", s.Name(), "file", c.Source, "by", a.who, "why",
			a.why)
	}
}

// reportShadowed says which of a new candidate and those beside it are not in effect, where
// neither their folder nor their version tells.
func (a Actor) reportShadowed(added *candidate, n *candidates) {
	name := added.skill.Name()
	same := slices.DeleteFunc(slices.Clone(n.candidates), func(c *candidate) bool {
		return c.scope != added.scope || c.details.Version != added.details.Version || a.gone(name, c)
	})
	for len(same) > 1 {
		last, c := same[len(same)-1], same[0]
		if same = same[1:]; c == added || last == added {
			a.log.Warn("two skills have one name: that of the last file by name is in effect", "skill", name, "file",
				last.source, "shadowed", c.source)
		}
	}
}

// gone reports whether a candidate is removed.
func (t *Table) gone(name string, c *candidate) bool {
	return c.removed || slices.Contains(t.said[name].Removed, c.source)
}

// effective returns the candidate that is in effect: the last one that is not
// removed, of the chosen version if there is one.
func (t *Table) effective(name string, n *candidates) *candidate {
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

// publish makes a new snapshot after some names have changed.
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

// entry makes the entry of a name.
func (t *Table) entry(name string, n *candidates) *Entry {
	c := t.effective(name, n)
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
	return &Entry{Skill: c.skill, Details: c.details, State: Loaded, Scope: c.scope, Source: c.source, Since: c.since,
		Err: t.failed[c.source], definition: c.definition, schema: c.schema}
}

// withoutSkills returns the failures of sources without any skill.
func (t *Table) withoutSkills() map[string]error {
	failed := maps.Clone(t.failed)
	maps.DeleteFunc(failed, func(source string, _ error) bool { return len(t.sources[source]) > 0 })
	return failed
}

// Call validates the arguments and executes a skill that may be used.
func (t *Table) Call(ctx context.Context, name string, args []byte) (any, error) {
	e, err := t.usable(name)
	if err != nil {
		return nil, err
	}
	schema, err := e.schema()
	return execute(ctx, e.Skill, schema, err, args)
}
