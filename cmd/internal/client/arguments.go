package client

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/phrase"
)

// Arguments makes the arguments of a call of words as name=value, as people write them.
// The parameters, a JSON Schema, say which values are texts; all others are read as JSON,
// and as texts if they are none. A name that the parameters do not have is an error if
// they list names, and so is a name that comes twice.
func Arguments(parameters json.RawMessage, words []string) (json.RawMessage, error) {
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	_ = json.Unmarshal(parameters, &schema) // without names, every name is accepted
	values := map[string]any{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, phrase.Errorf("%q is no argument: write name=value, or one JSON object", word)
		}
		if _, twice := values[name]; twice {
			return nil, phrase.Errorf("the argument %q is given twice", name)
		}
		property, known := schema.Properties[name]
		if !known && len(schema.Properties) > 0 {
			return nil, phrase.Errorf("there is no parameter %q%s", name,
				nearest.Hint(name, maps.Keys(schema.Properties)))
		}
		values[name] = value
		if property.Type != "string" && json.Valid([]byte(value)) {
			values[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(values)
}
