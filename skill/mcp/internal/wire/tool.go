package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// repairTool repairs a tool of a list.
func (w *Wire) repairTool(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	meant, renamed := translated(raw)
	now, other := readableTool(or(meant, raw))
	if now = or(now, meant); renamed {
		other = true
		w.Note("definitions in the form of another protocol")
	}
	if with, told := withTasks(or(now, raw)); told {
		return with, true
	}
	return now, other
}

// translated returns a tool that is written as model providers have it as the protocol has it.
func translated(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	var fields, inner map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil, false
	}
	if fields["name"] == nil && json.Unmarshal(fields["function"], &inner) == nil && inner["name"] != nil {
		fields, changed = inner, true
	}
	changed = rename(fields, "inputSchema", "input_schema", "inputschema", "parameters") || changed
	changed = rename(fields, "outputSchema", "output_schema") || changed
	if n := fields["name"]; len(n) > 0 && n[0] >= '0' && n[0] <= '9' {
		fields["name"], changed = encoded(string(n)), true
	}
	var lines []string
	if json.Unmarshal(fields["description"], &lines) == nil && len(lines) > 0 {
		fields["description"], changed = encoded(strings.Join(lines, "\n")), true
	}
	if !changed {
		return nil, false
	}
	return encoded(fields), true
}

// readableTool drops the parts of a tool's definition that cannot be read. Without a name it cannot
// be used at all.
func readableTool(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	err := json.Unmarshal(raw, new(*sdk.Tool))
	if most, _ := depth(raw); err == nil && most <= maxAnswerDepth {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		fields = map[string]json.RawMessage{}
	}
	var name string
	if failed := json.Unmarshal(fields["name"], &name); failed != nil {
		return encoded(map[string]any{
			"name": "", "inputSchema": map[string]any{"type": "object"},
			"_meta": map[string]string{Broken: unreadable(cmp.Or(err, failed))},
		}), true
	}
	kept, lost := map[string]any{"name": name}, []string{}
	for key, value := range fields {
		if key == "inputSchema" || key == "outputSchema" {
			var v any
			if json.Unmarshal(value, &v) == nil {
				kept[key] = shallow(v, maxAnswerDepth/2)
			}
			continue
		}
		one := encoded(map[string]any{"name": name, key: value})
		if most, _ := depth(one); json.Unmarshal(one, new(sdk.Tool)) == nil && most <= maxAnswerDepth {
			kept[key] = value
		} else {
			lost = append(lost, key)
		}
	}
	if slices.Sort(lost); len(lost) > 0 {
		kept["_meta"] = map[string]string{Repaired: strings.Join(lost, ", ")}
	}
	return encoded(kept), true
}

// shallow replaces what is deeper than some levels by an empty object.
func shallow(v any, levels int) any {
	switch v := v.(type) {
	case []any:
		if levels == 0 {
			return map[string]any{}
		}
		for i := range v {
			v[i] = shallow(v[i], levels-1)
		}
	case map[string]any:
		if levels == 0 {
			return map[string]any{}
		}
		for name := range v {
			v[name] = shallow(v[name], levels-1)
		}
	}
	return v
}

// withTasks puts what a tool says of tasks, which the SDK does not read, where it is kept.
func withTasks(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	var said struct {
		Execution struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	if !bytes.Contains(raw, []byte("taskSupport")) || json.Unmarshal(raw, &said) != nil ||
		said.Execution.TaskSupport == "" {
		return nil, false
	}
	var fields, meta map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, false
	}
	if json.Unmarshal(fields["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[TaskSupport] = encoded(said.Execution.TaskSupport)
	fields["_meta"] = encoded(meta)
	return encoded(fields), true
}
