package openai

import (
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/turn"
)

// offer is what a request says of the client's tools.
type offer struct {
	Tools    []toolSpec      `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"`
	Parallel *bool           `json:"parallel_tool_calls"`
}

type toolSpec struct {
	Type     string `json:"type"`
	Function *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolCall is a call of a client's tool. Index is its place among those of a streamed answer.
type toolCall struct {
	Index    *int      `json:"index,omitempty"`
	ID       string    `json:"id,omitempty"`
	Type     string    `json:"type,omitempty"`
	Function *function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// read reads the tools. A choice without tools changes nothing: some clients always send one.
func (o offer) read(into *clienttool.Offer) error {
	for i, t := range o.Tools {
		if t.Type != "function" && t.Type != "" || t.Function == nil {
			field := fmt.Sprintf("tools[%d]", i)
			return unsupported(field, field+": only tools of type function are supported")
		}
		into.Tools = append(into.Tools, clienttool.Tool{
			Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters,
		})
	}
	if len(into.Tools) == 0 {
		return nil
	}
	into.Serial = o.Parallel != nil && !*o.Parallel
	if err := o.choose(into); err != nil {
		return err
	}
	if err := into.Check(); err != nil {
		return &refusal{"tools", "invalid_request", err.Error()}
	}
	return nil
}

// choose reads tool_choice.
func (o offer) choose(into *clienttool.Offer) error {
	type named struct {
		Name     string    `json:"name"`
		Function *function `json:"function"`
	}
	var choice struct {
		named
		Type    string `json:"type"`
		Allowed struct {
			Mode  string  `json:"mode"`
			Tools []named `json:"tools"`
		} `json:"allowed_tools"`
	}
	var mode string
	if given(o.Choice) && json.Unmarshal(o.Choice, &mode) != nil && json.Unmarshal(o.Choice, &choice) != nil {
		return &refusal{"tool_choice", "invalid_request", "tool_choice must be none, auto, required or an object"}
	}
	switch {
	case choice.Type == "allowed_tools":
		mode = choice.Allowed.Mode
		allowed := map[string]bool{} // a list here would take seconds with some ten thousand tools
		for _, n := range choice.Allowed.Tools {
			allowed[n.Name] = true
			if n.Function != nil {
				allowed[n.Function.Name] = true
			}
		}
		into.Keep(allowed)
	case choice.Function != nil:
		into.Only = choice.Function.Name
	case choice.Type != "":
		return unsupported("tool_choice", fmt.Sprintf("tool_choice of type %q is not supported", choice.Type))
	}
	if !into.Choose(mode) {
		return &refusal{"tool_choice", "invalid_request",
			fmt.Sprintf("tool_choice %q is not none, auto or required", mode)}
	}
	return nil
}

// handed returns the calls that a turn hands to the client.
func handed(done *turn.End) (calls []toolCall) {
	for _, c := range done.Handed {
		calls = append(calls, toolCall{ID: c.ID, Type: "function",
			Function: &function{c.Name, argumentsOf(c.Arguments)}})
	}
	return calls
}

func argumentsOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	return string(raw)
}
