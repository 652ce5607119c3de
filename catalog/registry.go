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

// Registry is where tools and skills are added, replaced and removed. Every change
// publishes a new [Catalog]. Writers wait for each other, readers never wait. Adding
// many tools in one call builds one catalog, and is much cheaper than adding them one
// by one.
type Registry struct {
	log     *slog.Logger
	current atomic.Pointer[Catalog]

	mu        sync.Mutex      // guards what follows
	list      []*Registration // shadowed ones, too
	own       []Skill         // of the program
	suppliers []supplier
	skills    skillIndex // of both
	rules     Rules
	enriched  *enrichment
	watchers  []func(*Catalog)
}

// NewRegistry returns an empty registry. A nil log discards.
func NewRegistry(log *slog.Logger) *Registry {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Registry{log: log}
	r.skills = indexSkills(nil, nil)
	r.publish(nil)
	return r
}

// Catalog returns the current snapshot.
func (r *Registry) Catalog() *Catalog { return r.current.Load() }

// Register adds tools that everybody may see. A tool replaces an earlier one of the
// same name and source. It shadows one of the same name from another source, which
// comes back when the later one is removed. When one of the tools is not valid, none
// is added.
func (r *Registry) Register(tools ...tool.Tool) error { return r.add(nil, tools) }

// RegisterWithFilter adds a tool that only the callers whom the filter accepts may see
// and call. A nil filter is an error.
func (r *Registry) RegisterWithFilter(t tool.Tool, visible tool.FilterFunc) error {
	return r.RegisterAllWithFilter(visible, t)
}

// RegisterAllWithFilter adds tools that share one filter, which is called once for all
// of them in each selection.
func (r *Registry) RegisterAllWithFilter(visible tool.FilterFunc, tools ...tool.Tool) error {
	if visible == nil {
		return errors.New("registering with a nil filter: use Register for tools that everybody may see")
	}
	return r.add(&filter{visible}, tools)
}

func (r *Registry) add(f *filter, tools []tool.Tool) error {
	added := make([]*Registration, len(tools))
	for i, t := range tools {
		var err error
		if added[i], err = newRegistration(t, f); err != nil {
			return fmt.Errorf("registering: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.list)
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
			r.log.Warn("tool name clash: the later tool is in effect", "tool", d.Name, "source", d.Source, "shadowed",
				source)
		}
		place[id{d.Name, d.Source}] = len(list)
		owner[d.Name] = d.Source
		list = append(list, n)
	}
	r.publish(list)
	return nil
}

func (r *Registry) publish(list []*Registration) {
	r.list = list
	r.show(build(list))
}

// show puts a catalog of the given tools into effect. It binds the rules now, so that
// no reader has to.
func (r *Registry) show(t toolIndex) {
	c := &Catalog{toolIndex: t, skillIndex: r.skills, enriched: r.enriched}
	if r.rules != nil {
		c.ruled = &ruleset{rules: r.rules}
		c.guard()
	}
	for _, f := range r.watchers {
		f(c)
	}
	r.current.Store(c)
}

// Watch calls f with the current catalog, and with every new one before it takes
// effect and before the change that made it returns. It goes on for as long as the
// registry exists. f must not change the registry.
func (r *Registry) Watch(f func(*Catalog)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, f)
	f(r.current.Load())
}

// Remove removes the tool that is in effect under each name, and returns how many
// there were. A tool that it shadowed comes back.
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

// Wrap returns a separate registry with the same tools, filters, skills and rules, in
// which wrap replaces what a tool does. Names and descriptions stay the same.
func (r *Registry) Wrap(wrap func(tool.Tool) tool.Tool) *Registry {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrapped := NewRegistry(nil)
	wrapped.own, wrapped.suppliers, wrapped.skills, wrapped.rules, wrapped.enriched = r.own, r.suppliers, r.skills,
		r.rules, r.enriched
	list := make([]*Registration, len(r.list))
	for i, old := range r.list {
		copied := *old
		copied.tool = wrap(old.tool)
		list[i] = &copied
	}
	wrapped.publish(list)
	return wrapped
}

// SetSkills replaces the program's skills, and leaves those of suppliers. It returns a
// warning for every target that names no tool and no group. An invalid or duplicate
// skill is an error, and then nothing changes.
func (r *Registry) SetSkills(skills ...Skill) ([]UnknownTarget, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.update(skills, r.rules)
}

// Update does what SetSkills and SetRules do, in one step: rules may name skills.
func (r *Registry) Update(skills []Skill, rules Rules) ([]UnknownTarget, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.update(skills, rules)
}

func (r *Registry) update(skills []Skill, rules Rules) (unknown []UnknownTarget, err error) {
	for i, s := range skills {
		if err := s.Check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(skills[:i], func(o Skill) bool { return o.Name == s.Name }) {
			return nil, fmt.Errorf("the skill %q is defined twice", s.Name)
		}
	}
	r.own, r.rules = slices.Clone(skills), rules
	r.skills = indexSkills(r.own, r.suppliers)
	c := r.current.Load()
	r.show(c.toolIndex)
	for _, s := range r.own {
		_, missing := c.Members(s)
		for _, target := range missing {
			unknown = append(unknown, UnknownTarget{s.Name, target})
		}
	}
	return unknown, nil
}

// UnknownTarget is an entry of a skill's tools that names no tool and no group.
type UnknownTarget struct{ Skill, Target string }
