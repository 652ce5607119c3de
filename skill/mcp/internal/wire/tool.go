package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// repairTool repairs a tool of a list.
func repairTool(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	now, other := readableTool(raw)
	if with, told := withTasks(or(now, raw)); told {
		return with, true
	}
	return now, other
}

// readableTool puts a tool that says why in the place of one that cannot be read.
func readableTool(raw json.RawMessage) (_ json.RawMessage, changed bool) {
	err := json.Unmarshal(raw, new(*sdk.Tool))
	if most, _ := depth(raw); err == nil && most > maxAnswerDepth {
		err = fmt.Errorf("it is more than %d levels deep", maxAnswerDepth)
	}
	if err == nil {
		return nil, false
	}
	var named struct{ Name any }
	_ = json.Unmarshal(raw, &named) // without a name it has none
	name, _ := named.Name.(string)
	return encoded(map[string]any{
		"name": name, "inputSchema": map[string]any{"type": "object"},
		"_meta": map[string]string{Broken: unreadable(err)},
	}), true
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
