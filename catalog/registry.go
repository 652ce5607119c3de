package catalog

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/tool"
)

// Registry is where tools and toolsets are added, replaced and removed. Every
// change makes a new [Catalog]; changes are made one at a time, reads never
// wait. Adding many tools in one call makes one catalog, and is much cheaper
// than adding them one by one.
type Registry struct {
	log     *slog.Logger
	current atomic.Pointer[Catalog]

	mu        sync.Mutex      // guards what follows
	list      []*Registration // whether or not they are in force
	toolsets  []Skill         // of the program
	suppliers []supplier
	skills    skills // what toolsets and suppliers come to
	rules     Rules
	watchers  []func(*Catalog)
}

// NewRegistry returns an empty registry. A nil log discards.
func NewRegistry(log *slog.Logger) *Registry {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Registry{log: log}
	r.skills = skillsOf(nil, nil)
	r.current.Store(build(nil).with(r.skills, nil))
	return r
}

// Catalog returns what exists now.
func (r *Registry) Catalog() *Catalog { return r.current.Load() }

// Register adds tools that everybody may see. A tool whose name and source are
// already there replaces the old one in its place. A tool whose name came from
// another source shadows it: the later one is in force, the earlier one comes
// back when the later one is removed. Either all tools are added or, when one is
// not valid, none.
func (r *Registry) Register(tools ...tool.Tool) error { return r.add(nil, tools) }

// RegisterWithFilter adds a tool that only those callers may see and call for
// whom the filter says so. A nil filter is refused.
func (r *Registry) RegisterWithFilter(t tool.Tool, visible tool.FilterFunc) error {
	return r.RegisterAllWithFilter(visible, t)
}

// RegisterAllWithFilter adds tools that share one filter, which is asked once a
// selection for all of them.
func (r *Registry) RegisterAllWithFilter(visible tool.FilterFunc, tools ...tool.Tool) error {
	if visible == nil {
		return errors.New("registering with a nil filter: use Register for tools that everybody may see")
	}
	return r.add(&filter{visible}, tools)
}

func (r *Registry) add(f *filter, tools []tool.Tool) error {
	added, err := registrations(f, tools)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(slices.Clone(r.list), added)
	return nil
}

func registrations(f *filter, tools []tool.Tool) ([]*Registration, error) {
	added := make([]*Registration, len(tools))
	for i, t := range tools {
		var err error
		if added[i], err = newRegistration(t, f); err != nil {
			return nil, fmt.Errorf("registering: %w", err)
		}
	}
	return added, nil
}

// put adds to a list that the registry does not hold yet, and publishes it.
func (r *Registry) put(list, added []*Registration) {
	type id struct{ name, source string }
	place := make(map[id]int, len(list))
	owner := make(map[string]string, len(list))
	for i, old := range list {
		d := &old.Definition
		place[id{d.Name, d.Source}] = i
		owner[d.Name] = d.Source
	}
	for _, n := range added {
		d := &n.Definition
		if i, ok := place[id{d.Name, d.Source}]; ok {
			r.log.Debug("tool replaced", "tool", d.Name, "source", d.Source)
			list[i] = n
			continue
		}
		if source, ok := owner[d.Name]; ok {
			r.log.Warn("tool name clash: the later tool is in force", "tool", d.Name, "source", d.Source, "shadowed", source)
		}
		place[id{d.Name, d.Source}] = len(list)
		owner[d.Name] = d.Source
		list = append(list, n)
	}
	r.publish(list)
}

func (r *Registry) publish(list []*Registration) {
	r.list = list
	r.show(build(list))
}

// show puts a catalog of the given tools in force. What is made of it for reading
// is made now, so that no reader has to.
func (r *Registry) show(t tools) {
	c := t.with(r.skills, r.rules)
	c.guard()
	for _, f := range r.watchers {
		f(c)
	}
	r.current.Store(c)
}

// Watch calls f with the catalog as it is, and with every new one before it is in
// force and before the change that made it returns. f must not change the
// registry. It is called for as long as the registry exists.
func (r *Registry) Watch(f func(*Catalog)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, f)
	f(r.current.Load())
}

// Remove takes the tool that is in force under each name away, and reports
// how many there were. A tool that it shadowed comes back.
func (r *Registry) Remove(names ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.list)
	removed := 0
	for _, name := range names {
		for i, old := range slices.Backward(list) {
			if old.Definition.Name == name {
				list = slices.Delete(list, i, i+1)
				removed++
				break
			}
		}
	}
	if removed > 0 {
		r.publish(list)
	}
	return removed
}

// Wrap returns a registry of its own with the same tools, filters, toolsets and
// rules, in which calls go to what wrap makes of a tool. What tools are called
// and how they are described stays as it is.
func (r *Registry) Wrap(wrap func(tool.Tool) tool.Tool) *Registry {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrapped := NewRegistry(nil)
	wrapped.toolsets, wrapped.suppliers, wrapped.skills, wrapped.rules = r.toolsets, r.suppliers, r.skills, r.rules
	list := make([]*Registration, len(r.list))
	for i, old := range r.list {
		copied := *old
		copied.tool = wrap(old.tool)
		list[i] = &copied
	}
	wrapped.publish(list)
	return wrapped
}

// SetSkills makes the given toolsets the only ones beside those of suppliers, and
// returns a warning for every target that names no tool or group. A toolset that is not valid or is
// named twice is an error, and nothing changes.
func (r *Registry) SetSkills(toolsets ...Skill) (unknown []UnknownTarget, err error) {
	if err := checkAll(toolsets); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(slices.Clone(toolsets), r.rules)
	return r.unknown(), nil
}

func checkAll(toolsets []Skill) error {
	for i, t := range toolsets {
		if err := t.Check(); err != nil {
			return err
		}
		if slices.ContainsFunc(toolsets[:i], func(o Skill) bool { return o.Name == t.Name }) {
			return fmt.Errorf("the skill %q is defined twice", t.Name)
		}
	}
	return nil
}

// unknown finds what the toolsets name and what does not exist.
func (r *Registry) unknown() (unknown []UnknownTarget) {
	c := r.current.Load()
	for _, t := range r.toolsets {
		_, missing := c.Members(t)
		for _, target := range missing {
			r.log.Warn("skill names an unknown tool", "skill", t.Name, "tool", target)
			unknown = append(unknown, UnknownTarget{t.Name, target})
		}
	}
	return unknown
}

// UnknownTarget is an entry of a toolset that names no tool and no group.
type UnknownTarget struct{ Skill, Target string }
