package selection

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/etui-run/etui/tool"
)

// Signature describes a tool's parameters in a line, as in
// `get_weather(city: string, days?: integer, units?: "metric"|"imperial")`.
// Required parameters come first. Details that do not fit in a line, such as the
// fields of nested objects, are left out, and so are parameters beyond
// maxSignature.
func Signature(d tool.Definition) string {
	var schema struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	read := json.NewDecoder(bytes.NewReader(d.Parameters))
	read.UseNumber()         // the values of an enum appear as they are written
	_ = read.Decode(&schema) // a part of an unexpected type stays empty
	var required, optional []string
	for name, p := range schema.Properties {
		kind := "any"
		if text, ok := p.Type.(string); ok {
			kind = text
		}
		if 0 < len(p.Enum) && len(p.Enum) <= 12 {
			values := make([]string, len(p.Enum))
			for i, v := range p.Enum {
				values[i] = literal(v)
			}
			kind = strings.Join(values, "|")
		}
		if slices.Contains(schema.Required, name) {
			required = append(required, name+": "+kind)
		} else {
			optional = append(optional, name+"?: "+kind)
		}
	}
	slices.Sort(required)
	slices.Sort(optional)
	line := d.Name + "("
	for i, p := range append(required, optional...) {
		if i > 0 {
			line += ", "
		}
		if len(line)+len(p) > maxSignature {
			line += "…"
			break
		}
		line += strings.Join(strings.Fields(p), " ") // names from outside may hold line breaks
	}
	return line + ")"
}

// literal writes a value as JSON, in which the model will write it, too.
func literal(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was read from JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// maxSignature is about how long a signature may be, in bytes.
const maxSignature = 500
