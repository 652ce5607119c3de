// Package arguments reads the arguments of a call that are nearly as the tool's schema wants them.
package arguments

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/plainjson"
)

// Fit returns arguments that fit a tool's schema. It converts values that have only
// one reading: "5" where the schema wants a number, 5 where it wants a string, one value
// for a list of such values, JSON in a string, null or "null" for an optional value, a name that
// models read in the place of a property's.
// Values that still do not fit are returned unchanged.
func Fit(e *catalog.Entry, args json.RawMessage) json.RawMessage {
	schema, err := e.Schema()
	known := e.Definition.Respell(args)
	if err != nil || schema.Validate(known) == nil {
		return known
	}
	var wanted shape
	// An unexpected part of the schema stays empty and restricts no types.
	_ = json.Unmarshal(e.Definition.Parameters, &wanted)
	value, err := plainjson.Decode(args)
	if err != nil {
		return known
	}
	changed, err := json.Marshal(wanted.coerce(value, 0))
	changed = e.Definition.Respell(changed)
	if err != nil || schema.Validate(changed) != nil {
		return known
	}
	return changed
}

// shape is the part of a JSON Schema about types.
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

// allows reports whether a value may be of a type.
func (s *shape) allows(name string) bool {
	in := func(alternatives []shape) bool {
		return slices.ContainsFunc(alternatives, func(a shape) bool { return a.allows(name) })
	}
	return slices.Contains(s.Type, name) || in(s.AnyOf) || in(s.OneOf)
}

// open reports whether the schema does not restrict the type.
func (s *shape) open() bool { return len(s.Type)+len(s.AnyOf)+len(s.OneOf) == 0 }

// maxCoerced is the depth to which values are converted.
const maxCoerced = 8

// coerce returns the converted value, or the value unchanged.
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

// fromText converts a string where the schema allows none.
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

// takes reports whether the schema allows the type of a value read from a string.
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

// listOf returns a list of the value if the schema wants a list.
func (s *shape) listOf(value any, depth int) any {
	if !s.allows("array") {
		return value
	}
	if s.Items != nil {
		value = s.Items.coerce(value, depth+1)
	}
	return []any{value}
}
