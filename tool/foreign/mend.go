package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/ecma"
	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/tool"
)

// maxDepth is how deep the parts of a schema are read; deeper ones stand for any value.
const maxDepth = 64

// Mend returns a schema of type object that compiles and means what a foreign one means, in draft
// 2020-12, with sentences that say what was repaired. The schema may refer to itself, but not to
// anything outside.
func Mend(schema any) (mended json.RawMessage, repairs []string) {
	m := mender{said: map[string]bool{}, defs: map[string]any{}, places: map[any]movedPart{}}
	root := m.object(schema)
	m.root = root
	m.collect(root, 0)
	whole := m.schema(root, 0)
	if kinds, _ := whole["type"].(string); kinds != "object" {
		whole["type"] = "object"
	}
	if len(m.defs) > 0 {
		whole["$defs"] = m.defs
	}
	mended = encode(whole)
	err := error(nil)
	if m.written > maxWritten {
		err = fmt.Errorf("the targets of its references have more than %d parts", maxWritten)
	} else {
		_, err = tool.CompileArguments(mended)
	}
	if err != nil {
		m.say("arguments are not checked: %.300s", err)
		mended = json.RawMessage(`{"type":"object"}`)
		if shown, ok := whole["properties"]; ok {
			mended = encode(map[string]any{"type": "object", "properties": hollow(shown)})
		}
	}
	return mended, slices.Sorted(maps.Keys(m.said))
}

// hollow returns properties with their descriptions alone.
func hollow(properties any) any {
	named, _ := properties.(map[string]any)
	kept := map[string]any{}
	for name, p := range named {
		kept[name] = map[string]any{}
		if one, ok := p.(map[string]any); ok && one["description"] != nil {
			kept[name] = map[string]any{"description": one["description"]}
		}
	}
	return kept
}

// encode writes JSON with sorted names.
func encode(v any) json.RawMessage {
	raw, _ := plainjson.Encode(v) // it was read as JSON before
	return raw
}

// mender mends one schema.
type mender struct {
	root     any
	said     map[string]bool
	named    map[string]any    // schemas with an identifier or anchor
	defs     map[string]any    // mended targets of references, by their new name
	places   map[any]movedPart // of those targets, by their identity
	written  int               // parts of those targets
	patterns ecma.Patterns
}

func (m *mender) say(format string, args ...any) { m.said[fmt.Sprintf(format, args...)] = true }

// object returns the schema of a tool's arguments as an object, whatever stands in its place.
func (m *mender) object(schema any) map[string]any {
	raw := encode(schema)
	copied, err := plainjson.Decode(raw)
	if err != nil {
		copied = nil
	}
	if text, ok := copied.(string); ok {
		if inner, err := plainjson.Decode([]byte(text)); err == nil {
			m.say("the schema was a text that holds JSON")
			copied = inner
		}
	}
	switch v := copied.(type) {
	case map[string]any:
		if len(v) > 0 && !slices.ContainsFunc(rootWords, func(word string) bool { _, ok := v[word]; return ok }) &&
			parameters(v) {
			m.say("the schema was a list of parameters")
			return map[string]any{"type": "object", "properties": v}
		}
		if kind := v["type"]; kind != "object" {
			m.sayType(kind)
			delete(v, "type")
		}
		return v
	case []any:
		if len(v) > 0 {
			m.say("the schema was a list of parameters")
			return map[string]any{"type": "object", "properties": v}
		}
		m.say("the schema was an empty list")
	case nil:
		m.say("there was no schema: any arguments are sent")
	case bool:
	default:
		m.say("the schema was no object: any arguments are sent")
	}
	return map[string]any{}
}

func (m *mender) sayType(kind any) {
	list, _ := kind.([]any)
	switch text, _ := kind.(string); {
	case slices.Contains(list, any("object")), strings.EqualFold(strings.TrimSpace(text), "object"):
		m.say("types in other words than JSON Schema's were read as what they mean")
	default:
		m.say("the schema did not say that arguments are an object")
	}
}

// rootWords are words whose values are objects in a schema, too.
var rootWords = []string{
	"properties", "patternProperties", "additionalProperties", "$defs", "definitions", "dependentSchemas",
	"dependencies",
	"dependentRequired", "propertyNames", "not", "if", "items",
}

