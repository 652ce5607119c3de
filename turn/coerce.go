package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/tool"
)

// fitting returns arguments that fit a tool's schema. Those that do not, but can
// be read in one way only, are changed: "5" where a number is wanted, 5 where a
// text is, one value where a list of such values is, JSON in a text, null or
// "null" for what may be left out. What still does not fit is returned as it is.
func fitting(e *catalog.Entry, args json.RawMessage) json.RawMessage {
	schema, err := e.Schema()
	if err != nil || schema.Validate(args) == nil {
		return args
	}
	var wanted shape
	var value any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	// A part that is not as expected stays empty, and says nothing about types.
	_ = json.Unmarshal(e.Definition.Parameters, &wanted)
	if d.Decode(&value) != nil {
		return args
	}
	changed, err := json.Marshal(wanted.coerce(value, 0))
	if err != nil || schema.Validate(changed) != nil {
		return args
	}
	return changed
}

// shape is the part of a JSON Schema that says of which type a value is.
type shape struct {
	Type       types            `json:"type"`
	AnyOf      []shape          `json:"anyOf"`
	OneOf      []shape          `json:"oneOf"`
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
	Required   []string         `json:"required"`
}

// types are the values of "type": one or several.
type types []string

func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// misnamed finds a name that differs from that of a parameter in its case alone.
// Some tools read the one as the other, of which neither the schema nor the policy
// would know.
func misnamed(e *catalog.Entry, args json.RawMessage) error {
	var wanted shape
	var value any
	_ = json.Unmarshal(e.Definition.Parameters, &wanted) // as in fitting
	if json.Unmarshal(args, &value) != nil {
		return nil // the schema says so
	}
	if problem := wanted.misnamed(value, 0); problem != "" {
		return &tool.Mismatch{Problems: []string{problem}}
	}
	return nil
}

func (s *shape) misnamed(value any, depth int) string {
	if depth > maxCoerced {
		return ""
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if s.Items == nil {
				break
			}
			if problem := s.Items.misnamed(item, depth+1); problem != "" {
				return problem
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p, ok := s.Properties[name]; ok {
				if problem := p.misnamed(v[name], depth+1); problem != "" {
					return problem
				}
				continue
			}
			for known := range s.Properties {
				if strings.EqualFold(name, known) {
					return fmt.Sprintf("%q is to be written %q", name, known)
				}
			}
		}
	}
	return ""
}

// allows reports whether a value may be of a type.
func (s *shape) allows(name string) bool {
	in := func(alternatives []shape) bool {
		return slices.ContainsFunc(alternatives, func(a shape) bool { return a.allows(name) })
	}
	return slices.Contains(s.Type, name) || in(s.AnyOf) || in(s.OneOf)
}

// open reports whether the schema does not say of which type a value is.
func (s *shape) open() bool { return len(s.Type)+len(s.AnyOf)+len(s.OneOf) == 0 }

// maxCoerced is how deep values are looked at.
const maxCoerced = 8

// coerce returns the value that is meant, or the value as it is.
func (s *shape) coerce(value any, depth int) any {
	if s.open() || depth > maxCoerced {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return s.object(v, depth)
	case []any:
		for i := range v {
			if s.Items != nil {
				v[i] = s.Items.coerce(v[i], depth+1)
			}
		}
		return v
	case string:
		if !s.allows("string") {
			return s.fromText(v, depth)
		}
	case json.Number:
		number := s.allows("number") || s.allows("integer")
		if !number && s.allows("string") {
			return v.String()
		}
		if !number {
			return s.listOf(v, depth)
		}
	case bool:
		switch {
		case s.allows("boolean"):
		case s.allows("string"):
			return strconv.FormatBool(v)
		default:
			return s.listOf(v, depth)
		}
	}
	return value
}

func (s *shape) object(v map[string]any, depth int) any {
	if !s.allows("object") {
		return s.listOf(v, depth)
	}
	for name, p := range s.Properties {
		value, ok := v[name]
		if !ok {
			continue
		}
		nothing := value == nil || value == "null" && !p.allows("string")
		if nothing && !p.open() && !p.allows("null") && !slices.Contains(s.Required, name) {
			delete(v, name)
			continue
		}
		v[name] = p.coerce(value, depth+1)
	}
	return v
}

// fromText reads a text where none is allowed.
func (s *shape) fromText(text string, depth int) any {
	trimmed := strings.TrimSpace(text)
	var value any
	d := json.NewDecoder(strings.NewReader(trimmed))
	d.UseNumber()
	if d.Decode(&value) == nil && !d.More() && s.takes(value) {
		return s.coerce(value, depth+1)
	}
	if b, err := strconv.ParseBool(strings.ToLower(trimmed)); err == nil && len(trimmed) > 1 && s.allows("boolean") {
		return b // True, FALSE
	}
	return s.listOf(text, depth)
}

// takes reports whether a value read from a text is of a type that is allowed.
func (s *shape) takes(value any) bool {
	switch v := value.(type) {
	case json.Number:
		return s.allows("number") || s.allows("integer") && !strings.ContainsAny(v.String(), ".eE")
	case bool:
		return s.allows("boolean")
	case map[string]any:
		return s.allows("object")
	case []any:
		return s.allows("array")
	case nil:
		return s.allows("null")
	}
	return false
}

// listOf makes a single value the list that is wanted.
func (s *shape) listOf(value any, depth int) any {
	if !s.allows("array") {
		return value
	}
	if s.Items != nil {
		value = s.Items.coerce(value, depth+1)
	}
	return []any{value}
}
