package foreign

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// kinds are the types of JSON Schema by the words that people write for them. An empty type allows
// every value.
var kinds = map[string]string{
	"string": "string", "str": "string", "text": "string", "date": "string", "datetime": "string",
	"date-time": "string", "uuid": "string",
	"uri": "string", "url": "string", "email": "string", "char": "string", "byte": "string", "bytes": "string",
	"binary": "string",
	"enum":   "", "any": "", "mixed": "", "unknown": "", "json": "", "file": "string", "path": "string",
	"password": "string",
	"integer":  "integer", "int": "integer", "int32": "integer", "int64": "integer", "uint": "integer",
	"uint32": "integer",
	"uint64": "integer", "long": "integer", "short": "integer", "bigint": "integer",
	"number": "number", "float": "number", "double": "number", "decimal": "number", "numeric": "number",
	"float32": "number", "float64": "number",
	"boolean": "boolean", "bool": "boolean",
	"array": "array", "list": "array", "tuple": "array", "set": "array", "sequence": "array",
	"object": "object", "dict": "object", "dictionary": "object", "map": "object", "struct": "object",
	"record": "object", "hash": "object",
	"null": "null", "none": "null", "nil": "null", "undefined": "null", "void": "null",
}

// types mends the types of a schema, with what says that null is possible, too.
func (m *mender) types(s, out map[string]any, depth int) {
	var found []string
	var schemas []any
	whatever := false
	take := func(written string) {
		for part := range strings.FieldsFuncSeq(written, func(r rune) bool { return r == '|' || r == ',' }) {
			part = strings.ToLower(strings.TrimSpace(part))
			kind, known := kinds[part]
			if base, rest, ok := strings.Cut(part, "<"); ok && rest != "" {
				kind, known = kinds[base], true // array<string>
			} else if strings.HasSuffix(part, "[]") {
				kind, known = "array", true
			}
			switch {
			case !known:
				m.say("types that JSON Schema does not know stand for any value")
				whatever = true
			case kind == "":
				whatever = true
			default:
				found = append(found, kind)
			}
			if kind != written {
				m.say("types in other words than JSON Schema's were read as what they mean")
			}
		}
	}
	switch v := s["type"].(type) {
	case string:
		take(v)
	case []any:
		for _, one := range v {
			switch one := one.(type) {
			case string:
				take(one)
			case nil:
				found = append(found, "null")
			case map[string]any:
				schemas = append(schemas, m.schema(one, depth+1))
			}
		}
	case map[string]any:
		schemas = append(schemas, m.schema(v, depth+1))
	case nil:
		if _, written := s["type"]; written {
			m.say("types that are null stand for any value")
		}
	default:
		m.say("types that are no words stand for any value")
	}
	if len(schemas) > 0 {
		m.say("types that are schemas were rewritten as alternatives")
		for _, kind := range found {
			schemas = append(schemas, map[string]any{"type": kind})
		}
		if out["anyOf"] == nil {
			out["anyOf"] = schemas
		}
		found = nil
	}
	if truth, _ := s["nullable"].(bool); truth && len(found) > 0 {
		m.say("nullable was rewritten as a type")
		found = append(found, "null")
	}
	found = unique(found)
	switch {
	case whatever || len(found) == 0:
	case len(found) == 1:
		out["type"] = found[0]
	default:
		out["type"] = found
	}
}

func unique(list []string) (kept []string) {
	seen := map[string]bool{}
	for _, one := range list {
		if !seen[one] {
			seen[one] = true
			kept = append(kept, one)
		}
	}
	return kept
}

// kindsOf returns the types of a mended schema; nil if it allows every type.
func kindsOf(s map[string]any) []string {
	switch v := s["type"].(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		var list []string
		for _, one := range v {
			text, _ := one.(string)
			list = append(list, text)
		}
		return list
	}
	return nil
}

// fits reports whether a value has one of some types; with none, every value fits.
func fits(kinds []string, value any) bool {
	kind := "object"
	switch v := value.(type) {
	case nil:
		kind = "null"
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case []any:
		kind = "array"
	case json.Number:
		if kind = "number"; slices.Contains(kinds, "integer") {
			f, err := v.Float64()
			return slices.Contains(kinds, kind) || err == nil && f == float64(int64(f))
		}
	}
	return len(kinds) == 0 || slices.Contains(kinds, kind)
}