// parameters reports whether all members look like schemas of parameters.
func parameters(members map[string]any) bool {
	for _, member := range members {
		one, ok := member.(map[string]any)
		if !ok || one["type"] == nil && one["description"] == nil {
			return false
		}
	}
	return true
}

// collect finds what references may name: identifiers and anchors.
func (m *mender) collect(v any, depth int) {
	if m.named == nil {
		m.named = map[string]any{}
	}
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			m.collect(inner, depth+1)
		}
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
			if name, ok := v[key].(string); ok {
				m.named[strings.TrimPrefix(name, "#")] = v
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m.collect(v[name], depth+1)
		}
	}
}

// schema mends what stands in the place of a schema.
func (m *mender) schema(v any, depth int) map[string]any {
	if depth > maxDepth {
		m.say("parts more than %d levels deep are not checked", maxDepth)
		return map[string]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		return m.members(v, depth)
	case bool:
		if !v {
			return map[string]any{"not": map[string]any{}}
		}
	case string:
		m.say("the name of a type stood in the place of a schema")
		return m.members(map[string]any{"type": v}, depth)
	case []any:
		m.say("a list stood in the place of a schema")
		if slices.ContainsFunc(v, func(inner any) bool { _, text := inner.(string); return !text }) {
			return m.members(map[string]any{"anyOf": v}, depth)
		}
		return m.members(map[string]any{"type": v}, depth)
	case nil:
		m.say("null stood in the place of a schema")
	default:
		m.say("a number stood in the place of a schema")
	}
	return map[string]any{}
}

// members mends the members of a schema. The order is that of their names, so that it always
// gives the same.
func (m *mender) members(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if mend := wordOf(key); mend == nil {
			out[key] = s[key]
		} else if v := mend(m, s, s[key], depth+1); v != nil {
			out[key] = v
		}
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if target, ok := s[key].(string); ok && out["$ref"] == nil {
			if place, ok := m.follow(target); ok {
				out["$ref"] = place
			}
		}
	}
	m.bounds(out)
	m.types(s, out, depth)
	m.required(s, out)
	m.lists(s, out, depth)
	m.dependencies(s, out, depth)
	m.values(out)
	return out
}

// word mends the value of one word of a schema; nil drops it.
type word func(m *mender, s map[string]any, v any, depth int) any

// wordOf returns what mends a word of JSON Schema; nil for words that are kept as they are.
func wordOf(key string) word {
	switch key {
	case "$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions",
		"$comment",
		// These are mended together with others.
		"$ref", "$dynamicRef", "$recursiveRef", "type", "nullable", "required", "items", "additionalItems",
		"prefixItems", "dependencies":
		return drop
	case "id":
		return dropText
	case "properties":
		return properties
	case "patternProperties":
		return patternProperties
	case "dependentSchemas":
		return schemas
	case "dependentRequired":
		return dependentRequired
	case "contains", "propertyNames", "not", "if", "then", "else", "contentSchema":
		return one
	case "unevaluatedItems", "unevaluatedProperties", "additionalProperties":
		return open
	case "allOf", "anyOf", "oneOf":
		return several
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return number
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
		"maxContains":
		return count
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return flag
	case "title", "description", "format", "contentEncoding", "contentMediaType":
		return text
	case "pattern":
		return pattern
	case "enum":
		return enum
	case "examples":
		return list
	}
	return nil
}

func drop(*mender, map[string]any, any, int) any { return nil }

// dropText drops an identifier of draft 4; anything else under its name is not one.
func dropText(_ *mender, _ map[string]any, v any, _ int) any {
	if _, ok := v.(string); ok {
		return nil
	}
	return v
}

func one(m *mender, _ map[string]any, v any, depth int) any { return m.schema(v, depth) }

// open mends a schema that may be a truth value.
func open(m *mender, s map[string]any, v any, depth int) any {
	switch v := v.(type) {
	case bool:
		return v
	case map[string]any:
		return m.schema(v, depth)
	case string:
		if truth := flag(m, s, v, depth); truth != nil {
			return truth
		}
	}
	m.say("additional properties or items were given as something that is no schema")
	return nil
}

func schemas(m *mender, _ map[string]any, v any, depth int) any {
	named, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out[name] = m.schema(named[name], depth)
	}
	return out
}

