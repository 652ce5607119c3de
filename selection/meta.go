package selection

import (
	"encoding/json"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// The tools with which a model reaches what was not sent. Selections declare
// them; who runs the turn carries them out, with [Selector.Search] and
// [Selector.Admit]. No other tool can have their names.
const (
	// FindTools searches what the caller may use.
	FindTools = "find_tools"
	// CallTool calls a tool that was found or announced.
	CallTool = "call_tool"
)

var (
	findTools = meta(FindTools,
		"Search the tools that are not listed here. Use it when no listed or announced tool fits. Returns names, descriptions and parameters.",
		`{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do, or its name"},"limit":{"type":"integer","minimum":1,"maximum":20}},"required":["query"]}`)
	callTool = meta(CallTool,
		"Call a tool that was announced in a message or found with find_tools.",
		`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","description":"arguments as the tool's parameters say"}},"required":["name","arguments"]}`)
)

func meta(name, description, parameters string) *catalog.Entry {
	d := tool.Definition{Name: name, Description: description, Parameters: json.RawMessage(parameters), Risk: tool.Read, Source: "etui"}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // the definition above is not JSON
	}
	return &catalog.Entry{Definition: d, JSON: raw, Tokens: chat.Tokens(raw)}
}

func metaEntry(name string) (*catalog.Entry, bool) {
	switch name {
	case FindTools:
		return findTools, true
	case CallTool:
		return callTool, true
	}
	return nil, false
}

func reserved(name string) bool { return name == FindTools || name == CallTool }
