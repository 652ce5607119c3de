package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/etui-run/etui/internal/plainjson"
)

// ofOpenAPI are keywords that JSON Schema does not have, or that tell a model nothing.
var ofOpenAPI = map[string]bool{
	"nullable": true, "discriminator": true, "xml": true, "externalDocs": true, "example": true, "examples": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "$schema": true, "$id": true, "$anchor": true,
	"$dynamicAnchor": true, "$comment": true,
}

// The keywords of JSON Schema that hold a schema, a list of them, or named ones.
var (
	holdSchema = map[string]bool{
		"items":                 true,
		"additionalProperties":  true,
		"not":                   true,
		"contains":              true,
		"propertyNames":         true,
		"if":                    true,
		"then":                  true,
		"else":                  true,
		"unevaluatedItems":      true,
		"unevaluatedProperties": true,
	}
	holdSchemas = map[string]bool{"oneOf": true, "anyOf": true, "allOf": true, "prefixItems": true}
	holdNamed   = map[string]bool{"properties": true, "patternProperties": true, "dependentSchemas": true}
)

// inliner writes schemas of a document as JSON Schemas without references.
type inliner struct {
	root  any
	depth int // of schemas in one another; deeper ones are left open
	body  bool
}

// schema returns the JSON Schema of a parameter or a body.
func (in *inliner) schema(ref *openapi3.SchemaRef) map[string]any {
	if ref == nil {
		return map[string]any{}
	}
	raw, err := json.Marshal(ref)
	if err != nil {
		return map[string]any{}
	}
	value, err := plainjson.Decode(raw)
	if err != nil {
		return map[string]any{}
	}
	plain, ok := in.plain(value, nil, 0).(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return plain
}

// plain rewrites one schema. Through are the references that lead to it: a schema within itself
// is left open, because the providers of models refuse circles.
func (in *inliner) plain(value any, through []string, depth int) any {
	from, ok := value.(map[string]any)
	if !ok {
		return value // true or false
	}
	if ref, ok := from["$ref"].(string); ok {
		target, found := in.lookUp(ref).(map[string]any)
		if !found || slices.Contains(through, ref) {
			return map[string]any{}
		}
		joined := maps.Clone(target)
		for key, sibling := range from {
			if key != "$ref" {
				joined[key] = sibling
			}
		}
		return in.plain(joined, append(slices.Clone(through), ref), depth)
	}
	if depth > in.depth {
		return open(from)
	}
	to := make(map[string]any, len(from))
	for key, part := range from {
		switch {
		case ofOpenAPI[key] || strings.HasPrefix(key, "x-"):
		case holdSchema[key]:
			to[key] = in.plain(part, through, depth+1)
		case holdSchemas[key]:
			list, _ := part.([]any)
			plain := make([]any, len(list))
			for i, item := range list {
				plain[i] = in.plain(item, through, depth+1)
			}
			to[key] = plain
		case holdNamed[key]:
			named, _ := part.(map[string]any)
			plain := make(map[string]any, len(named))
			for name, item := range named {
				if m, ok := item.(map[string]any); !ok || !in.body || m["readOnly"] != true {
					plain[name] = in.plain(item, through, depth+1)
				}
			}
			to[key] = plain
		default:
			to[key] = part
		}
	}
	in.tidy(from, to)
	return to
}

// tidy turns the spellings of OpenAPI 3.0 into those of JSON Schema, and required into what is
// left of the properties.
func (in *inliner) tidy(from, to map[string]any) {
	if from["nullable"] == true {
		if kind, ok := to["type"].(string); ok {
			to["type"] = []any{kind, "null"}
		}
		if list, ok := to["enum"].([]any); ok && !slices.Contains(list, nil) {
			to["enum"] = append(slices.Clone(list), nil)
		}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		switch to[exclusive] {
		case true:
			if to[exclusive] = to[bound]; to[bound] == nil {
				delete(to, exclusive)
			}
			delete(to, bound)
		case false:
			delete(to, exclusive)
		}
	}
	properties, ok := from["properties"].(map[string]any)
	kept, _ := to["properties"].(map[string]any)
	list, isList := to["required"].([]any)
	if !isList {
		if to["required"] != nil {
			delete(to, "required") // of Swagger's parameters
		}
		return
	}
	if ok {
		list = slices.DeleteFunc(slices.Clone(list), func(name any) bool {
			text, _ := name.(string)
			return properties[text] != nil && kept[text] == nil
		})
	}
	if to["required"] = list; len(list) == 0 {
		delete(to, "required")
	}
}

// open is a schema of the same type that says no more.
func open(from map[string]any) map[string]any {
	to := map[string]any{}
	for _, key := range []string{"type", "description"} {
		if from[key] != nil {
			to[key] = from[key]
		}
	}
	if kind, ok := to["type"].(string); ok && from["nullable"] == true {
		to["type"] = []any{kind, "null"}
	}
	return to
}

// lookUp follows a reference within the document.
func (in *inliner) lookUp(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := in.root
	for part := range strings.SplitSeq(pointer, "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// merged joins the objects of allOf, as documents write a body that extends another.
func merged(schema map[string]any) map[string]any {
	list, ok := schema["allOf"].([]any)
	if !ok {
		return schema
	}
	to, required := map[string]any{}, []any{}
	rest := maps.Clone(schema)
	delete(rest, "allOf")
	for _, part := range append(slices.Clone(list), rest) {
		m, ok := part.(map[string]any)
		if !ok {
			return schema
		}
		m = merged(m)
		for key := range m {
			if !slices.Contains(
				[]string{"type", "properties", "required", "description", "title", "additionalProperties"},
				key,
			) {
				return schema
			}
		}
		properties, _ := m["properties"].(map[string]any)
		maps.Copy(to, properties)
		more, _ := m["required"].([]any)
		required = append(required, more...)
	}
	out := map[string]any{"type": "object", "properties": to}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
