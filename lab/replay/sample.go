package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// schema is the part of a JSON Schema that an example needs.
type schema struct {
	Type       any               `json:"type"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	Default    json.RawMessage   `json:"default"`
	Examples   []json.RawMessage `json:"examples"`
	Format     string            `json:"format"`
	Minimum    *float64          `json:"minimum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	MinItems   int               `json:"minItems"`
	MinLength  int               `json:"minLength"`
}

// example makes arguments of about the length that a model would write: the
// required parameters, each with a short value of its type. They may not fit a
// schema that uses more of JSON Schema; then the call's result says so, as it would
// to a model.
func example(d tool.Definition) json.RawMessage {
	var s schema
	_ = json.Unmarshal(d.Schema(), &s) // an invalid schema gives no arguments
	raw, err := json.Marshal(s.fields(0))
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func (s schema) fields(depth int) map[string]any {
	fields := map[string]any{}
	for _, name := range s.Required {
		fields[name] = s.Properties[name].value(name, depth)
	}
	return fields
}

// maxDepth bounds how deep examples nest.
const maxDepth = 5

func (s schema) value(name string, depth int) any {
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case len(s.Examples) > 0:
		return s.Examples[0]
	case depth > maxDepth:
		return nil
	}
	kind, _ := s.Type.(string)
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "integer", "number":
		if s.Minimum != nil {
			return max(*s.Minimum, 1)
		}
		return 3
	case "boolean":
		return true
	case "array":
		if s.Items == nil {
			return []any{}
		}
		list := make([]any, max(s.MinItems, 1))
		for i := range list {
			list[i] = s.Items.value(name, depth+1)
		}
		return list
	case "object":
		return s.fields(depth + 1)
	}
	switch s.Format {
	case "date":
		return "2026-03-12"
	case "date-time":
		return "2026-03-12T14:00:00Z"
	case "uri":
		return "https://example.com/" + name
	case "email":
		return "mia@example.com"
	}
	text := "some " + strings.ReplaceAll(name, "_", " ")
	return text + strings.Repeat(".", max(0, s.MinLength-len(text)))
}

// standIn answers instead of a tool, so that a replay changes nothing and always
// gets the same answers.
type standIn struct {
	tool.Tool
	script *script
}

// Call implements [tool.Tool].
func (s standIn) Call(context.Context, json.RawMessage) (chat.Result, error) {
	if text := s.script.last.Result; text != "" {
		return tool.Text(text), nil
	}
	return tool.Text(plausible(s.Definition())), nil
}

// plausible returns a result of the usual length: a short table from a tool that
// reads, a sentence from one that writes.
func plausible(d tool.Definition) string {
	what := strings.ReplaceAll(d.Name, "_", " ")
	if d.Risk != tool.Read {
		return fmt.Sprintf("Done: %s. Reference R-4711, recorded at 10:32.", what)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "3 results of %s:\n", what)
	for i, row := range [...]string{"checkout-7d9f", "billing-02", "northwind"} {
		fmt.Fprintf(&b, "| %d | %s | active | 2026-03-%02d | %d.%d |\n", i+1, row, 9+i, 17*(i+2), i+3)
	}
	return b.String()
}
