package catalog

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/etui-run/etui/tool"
)

// Supply is everything that one supplier has. It comes and goes together.
type Supply struct {
	Tools  []tool.Tool
	Skills []Skill
	// Unavailable are skills of the supplier that cannot be used now.
	Unavailable []Unavailable
}

// supplier is a supplier's skills. Its tools are in the registry's list.
type supplier struct {
	name        string
	skills      []Skill
	unavailable []Unavailable
}

// Supply replaces everything that a supplier had with s, in one step. The supplier's
// name must not be empty.
//
// A supply never replaces a tool or skill that the program or another supplier has
// under the same name. Supply leaves out those, and invalid ones, and returns an
// error for each; the rest takes effect.
//
// A tool that is the same pointer as before keeps its registration, so that one change
// among thousands of tools costs little.
func (r *Registry) Supply(name string, s Supply) (leftOut []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, leftOut := r.supplyTools(name, s.Tools)
	skills, more := r.supplySkills(name, s.Skills)
	mine := supplier{name, skills, s.Unavailable}
	// A wrapped registry may hold the old slice.
	r.suppliers = slices.Clone(r.suppliers)
	if i := slices.IndexFunc(r.suppliers, func(o supplier) bool { return o.name == name }); i >= 0 {
		r.suppliers[i] = mine
	} else {
		r.suppliers = append(r.suppliers, mine)
	}
	r.skills = indexSkills(r.own, r.suppliers)
	if slices.Equal(r.list, list) {
		r.show(r.current.Load().toolIndex)
	} else {
		r.publish(list)
	}
	return append(leftOut, more...)
}

// supplyTools returns a list of the tools of others and the given ones.
func (r *Registry) supplyTools(name string, tools []tool.Tool) (list []*Registration, leftOut []error) {
	taken := make(map[string]*Registration, len(r.list))
	before := map[string]*Registration{}
	list = make([]*Registration, 0, len(r.list)+len(tools))
	for _, old := range r.list {
		if old.supplier == name {
			before[old.Definition.Name] = old
			continue
		}
		taken[old.Definition.Name] = old
		list = append(list, old)
	}
	for _, t := range tools {
		d := t.Definition()
		if other := taken[d.Name]; other != nil {
			leftOut = append(leftOut, fmt.Errorf("the tool %q of %s is left out: there is one of that name already, of %s", d.Name, d.Source, sourceOf(other)))
			continue
		}
		n := before[d.Name]
		if n == nil || !same(n.tool, t) {
			var err error
			if n, err = newRegistration(t, nil); err != nil {
				leftOut = append(leftOut, fmt.Errorf("the tool %q of %s is left out: %w", d.Name, d.Source, err))
				continue
			}
			n.supplier = name
		}
		taken[d.Name] = n
		list = append(list, n)
	}
	return list, leftOut
}

func sourceOf(r *Registration) string {
	if r.Definition.Source == "" {
		return "the program"
	}
	return r.Definition.Source
}

// same reports whether two tools are the same pointer.
func same(a, b tool.Tool) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Kind() == reflect.Pointer && a == b
}

// supplySkills returns the skills that are valid and whose names are free.
func (r *Registry) supplySkills(name string, skills []Skill) (kept []Skill, leftOut []error) {
	taken := map[string]bool{Full: true}
	for _, o := range r.suppliers {
		if o.name == name {
			continue
		}
		for _, s := range o.skills {
			taken[s.Name] = true
		}
	}
	for _, s := range skills {
		switch err := s.Check(); {
		case err != nil:
			leftOut = append(leftOut, err)
		case taken[s.Name]:
			leftOut = append(leftOut, fmt.Errorf("the skill %q is left out: there is one of that name already", s.Name))
		default:
			taken[s.Name] = true
			kept = append(kept, s)
		}
	}
	return kept, leftOut
}