func properties(m *mender, s map[string]any, v any, depth int) any {
	if parameters, ok := v.([]any); ok {
		named := map[string]any{}
		for _, p := range parameters {
			if one, ok := p.(map[string]any); ok {
				if name, ok := one["name"].(string); ok {
					one = maps.Clone(one)
					delete(one, "name")
					named[name] = one
				}
			}
		}
		if len(parameters) > 0 {
			m.say("properties were given as a list")
		}
		s["properties"], v = named, named
	}
	if _, ok := v.(map[string]any); !ok && v != nil {
		m.say("properties were no object")
	}
	return schemas(m, s, v, depth)
}

func patternProperties(m *mender, s map[string]any, v any, depth int) any {
	named, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	kept := maps.Clone(named)
	for _, p := range slices.Sorted(maps.Keys(named)) {
		if pattern(m, s, p, depth) == nil {
			delete(kept, p)
		}
	}
	return schemas(m, s, kept, depth)
}

func several(m *mender, _ map[string]any, v any, depth int) any {
	list, ok := v.([]any)
	if !ok {
		m.say("alternatives were given as something that is no list")
		if v == nil {
			return nil
		}
		list = []any{v}
	}
	if len(list) == 0 {
		return nil
	}
	out := make([]any, len(list))
	for i := range list {
		out[i] = m.schema(list[i], depth)
	}
	return out
}

func text(_ *mender, _ map[string]any, v any, _ int) any {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return nil
}

func list(_ *mender, _ map[string]any, v any, _ int) any {
	if list, ok := v.([]any); ok {
		return list
	}
	return nil
}

// literal matches an expression of JavaScript with its slashes, between which it begins or ends a text:
// as a pattern it fits none.
var literal = regexp.MustCompile(`(?s)^/(\^.*|.*\$)/([dgimsuvy]*)$`)

func pattern(m *mender, _ map[string]any, v any, _ int) any {
	p, ok := v.(string)
	if !ok {
		return nil
	}
	if written := literal.FindStringSubmatch(p); written != nil {
		m.say("patterns between slashes, as JavaScript has them, were rewritten")
		if p = written[1]; strings.Contains(written[2], "i") {
			p = "(?i)" + p
		}
	}
	switch _, err := m.patterns.Compile(p); {
	case errors.Is(err, ecma.ErrMany):
		m.say("patterns with lookahead or back references, after the first %d, are not checked", ecma.MaxSlow)
		return nil
	case err != nil:
		m.say("patterns that no library here can compile are not checked")
		return nil
	}
	return p
}

func flag(_ *mender, _ map[string]any, v any, _ int) any {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	return nil
}

// maxDigits bounds a number; longer ones keep a validator busy.
const maxDigits = 40

var plainNumber = regexp.MustCompile(`^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,2})?$`)

// number returns a number, also one that is written as a text.
func number(m *mender, _ map[string]any, v any, _ int) any {
	var digits string
	switch v := v.(type) {
	case json.Number:
		digits = v.String()
	case string:
		digits = strings.TrimPrefix(strings.TrimSpace(v), "+")
		m.say("numbers were written as texts")
	case bool:
		return v // draft 4, see bounds
	}
	if len(digits) > maxDigits || !plainNumber.MatchString(digits) {
		m.say("limits that are no numbers were left out")
		return nil
	}
	n, err := plainjson.Decode([]byte(digits))
	if err != nil {
		return nil
	}
	return n
}

func positive(m *mender, s map[string]any, v any, depth int) any {
	if n, ok := number(m, s, v, depth).(json.Number); ok {
		if f, err := n.Float64(); err == nil && f > 0 {
			return n
		}
	}
	return nil
}

func count(m *mender, s map[string]any, v any, depth int) any {
	if n, ok := number(m, s, v, depth).(json.Number); ok {
		if f, err := n.Float64(); err == nil && f >= 0 && f == float64(int64(f)) {
			return n
		}
	}
	return nil
}

// bounds replaces the exclusive bounds of draft 4, which are truth values, and drops truth values
// that are none.
func (m *mender) bounds(out map[string]any) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if _, ok := out[bound].(bool); ok {
			delete(out, bound)
		}
		truth, ok := out[exclusive].(bool)
		if !ok {
			continue
		}
		m.say("exclusive bounds of draft 4 were rewritten")
		delete(out, exclusive)
		if n, ok := out[bound]; ok && truth {
			out[exclusive] = n
			delete(out, bound)
		}
	}
}
