package foreign

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/subschema"
)

// MaxReading is how many bytes of a schema models read.
const MaxReading = 12 << 10

// Reading returns what models read of a mended schema: no references, names of properties that
// every provider accepts, and at most [MaxReading] bytes. A part that refers to itself is written
// out a few times. If that is too long, texts, lists of values and deep parts become shorter. The
// spellings are the names of properties in the schema by those in the reading; notes say what models
// do not read.
func Reading(mended json.RawMessage) (reading json.RawMessage, spellings map[string]string, notes []string) {
	v, err := plainjson.Decode(mended)
	root, ok := v.(map[string]any)
	if err != nil || !ok {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil, nil
	}
	for i, l := range lengths {
		r := reader{lengths: l, root: root, inside: map[string]int{}, spellings: map[string]string{}}
		out := r.schema(root, 0)
		if i == len(lengths)-1 {
			r.shorten(out)
		}
		reading = encode(out)
		if len(reading) <= MaxReading && r.nodes <= maxNodes || i == len(lengths)-1 {
			if i > 0 {
				notes = append(notes, fmt.Sprintf("of its parameters, %d bytes, models read %d; arguments are checked against all", len(mended), len(reading)))
			}
			if r.circular {
				notes = append(notes, "a part that refers to itself was written out for models a few times; arguments are checked against all")
			}
			if len(r.spellings) > 0 {
				notes = append(notes, "names of properties that not every model accepts have others for models: "+
					spelled(r.spellings))
			}
			return reading, r.spellings, notes
		}
	}
	return reading, nil, notes
}

// spelled lists some spellings.
func spelled(spellings map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(spellings)) {
		if len(list) == 3 {
			return strings.Join(append(list, "…"), ", ")
		}
		list = append(list, fmt.Sprintf("%.60q is %s", spellings[name], name))
	}
	return strings.Join(list, ", ")
}

// maxNodes bounds the schemas of a reading.
const maxNodes = 2000

// length says how long the parts of a reading are.
type length struct {
	turns  int  // that a part which refers to itself is written out
	depth  int  // of schemas
	text   int  // characters of a description
	values int  // in a list of possible values
	plain  bool // without words that are for people
}

// lengths are tried one after the other, until the reading is short enough.
var lengths = []length{
	{turns: 2, depth: 24, text: 2000, values: 2000},
	{turns: 1, depth: 16, text: 500, values: 1000, plain: true},
	{turns: 1, depth: 12, text: 200, values: 200, plain: true},
	{turns: 1, depth: 8, text: 80, values: 50, plain: true},
	{turns: 1, depth: 4, text: 40, values: 20, plain: true},
	{turns: 1, depth: 2, values: 10, plain: true},
	{turns: 1, depth: 1, values: 5, plain: true},
}

// reader writes one reading.
type reader struct {
	lengths   length
	root      map[string]any
	inside    map[string]int // how often a part is being written out
	spellings map[string]string
	nodes     int
	kept      int // bytes of values that stand in it as they are
	circular  bool
}

// forPeople are words that a short reading leaves out.
var forPeople = []string{"title", "default", "examples", "example", "pattern", "deprecated", "readOnly", "writeOnly"}

// schema reads a schema.
func (r *reader) schema(v any, depth int) map[string]any {
	s, ok := v.(map[string]any)
	if r.nodes++; !ok || r.nodes > maxNodes {
		return map[string]any{}
	}
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if r.lengths.plain && (slices.Contains(forPeople, key) || !structural(key)) {
			continue
		}
		if v := r.word(key, s[key], depth); v != nil || key == "const" && s[key] == nil {
			out[key] = v
		}
	}
	if depth >= r.lengths.depth {
		for _, key := range []string{"required", "anyOf", "oneOf", "allOf", "not", "if", "then", "else",
			"dependentRequired"} {
			delete(out, key)
		}
	}
	r.prefix(s, out, depth)
	if target, ok := s["$ref"].(string); ok {
		return r.refer(target, out, depth)
	}
	return out
}

// structural reports whether a word says what arguments may be.
func structural(key string) bool { return key == "description" || key == "const" || wordOf(key) != nil }

