// Package schema writes the JSON Schemas of tools as providers accept them.
//
// Each provider accepts a part of JSON Schema, and refuses the whole request for one tool that uses
// another part. [Dialect.Adapt] makes the smallest change that a provider accepts: what only its form
// forbids is written in another form, and what it cannot express is left out and said in the
// description. Whoever runs the call checks the arguments against the tool's own schema, so nothing
// is allowed that the tool forbids.
//
// The result depends on the dialect and the schema alone: requests of a conversation begin with the
// same bytes.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Adaptation is a schema as a provider accepts it.
type Adaptation struct {
	// Parameters is the schema; nil leaves it out.
	Parameters json.RawMessage
	// Changes say what was changed, each once and in order.
	Changes []string
	// Strict says that the model can be held to it.
	Strict bool

	renamed  map[string]string // properties: the tool's name by the provider's
	optional *object           // the tool's schema, whose optional properties may come back as null
}

// none is the schema of a tool without parameters.
const none = `{"type":"object","properties":{}}`

// limits of the work for one schema.
const (
	maxParts  = 20_000 // schemas in it, with its references written out
	maxUnroll = 2      // how often a reference is written out inside itself
)

// Adapt returns a tool's parameters as the dialect has them. One that is no schema becomes that of a
// tool without parameters.
func (d Dialect) Adapt(parameters json.RawMessage) Adaptation {
	a := &adapter{Dialect: d, open: map[string]int{}, names: map[string]string{}, taken: map[string]bool{},
		changed: map[string]bool{}}
	if len(parameters) == 0 {
		parameters = json.RawMessage(none)
	}
	v, err := parse(parameters)
	root, ok := v.(*object)
	if err != nil || !ok {
		root = newObject()
		a.change("no schema: none")
	}
	if d.strict {
		a.optional, _ = clone(root).(*object)
	}
	a.root, _ = clone(root).(*object)
	a.reserve(a.root)
	root = a.top(root)
	out := Adaptation{Changes: a.changes, renamed: a.names, optional: a.optional}
	if d.strict {
		out.Strict = a.close(root)
		if !out.Strict {
			loose, _ := ByName("openai")
			return loose.Adapt(parameters)
		}
	}
	if d.sealed {
		out.Strict = seal(root)
	}
	if d.noEmpty && len(root.object("properties").keys) == 0 {
		out.Changes = append(out.Changes, "no parameters: left out")
		return out
	}
	out.Parameters = appendJSON(make([]byte, 0, len(parameters)+len(parameters)/8), root)
	return out
}

// Restore returns the arguments of a call with the tool's own names of its properties, and without
// what only strict schemas ask for.
func (a Adaptation) Restore(arguments json.RawMessage) json.RawMessage {
	if len(a.renamed) == 0 && a.optional == nil {
		return arguments
	}
	v, err := parse(arguments)
	if o, ok := v.(*object); err == nil && ok {
		if a.optional != nil {
			withoutNulls(o, a.optional)
		}
		own(o, a.renamed)
		return appendJSON(nil, o)
	}
	return arguments
}

func own(v any, names map[string]string) {
	switch v := v.(type) {
	case *object:
		for i, key := range v.keys {
			inner := v.values[key]
			own(inner, names)
			if name, ok := names[key]; ok && !v.has(name) {
				delete(v.values, key)
				v.keys[i], v.values[name] = name, inner
			}
		}
	case []any:
		for _, inner := range v {
			own(inner, names)
		}
	}
}

// withoutNulls removes the nulls that stand for properties that are not given. A property that may
// be null by the tool's schema keeps it.
func withoutNulls(o, s *object) {
	required := s.list("required")
	for _, key := range slices.Clone(o.keys) {
		p := s.object("properties").object(key)
		if p == nil {
			continue
		}
		if o.values[key] == nil && !slices.Contains(required, any(key)) && !allowsNull(p) {
			o.remove(key)
		}
		switch inner := o.values[key].(type) {
		case *object:
			withoutNulls(inner, p)
		case []any:
			for _, element := range inner {
				if e, ok := element.(*object); ok && p.object("items") != nil {
					withoutNulls(e, p.object("items"))
				}
			}
		}
	}
}

func allowsNull(s *object) bool {
	if !s.has("type") && !s.has("enum") && !s.has("anyOf") && !s.has("oneOf") {
		return true
	}
	return s.text("type") == "null" || slices.Contains(s.list("type"), any("null")) ||
		slices.Contains(s.list("enum"), nil) ||
		slices.ContainsFunc(slices.Concat(s.list("anyOf"), s.list("oneOf")), func(b any) bool {
			o, ok := b.(*object)
			return ok && allowsNull(o)
		})
}

// Description returns a tool's description as the provider accepts it.
func (d Dialect) Description(text string) string {
	if d.maxDescription == 0 || len(text) <= d.maxDescription {
		return text
	}
	runes := []rune(text)
	if len(runes) <= d.maxDescription {
		return text
	}
	cut := string(runes[:d.maxDescription-1])
	if at := strings.LastIndexAny(cut, " \n"); at > len(cut)*3/4 {
		cut = cut[:at]
	}
	return cut + "…"
}

// adapter adapts one schema.
type adapter struct {
	Dialect
	root     *object           // as it was
	optional *object           // the same, for strict
	parts    int               // schemas so far
	open     map[string]int    // references that are being written out
	names    map[string]string // properties that were renamed
	taken    map[string]bool   // names of properties
	changed  map[string]bool
	changes  []string
}

// change notes a change.
func (a *adapter) change(format string, args ...any) {
	if says := fmt.Sprintf(format, args...); !a.changed[says] && len(a.changes) < 20 {
		a.changed[says] = true
		a.changes = append(a.changes, says)
	}
}

// reserve notes the names of all properties.
func (a *adapter) reserve(v any) {
	switch v := v.(type) {
	case *object:
		if p := v.object("properties"); p != nil {
			for _, name := range p.keys {
				a.taken[name] = true
			}
		}
		for _, inner := range v.values {
			a.reserve(inner)
		}
	case []any:
		for _, inner := range v {
			a.reserve(inner)
		}
	}
}
