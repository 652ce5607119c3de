package catalog

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/etui-run/etui/tool"
)

// Supply is what one supplier gives. Everything in it comes and goes together.
type Supply struct {
	Tools  []tool.Tool
	Skills []Skill
	// Unavailable are skills that the supplier knows and that nobody may use now.
	// Explanations tell why.
	Unavailable []Unavailable
}

// supplier is who supplies, with what it gives beside tools.
type supplier struct {
	name        string
	toolsets    []Skill
	unavailable []Unavailable
}

// Supply makes what a supplier gives the only things that it gives, in one step.
// The supplier's name is not empty.
//
// Nothing of a supply replaces what the program or another supplier has under the
// same name. What is not valid, or whose name is taken, is left out and returned
// as an error each; all else is in force.
//
// A tool that is the same value as before keeps what was made of it, so that one
// change among thousands of tools costs little: tools are compared as pointers.
func (r *Registry) Supply(name string, s Supply) (leftOut []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, leftOut := r.supplyTools(name, s.Tools)
	toolsets, more := r.supplySkills(name, s.Skills)
	mine := supplier{name, toolsets, s.Unavailable}
	// Catalogs that are read hold the old slice.
	r.suppliers = slices.Clone(r.suppliers)
	if i := slices.IndexFunc(r.suppliers, func(o supplier) bool { return o.name == name }); i >= 0 {
		r.suppliers[i] = mine
	} else {
		r.suppliers = append(r.suppliers, mine)
	}
	r.skills = skillsOf(r.toolsets, r.suppliers)
	if slices.Equal(r.list, list) {
		r.show(r.current.Load().tools)
	} else {
		r.publish(list)
	}
	return append(leftOut, more...)
}

// supplyTools makes a list of the tools of others and the given ones.
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

// same reports whether two tools are one value. Only pointers are told apart.
func same(a, b tool.Tool) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Kind() == reflect.Pointer && a == b
}

// supplySkills returns those toolsets that are valid and whose names are free.
func (r *Registry) supplySkills(name string, toolsets []Skill) (kept []Skill, leftOut []error) {
	taken := make(map[string]bool, len(toolsets)+1)
	taken[Full] = true
	for _, o := range r.suppliers {
		if o.name == name {
			continue
		}
		for _, t := range o.toolsets {
			taken[t.Name] = true
		}
	}
	kept = make([]Skill, 0, len(toolsets))
	for _, t := range toolsets {
		switch err := t.Check(); {
		case err != nil:
			leftOut = append(leftOut, err)
		case taken[t.Name]:
			leftOut = append(leftOut, fmt.Errorf("the skill %q is left out: there is one of that name already", t.Name))
		default:
			taken[t.Name] = true
			kept = append(kept, t)
		}
	}
	return kept, leftOut
}

// skillsOf puts the toolsets of the program and of suppliers together. Of two with
// one name that of the program is in force.
func skillsOf(own []Skill, suppliers []supplier) skills {
	n := len(own) + 1
	for _, from := range suppliers {
		n += len(from.toolsets)
	}
	s := skills{toolsets: append(make([]Skill, 0, n), own...), bySkill: make(map[string]int, n)}
	for i, t := range own {
		s.bySkill[t.Name] = i
	}
	for _, from := range suppliers {
		for _, t := range from.toolsets {
			if _, taken := s.bySkill[t.Name]; taken {
				s.unavailable = append(s.unavailable, Unavailable{t.Name, "the configuration has a skill of that name"})
				continue
			}
			s.bySkill[t.Name] = len(s.toolsets)
			s.toolsets = append(s.toolsets, t)
		}
		s.unavailable = append(s.unavailable, from.unavailable...)
	}
	if _, ok := s.bySkill[Full]; !ok {
		s.bySkill[Full] = len(s.toolsets)
		s.toolsets = append(s.toolsets, full)
	}
	slices.SortStableFunc(s.unavailable, func(a, b Unavailable) int { return strings.Compare(a.Name, b.Name) })
	return s
}