func (r *reader) word(key string, v any, depth int) any {
	deeper := depth < r.lengths.depth
	switch key {
	case "$defs", "$ref", "prefixItems":
		return nil
	case "properties", "patternProperties", "dependentSchemas":
		named, _ := v.(map[string]any)
		if !deeper || key != "properties" && r.lengths.plain {
			return nil
		}
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			at := name
			if key == "properties" {
				at = r.spell(name)
			}
			out[at] = r.schema(named[name], depth+1)
		}
		return out
	case "required":
		return r.keep(r.spellAll(v), depth)
	case "dependentRequired":
		named, _ := v.(map[string]any)
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			out[r.spell(name)] = r.spellAll(named[name])
		}
		return r.keep(out, depth)
	case "allOf", "anyOf", "oneOf":
		list, _ := v.([]any)
		if !deeper {
			return nil
		}
		out := make([]any, len(list))
		for i := range list {
			out[i] = r.schema(list[i], depth+1)
		}
		return out
	case "items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames",
		"not", "if", "then", "else":
		if truth, ok := v.(bool); ok {
			return truth
		}
		if !deeper {
			return nil
		}
		return r.schema(v, depth+1)
	case "description":
		text, _ := v.(string)
		if text = cut.Words(text, r.lengths.text); text == "" {
			return nil
		}
		return text
	case "enum":
		if list, _ := v.([]any); len(list) > r.lengths.values {
			return nil
		}
	}
	return r.keep(v, depth)
}

// keep returns a value that stands in the reading as it is. Those below the top, which references can
// repeat, end the reading when they alone make it too long; then there is nil.
func (r *reader) keep(v any, depth int) any {
	if depth == 0 {
		return v
	}
	if r.nodes <= maxNodes {
		r.kept += len(encode(v))
	}
	if r.kept > MaxReading {
		r.nodes = maxNodes + 1
		return nil
	}
	return v
}

// prefix reads lists that have a schema for each item: models read which there are.
func (r *reader) prefix(s, out map[string]any, depth int) {
	first, _ := s["prefixItems"].([]any)
	if len(first) == 0 || depth >= r.lengths.depth {
		return
	}
	var all []any
	seen := map[string]bool{}
	if rest, ok := out["items"].(map[string]any); ok {
		first = append(slices.Clone(first), rest)
	}
	for _, v := range first {
		one := r.schema(v, depth+1)
		if key := string(encode(one)); !seen[key] {
			seen[key] = true
			all = append(all, one)
		}
	}
	if out["items"] = all[0]; len(all) > 1 {
		out["items"] = map[string]any{"anyOf": all}
	}
}

// refer reads the target of a reference beside what stands next to it.
func (r *reader) refer(target string, beside map[string]any, depth int) map[string]any {
	found := any(r.root)
	if target != "#" {
		found = subschema.At(r.root, strings.TrimPrefix(target, "#"))
	}
	s, _ := found.(map[string]any)
	out := map[string]any{}
	switch {
	case r.inside[target] >= r.lengths.turns, target == "#" && r.inside[target]+1 >= r.lengths.turns:
		r.circular = true
		if kind, ok := s["type"]; ok {
			out["type"] = kind
		}
	default:
		r.inside[target]++
		out = r.schema(s, depth)
		r.inside[target]--
	}
	for key, v := range beside {
		if out[key] == nil || !structural(key) || key == "description" {
			out[key] = v
		} else if string(encode(out[key])) != string(encode(v)) {
			return map[string]any{"allOf": []any{out, beside}}
		}
	}
	return out
}

// notInProperties is what the names of properties cannot have for some providers.
var notInProperties = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// maxProperty is how long the name of a property may be for every provider.
const maxProperty = 64

func (r *reader) spell(name string) string {
	written := safe(name, maxProperty, notInProperties, "field")
	if written != name {
		r.spellings[written] = name
	}
	return written
}

func (r *reader) spellAll(v any) any {
	list, _ := v.([]any)
	out := make([]any, 0, len(list))
	for _, one := range list {
		if name, ok := one.(string); ok {
			out = append(out, r.spell(name))
		}
	}
	return out
}

// shorten drops properties at the end until the reading is short enough, required ones last.
func (r *reader) shorten(out map[string]any) {
	named, _ := out["properties"].(map[string]any)
	required, _ := out["required"].([]any)
	names := slices.Sorted(maps.Keys(named))
	slices.SortStableFunc(names, func(a, b string) int {
		switch x, y := slices.Contains(required, any(a)), slices.Contains(required, any(b)); {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return 0
	})
	room := MaxReading - 1024
	for _, name := range names {
		if room -= len(name) + len(encode(named[name])) + 4; room < 0 {
			delete(named, name)
		}
	}
	if room < 0 {
		out["required"] = slices.DeleteFunc(required,
			func(v any) bool { name, _ := v.(string); return named[name] == nil })
	}
}
