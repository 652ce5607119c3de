package form

import (
	"reflect"
	"strconv"
)

// Schema returns the JSON Schema of a struct's form. adjust changes the schema of
// each key, and of each element, where the caller's types differ from what their Go
// types say.
func Schema(t reflect.Type, adjust func(reflect.Type, map[string]any) map[string]any) map[string]any {
	s := map[string]any{}
	switch t.Kind() {
	case reflect.Struct:
		s = structSchema(t, adjust)
	case reflect.Slice:
		s["type"], s["items"] = "array", Schema(t.Elem(), adjust)
	case reflect.Map:
		s["type"], s["additionalProperties"] = "object", Schema(t.Elem(), adjust)
	case reflect.Pointer:
		return Schema(t.Elem(), adjust)
	case reflect.Bool:
		s["type"] = "boolean"
	case reflect.Int, reflect.Int64:
		s["type"] = "integer"
	case reflect.Float64:
		s["type"] = "number"
	default:
		s["type"] = "string"
	}
	return adjust(t, s)
}

func structSchema(t reflect.Type, adjust func(reflect.Type, map[string]any) map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for key, f := range Fields(t) {
		s := Schema(f.Type, adjust)
		s["description"] = f.Tag.Get("help")
		if allowed := enum(f); allowed != nil {
			s["enum"] = allowed
		}
		for tag, keyword := range map[string]string{"min": "minimum", "max": "maximum", "default": "default"} {
			if text := f.Tag.Get(tag); text != "" {
				s[keyword] = constant(text)
			}
		}
		properties[key] = s
		for _, other := range also(f) {
			properties[other] = s
		}
		if f.Tag.Get("required") != "" {
			required = append(required, key)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// constant is a tag's text as the value that it writes.
func constant(text string) any {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	if b, err := strconv.ParseBool(text); err == nil {
		return b
	}
	return text
}
