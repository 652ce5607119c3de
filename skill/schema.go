package skill

import (
	"encoding/json"
	"reflect"

	"github.com/etui-run/etui/internal/form"
)

// Schema returns the JSON Schema of a skill's YAML file, for editors.
func Schema() []byte {
	root := form.Schema(reflect.TypeFor[Config](), func(t reflect.Type, s map[string]any) map[string]any {
		if t != reflect.TypeFor[ParameterSchema]() {
			return s
		}
		return map[string]any{
			"type": "object", "properties": map[string]any{"type": map[string]any{"const": "object"}},
			"if": map[string]any{"minProperties": 1}, "then": map[string]any{"required": []string{"type"}}, // {} means no arguments
		}
	})
	root["$schema"], root["$id"], root["title"] = "https://json-schema.org/draft/2020-12/schema",
		"https://raw.githubusercontent.com/etui-run/etui/main/docs/skill.schema.json", "A skill of etui"
	root["anyOf"] = []any{map[string]any{"required": []string{"provider"}},
		map[string]any{"required": []string{"tools"}}}
	properties, _ := root["properties"].(map[string]any)
	key := func(name string) map[string]any { s, _ := properties[name].(map[string]any); return s }
	for name := range properties {
		if s := key(name); s["type"] == "string" {
			s["minLength"] = 1
		}
	}
	key("name")["pattern"], key("name")["maxLength"] = skillName.String(), maxName
	key("description")["maxLength"] = maxDescription
	delete(key("version"), "type")
	key("version")["anyOf"] = []any{map[string]any{"type": "string", "minLength": 1},
		map[string]any{"type": "number"}} // taken as it is written
	delete(key("version"), "minLength")
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps of texts always marshal
	}
	return append(raw, '\n')
}