// enum mends a list of values: each once.
func enum(m *mender, _ map[string]any, v any, _ int) any {
	list, ok := v.([]any)
	if !ok {
		m.say("possible values were given as something that is no list")
		switch v := v.(type) {
		case string:
			for one := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == '|' }) {
				list = append(list, strings.TrimSpace(one))
			}
		case json.Number, bool:
			list = []any{v}
		}
	}
	var kept []any
	seen := map[string]bool{}
	for _, one := range list {
		if key := string(encode(one)); !seen[key] {
			seen[key] = true
			kept = append(kept, one)
		}
	}
	if len(kept) < len(list) {
		m.say("possible values stood more than once in a list")
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// values mends a default and possible values of another type than the schema's.
func (m *mender) values(out map[string]any) {
	kinds := kindsOf(out)
	if list, ok := out["enum"].([]any); ok {
		fitting := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return !fits(kinds, v) })
		switch {
		case len(fitting) == 0:
			m.say("possible values of another type than the schema's decide")
			delete(out, "type")
			kinds = nil
		case len(fitting) < len(list):
			m.say("possible values of another type than the schema's were left out")
			out["enum"] = fitting
		}
	}
	if v, ok := out["default"]; ok && !fits(kinds, v) {
		delete(out, "default")
		if v != nil {
			m.say("defaults of another type than the schema's were left out")
		}
	}
}

// required mends the list of required properties. In draft 3 each property says it of itself.
func (m *mender) required(s, out map[string]any) {
	var names []string
	switch v := s["required"].(type) {
	case []any:
		for _, one := range v {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
		if found := unique(names); len(found) < len(v) {
			m.say("lists of required properties had names twice, or other values than names")
		}
	case string:
		if flag(nil, nil, v, 0) != nil {
			break // the object around it reads it
		}
		m.say("a single required property was written without a list")
		names = append(names, v)
	case bool: // the object around it reads it
	case nil:
		if _, written := s["required"]; written {
			m.say("lists of required properties were null")
		}
	default:
		m.say("lists of required properties were no lists")
	}
	known, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		one, _ := known[name].(map[string]any)
		switch truth := one["required"].(type) {
		case bool:
			m.say("properties that said of themselves whether they are required were rewritten")
			if truth {
				names = append(names, name)
			}
		case string:
			if flag(nil, nil, truth, 0) == true {
				names = append(names, name)
			}
		}
	}
	names = unique(names)
	if closed, ok := out["additionalProperties"].(bool); ok && !closed && out["patternProperties"] == nil {
		before := len(names)
		names = slices.DeleteFunc(names, func(name string) bool { _, ok := known[name]; return !ok })
		if len(names) < before {
			m.say("required properties that no call could have were left out")
		}
	}
	if len(names) > 0 {
		out["required"] = names
	}
}

// lists mends the items of lists. A list of schemas is one for each item, as in older drafts.
func (m *mender) lists(s, out map[string]any, depth int) {
	first, ok := s["prefixItems"].([]any)
	rest, written := s["items"]
	if each, isList := rest.([]any); isList && !ok {
		m.say("items that are a list of schemas were rewritten")
		first = each
		rest, written = s["additionalItems"]
	}
	if len(first) > 0 {
		out["prefixItems"] = several(m, s, first, depth+1)
	}
	switch v := rest.(type) {
	case []any:
	case bool:
		out["items"] = v
	case nil:
		if written {
			m.say("null stood in the place of a schema")
		}
	default:
		out["items"] = m.schema(v, depth+1)
	}
}

// dependencies rewrites what draft 7 said in one word.
func (m *mender) dependencies(s, out map[string]any, depth int) {
	named, _ := s["dependencies"].(map[string]any)
	required, conditions := map[string]any{}, map[string]any{}
	for name, v := range named {
		switch v := v.(type) {
		case []any:
			required[name] = v
		case string:
			required[name] = []any{v}
		case map[string]any:
			conditions[name] = m.schema(v, depth+1)
		}
	}
	if len(required) > 0 && out["dependentRequired"] == nil {
		out["dependentRequired"] = dependentRequired(m, s, required, depth)
	}
	if len(conditions) > 0 && out["dependentSchemas"] == nil {
		out["dependentSchemas"] = conditions
	}
}

func dependentRequired(_ *mender, _ map[string]any, v any, _ int) any {
	named, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for name, v := range named {
		list, _ := v.([]any)
		names := []string{}
		for _, one := range list {
			if text, ok := one.(string); ok {
				names = append(names, text)
			}
		}
		out[name] = unique(names)
	}
	return out
}
