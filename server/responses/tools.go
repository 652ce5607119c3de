package responses

import (
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
)

// toolset is what a request says of the client's tools.
type toolset struct {
	Tools    []json.RawMessage `json:"tools"`
	Choice   json.RawMessage   `json:"tool_choice"`
	Parallel *bool             `json:"parallel_tool_calls"`

	named map[string]toolName // by the name for the model
}

// toolName is how the client calls a tool.
type toolName struct {
	namespace, name string
	custom          bool
}

type toolSpec struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Format      struct {
		Syntax     string `json:"syntax"`
		Definition string `json:"definition"`
	} `json:"format"`
	Tools []toolSpec `json:"tools"` // of a namespace
}

// fullName is the name of a tool for the model.
func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

// customParameters are those of a tool that takes a text.
const customParameters = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

func customArguments(input string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"input": input}) // a text
	return raw
}

// read reads the tools. Those that OpenAI's own servers run are skipped: the agent has its own.
func (t *toolset) read(into *clienttool.Offer) error {
	t.named = map[string]toolName{}
	for i, raw := range t.Tools {
		var spec toolSpec
		if err := json.Unmarshal(raw, &spec); err != nil {
			return refuse(fmt.Sprintf("tools[%d]", i), "tools[%d] is not a tool", i)
		}
		if spec.Type != "namespace" {
			t.add(into, "", spec)
			continue
		}
		for _, inner := range spec.Tools {
			t.add(into, spec.Name, inner)
		}
	}
	if len(into.Tools) == 0 {
		return nil
	}
	into.Serial = t.Parallel != nil && !*t.Parallel
	if err := t.choose(into); err != nil {
		return err
	}
	if err := into.Check(); err != nil {
		return refuse("tools", "%v", err)
	}
	return nil
}

func (t *toolset) add(into *clienttool.Offer, namespace string, spec toolSpec) {
	tool := clienttool.Tool{
		Name: fullName(namespace, spec.Name), Description: spec.Description, Parameters: spec.Parameters,
	}
	switch spec.Type {
	case "function":
	case "custom":
		tool.Parameters = json.RawMessage(customParameters)
		if spec.Format.Definition != "" {
			tool.Description += fmt.Sprintf(
				"\n\nThe input follows this %s grammar:\n%s", spec.Format.Syntax, spec.Format.Definition,
			)
		}
	default:
		return
	}
	t.named[tool.Name] = toolName{namespace, spec.Name, spec.Type == "custom"}
	into.Tools = append(into.Tools, tool)
}

// choose reads tool_choice.
func (t *toolset) choose(into *clienttool.Offer) error {
	var choice struct {
		Type  string     `json:"type"`
		Name  string     `json:"name"`
		Mode  string     `json:"mode"`
		Tools []toolSpec `json:"tools"`
	}
	var mode string
	if len(t.Choice) > 0 && json.Unmarshal(t.Choice, &mode) != nil && json.Unmarshal(t.Choice, &choice) != nil {
		return refuse("tool_choice", "tool_choice must be none, auto, required or an object")
	}
	switch choice.Type {
	case "allowed_tools":
		mode = choice.Mode
		allowed := map[string]bool{} // a list here would take seconds with some ten thousand tools
		for _, spec := range choice.Tools {
			allowed[spec.Name] = true
		}
		into.Keep(allowed)
	case "function", "custom":
		into.Only = choice.Name
	}
	if !into.Choose(mode) {
		return refuse("tool_choice", "tool_choice %q is not none, auto or required", mode)
	}
	return nil
}

// callItem is a call of a client's tool, in the answer.
type callItem struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Namespace string  `json:"namespace,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Input     *string `json:"input,omitempty"`
	Status    string  `json:"status"`
}

// said returns what the client gets: the arguments, or the text for a custom tool.
func (c *callItem) said() **string {
	if c.Type == "custom_tool_call" {
		return &c.Input
	}
	return &c.Arguments
}

// item returns a call that the turn hands to the client.
func (t *toolset) item(c chat.Call) callItem {
	to, text := t.named[c.Name], string(c.Arguments)
	if to.name == "" {
		to.name = c.Name
	}
	if text == "" {
		text = "{}"
	}
	out := callItem{
		Type: "function_call", ID: "fc_" + c.ID, CallID: c.ID, Name: to.name, Namespace: to.namespace,
		Status: "completed",
	}
	if to.custom {
		out.Type, out.ID = "custom_tool_call", "ctc_"+c.ID
		var arguments struct {
			Input string `json:"input"`
		}
		if json.Unmarshal(c.Arguments, &arguments) == nil && arguments.Input != "" {
			text = arguments.Input
		}
	}
	*out.said() = &text
	return out
}
