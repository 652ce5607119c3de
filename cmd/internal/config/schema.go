package config

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/etui-run/etui/internal/form"
)

// SchemaURL is where editors find the JSON Schema of etui.yaml.
const SchemaURL = "https://raw.githubusercontent.com/etui-run/etui/main/docs/etui.schema.json"

// Schema returns the JSON Schema of etui.yaml, for editors.
func Schema() []byte {
	root := form.Schema(reflect.TypeFor[Config](), adjust)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"], root["title"] = SchemaURL, "etui.yaml"
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps of texts always marshal
	}
	return append(raw, '\n')
}

// adjust describes values with more than one spelling.
func adjust(t reflect.Type, s map[string]any) map[string]any {
	switch t {
	case reflect.TypeFor[Skills](): // a plain list means toolsets
		return map[string]any{"anyOf": []any{s, form.Schema(reflect.TypeFor[[]Toolset](), adjust)}}
	case reflect.TypeFor[Foreign]():
		return map[string]any{}
	case reflect.TypeFor[Paths]():
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, s}}
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[Size]():
		delete(s, "type") // strict checkers refuse a list of types
		s["anyOf"] = []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}}
	}
	return s
}
