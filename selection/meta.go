package selection

import (
	"encoding/json"
	"slices"

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
	// DescribeTool tells all about one tool.
	DescribeTool = "describe_tool"
	// CallTool calls a tool that was found or announced.
	CallTool = "call_tool"
	// UseSkill takes a skill up: it gives the skill's instructions, and switches the
	// session to its tools.
	UseSkill = "use_skill"
)

// metaTools are their definitions, the same bytes in every request.
var metaTools = []*catalog.Entry{
	meta(FindTools,
		"Search the tools that are not listed here. Use it when no listed or announced tool fits.",
		`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},"description":"what the tools should do, or their names"}},"required":["queries"]}`),
	meta(DescribeTool,
		"Get a tool's description and all its parameters.",
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	meta(CallTool,
		"Call a tool that was announced in a message or found with find_tools.",
		`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","description":"arguments as the tool's parameters say"}},"required":["name","arguments"]}`),
	meta(UseSkill,
		"Take up a skill: read its instructions, and switch to its tools if it has any; full switches back to all tools.",
		`{"type":"object","properties":{"name":{"type":"string"},"file":{"type":"string","description":"a file of the skill to read, as its instructions name it"}},"required":["name"]}`),
}

func meta(name, description, parameters string) *catalog.Entry {
	d := tool.Definition{Name: name, Description: description, Parameters: json.RawMessage(parameters), Risk: tool.Read, Source: "etui"}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // the definition above is not JSON
	}
	return &catalog.Entry{Registration: &catalog.Registration{Definition: d, JSON: raw, Tokens: chat.Tokens(raw)}}
}

func metaEntry(name string) (*catalog.Entry, bool) {
	i := slices.IndexFunc(metaTools, func(e *catalog.Entry) bool { return e.Definition.Name == name })
	if i < 0 {
		return nil, false
	}
	return metaTools[i], true
}

// Meta reports whether a name is that of one of the tools above.
func Meta(name string) bool {
	_, ok := metaEntry(name)
	return ok
}

// metaTools are those with which a new front begins. Only Bridge describes: in
// the other modes a signature and, after a mistake, the schema are enough, and
// small models choose better from less.
func (sel *Selection) metaTools() []*catalog.Entry {
	tools := make([]*catalog.Entry, 0, len(metaTools))
	for _, e := range metaTools {
		name := e.Definition.Name
		switch {
		case sel.selector.config.Off,
			name == UseSkill && !sel.hasSkills(),
			name != UseSkill && sel.Mode == Direct,
			name == DescribeTool && sel.Mode != Bridge:
		default:
			tools = append(tools, e)
		}
	}
	return tools
}

// hasSkills reports whether there is a skill to take up, or to come back from.
func (sel *Selection) hasSkills() bool {
	return sel.active() || len(sel.HiddenSkills) < len(sel.selector.skills.list)
}
