package subschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// FindMisnamed says which name in a valid value differs from a property of the schema only in its case;
// it is empty if none does.
func FindMisnamed(s *jsonschema.Schema, value any) string {
	n := names{}
	return n.misnamed([]*jsonschema.Schema{s}, value)
}

// maxLooks is how many schemas are looked at for the values of some arguments.
const maxLooks = 2_000_000

// names looks at names.
type names struct{ looks int }

// misnamed looks for such a name in a value that several schemas describe.
func (n *names) misnamed(schemas []*jsonschema.Schema, value any) string {
	switch value.(type) {
	case []any, map[string]any:
	default:
		return ""
	}
	schemas = described(schemas)
	if n.looks += len(schemas); n.looks > maxLooks {
		return "the arguments have too many parts for so large a schema"
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if problem := n.misnamed(ofItem(schemas, i), item); problem != "" {
				return problem
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if known := almost(schemas, name); known != "" {
				return fmt.Sprintf("%q must be written %q", name, known)
			}
			if problem := n.misnamed(ofProperty(schemas, name), v[name]); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// described adds to schemas those that describe the same value. A schema that may not
// apply, as one of several alternatives, counts as well.
func described(schemas []*jsonschema.Schema) (all []*jsonschema.Schema) {
	seen := map[*jsonschema.Schema]bool{}
	var add func(list []*jsonschema.Schema)
	add = func(list []*jsonschema.Schema) {
		for _, s := range list {
			if s == nil || seen[s] {
				continue
			}
			seen[s] = true
			all = append(all, s)
			add(beside(s))
		}
	}
	add(schemas)
	return all
}

// beside returns the schemas in a schema that describe the same value as it; some may be nil.
func beside(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.If, s.Then, s.Else, s.Not}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf)
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	for _, inner := range s.DependentSchemas {
		list = append(list, inner)
	}
	for _, inner := range s.Dependencies {
		list = append(list, one(inner))
	}
	return list
}

// one returns a part of a schema that is a schema; nil for other parts.
func one(part any) *jsonschema.Schema {
	s, _ := part.(*jsonschema.Schema)
	return s
}

// almost returns the property that a name means, unless it is one itself.
func almost(schemas []*jsonschema.Schema, name string) (known string) {
	for _, s := range schemas {
		if _, ok := s.Properties[name]; ok {
			return ""
		}
		for p := range s.Properties {
			if strings.EqualFold(p, name) {
				known = max(known, p)
			}
		}
	}
	return known
}

// ofProperty returns the schemas that may describe a property.
func ofProperty(schemas []*jsonschema.Schema, name string) (list []*jsonschema.Schema) {
	for _, s := range schemas {
		p, ok := s.Properties[name]
		if list = append(list, p); !ok {
			list = append(list, one(s.AdditionalProperties), s.UnevaluatedProperties)
		}
		for pattern, p := range s.PatternProperties {
			if pattern.MatchString(name) {
				list = append(list, p)
			}
		}
	}
	return list
}

// ofItem returns the schemas that may describe an item of a list.
func ofItem(schemas []*jsonschema.Schema, i int) (list []*jsonschema.Schema) {
	for _, s := range schemas {
		list = append(list, one(s.Items), one(s.AdditionalItems), s.Items2020, s.UnevaluatedItems, s.Contains)
		items, _ := s.Items.([]*jsonschema.Schema)
		for _, several := range [][]*jsonschema.Schema{items, s.PrefixItems} {
			if i < len(several) {
				list = append(list, several[i])
			}
		}
	}
	return list
}
