package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Schema writes the JSON Schema of etui.yaml, for editors.
func Schema() []byte {
	root := schemaOf(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "etui.yaml"
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps of texts always marshal
	}
	return append(raw, '\n')
}

func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[Skills](): // a plain list stands for toolsets
		return map[string]any{"anyOf": []any{structSchema(t), schemaOf(reflect.TypeFor[[]Toolset]())}}
	case reflect.TypeFor[Paths]():
		return map[string]any{"anyOf": []any{schemaOf(reflect.TypeFor[string]()), schemaOf(reflect.TypeFor[[]string]())}}
	}
	switch {
	case t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[Size]():
		return map[string]any{"type": []string{"string", "integer"}}
	case t.Kind() == reflect.Struct:
		return structSchema(t)
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Int:
		return map[string]any{"type": "integer"}
	case t.Kind() == reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "string"}
}

func structSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for f := range fields(t) {
		s := schemaOf(f.Type)
		s["description"] = f.Tag.Get("help")
		if list := f.Tag.Get("enum"); list != "" {
			s["enum"] = strings.Split(list, ",")
		}
		if text := f.Tag.Get("default"); text != "" {
			s["default"] = text
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				s["default"] = n
			} else if b, err := strconv.ParseBool(text); err == nil {
				s["default"] = b
			}
		}
		properties[f.Tag.Get("yaml")] = s
		if f.Tag.Get("required") != "" {
			required = append(required, f.Tag.Get("yaml"))
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// Reference writes the keys of etui.yaml as a Markdown table.
func Reference() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|\n")
	reference(&b, reflect.TypeFor[Config](), "")
	return b.String()
}

func reference(b *strings.Builder, t reflect.Type, prefix string) {
	for f := range fields(t) {
		key, def := prefix+f.Tag.Get("yaml"), f.Tag.Get("default")
		if def != "" {
			def = "`" + def + "`"
		}
		help := f.Tag.Get("help")
		if list := f.Tag.Get("enum"); list != "" {
			help += " One of `" + strings.ReplaceAll(list, ",", "`, `") + "`."
		}
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			key, inner = key+"[]", inner.Elem()
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, def, help)
		if inner.Kind() == reflect.Struct {
			reference(b, inner, key+".")
		}
	}
}
