package skill

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Schema writes the JSON Schema of a skill's YAML file, for editors.
func Schema() []byte {
	properties, required := map[string]any{}, []string{}
	for f := range fields() {
		key := f.Tag.Get("yaml")
		properties[key] = schemaOf(f)
		if f.Tag.Get("required") != "" {
			required = append(required, key)
		}
	}
	raw, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A skill of etui", "type": "object",
		"properties": properties, "required": required, "additionalProperties": false,
		"anyOf": []any{map[string]any{"required": []string{"provider"}}, map[string]any{"required": []string{"tools"}}},
	}, "", "  ")
	if err != nil {
		panic(err) // maps of texts always marshal
	}
	return append(raw, '\n')
}

// schemaOf is the schema of one key.
func schemaOf(f reflect.StructField) map[string]any {
	s := map[string]any{"description": f.Tag.Get("help"), "type": "string", "minLength": 1}
	text := map[string]any{"type": "string"}
	switch t := f.Type; {
	case t == reflect.TypeFor[ParameterSchema]():
		s["type"], s["properties"] = "object", map[string]any{"type": map[string]any{"const": "object"}}
		s["if"], s["then"] = map[string]any{"minProperties": 1}, map[string]any{"required": []string{"type"}} // {} says that there are none
	case t == reflect.TypeFor[time.Duration](), t.Kind() == reflect.Int:
		s["type"] = "integer"
	case t.Kind() == reflect.Pointer:
		s["type"] = "boolean"
	case t.Kind() == reflect.Slice:
		s["type"], s["items"] = "array", text
	case t.Kind() == reflect.Map:
		s["type"], s["additionalProperties"] = "object", text
	}
	if s["type"] != "string" {
		delete(s, "minLength")
	}
	if list := f.Tag.Get("enum"); list != "" {
		s["enum"] = strings.Split(list, ",")
	}
	for tag, key := range map[string]string{"min": "minimum", "max": "maximum", "default": "default"} {
		if text := f.Tag.Get(tag); text != "" {
			s[key] = text
			if n, err := strconv.Atoi(text); err == nil {
				s[key] = n
			}
		}
	}
	switch f.Name {
	case "Name":
		s["pattern"], s["maxLength"] = skillName.String(), maxName
	case "Description":
		s["maxLength"] = maxDescription
	case "Version": // counts as it is written
		s["type"] = []string{"string", "number"}
	}
	return s
}

// Reference writes the keys of a skill's YAML file as a Markdown table.
func Reference() string {
	var b strings.Builder
	b.WriteString("| key | of | meaning |\n|---|---|---|\n")
	for f := range fields() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Tag.Get("yaml"), strings.ReplaceAll(f.Tag.Get("of"), ",", ", "), f.Tag.Get("help"))
	}
	return b.String()
}
