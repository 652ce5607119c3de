package subschema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Endless reports whether some part of a schema describes a value by itself, so that a validator
// would not end.
func Endless(s *jsonschema.Schema) bool {
	type set = map[*jsonschema.Schema]bool
	seen, above, done := set{s: true}, set{}, set{}
	var circle func(s *jsonschema.Schema) bool
	circle = func(s *jsonschema.Schema) bool {
		if s == nil || done[s] || above[s] {
			return s != nil && above[s]
		}
		above[s] = true
		found := slices.ContainsFunc(beside(s), circle)
		delete(above, s)
		done[s] = true
		return found
	}
	for all := []*jsonschema.Schema{s}; len(all) > 0; {
		next := all[len(all)-1]
		all = all[:len(all)-1]
		if circle(next) {
			return true
		}
		for _, inner := range append(beside(next), within(next)...) {
			if inner != nil && !seen[inner] {
				seen[inner] = true
				all = append(all, inner)
			}
		}
	}
	return false
}

// within returns the schemas in a schema that describe parts of its values; some may be nil.
func within(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{
		one(s.AdditionalProperties), s.UnevaluatedProperties, s.PropertyNames,
		one(s.Items), one(s.AdditionalItems), s.Items2020, s.UnevaluatedItems, s.Contains,
	}
	for _, inner := range s.Properties {
		list = append(list, inner)
	}
	for _, inner := range s.PatternProperties {
		list = append(list, inner)
	}
	items, _ := s.Items.([]*jsonschema.Schema)
	return append(append(list, items...), s.PrefixItems...)
}

// Exceeds reports whether a validator needs more than some steps for a value. The steps of a schema
// that refers to itself can double with each level of the value.
func Exceeds(s *jsonschema.Schema, value any, steps int) bool {
	w := work{steps: steps, looks: maxLooks}
	w.weigh(map[*jsonschema.Schema]int{s: 1}, value)
	return w.steps < 0 || w.looks < 0
}

// work counts what is left.
type work struct{ steps, looks int }

// weigh counts the steps for a value that schemas describe, each as often as its number says.
func (w *work) weigh(schemas map[*jsonschema.Schema]int, value any) {
	all := map[*jsonschema.Schema]int{}
	for s, times := range schemas {
		w.add(all, s, times, value)
	}
	inner := func(of func(schemas []*jsonschema.Schema) []*jsonschema.Schema) map[*jsonschema.Schema]int {
		next := map[*jsonschema.Schema]int{}
		for s, times := range all {
			for _, part := range of([]*jsonschema.Schema{s}) {
				if part != nil {
					next[part] += times
				}
			}
		}
		return next
	}
	switch v := value.(type) {
	case []any:
		for i := 0; i < len(v) && w.steps >= 0 && w.looks >= 0; i++ {
			parts := inner(func(list []*jsonschema.Schema) []*jsonschema.Schema { return ofItem(list, i) })
			w.weigh(parts, v[i])
		}
	case map[string]any:
		for name, item := range v {
			if w.steps < 0 || w.looks < 0 {
				return
			}
			parts := inner(func(list []*jsonschema.Schema) []*jsonschema.Schema { return ofProperty(list, name) })
			w.weigh(parts, item)
		}
	}
}

func (w *work) add(all map[*jsonschema.Schema]int, s *jsonschema.Schema, times int, value any) {
	if s == nil || w.steps < 0 || w.looks < 0 {
		return
	}
	cost := 1
	if s.Enum != nil {
		cost += len(s.Enum.Values)
	}
	if text, ok := value.(string); ok && s.Pattern != nil {
		cost += len(text)
	}
	w.looks--
	w.steps -= times * cost
	all[s] += times
	for _, other := range beside(s) {
		w.add(all, other, times, value)
	}
}
