package selection

import (
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection/meta"
)

// The tools with which a model reaches tools that were not sent. Selections
// declare them; the turn carries them out, with [Selector.Search] and
// [Selector.Admit]. No other tool can have their names.
const (
	// FindTools searches the tools that the caller may use.
	FindTools = "find_tools"
	// DescribeTool describes one tool in full.
	DescribeTool = "describe_tool"
	// CallTool calls a tool that was found or announced.
	CallTool = "call_tool"
	// UseSkill takes a skill up: it returns the skill's instructions and switches
	// the session to its tools.
	UseSkill = "use_skill"
	// FinishPhase ends a phase of a workflow, if the host finds that it may end.
	FinishPhase = "finish_phase"
)

// metaTools are their definitions, in the order in which they are declared. Their
// bytes are the same in every request.
var metaTools = []*catalog.Entry{declared(FindTools), declared(DescribeTool), declared(CallTool), declared(UseSkill),
	declared(FinishPhase)}

// declared makes an entry of the definition of that name in package meta.
func declared(name string) *catalog.Entry {
	for _, d := range meta.Definitions() {
		if d.Name != name {
			continue
		}
		raw, err := json.Marshal(d)
		if err != nil {
			panic(err) // its parameters are not JSON
		}
		return &catalog.Entry{Registration: &catalog.Registration{Definition: d, JSON: raw, Tokens: chat.Tokens(raw)}}
	}
	panic("package meta does not define " + name)
}

func metaEntry(name string) (*catalog.Entry, bool) {
	i := slices.IndexFunc(metaTools, func(e *catalog.Entry) bool { return e.Definition.Name == name })
	if i < 0 {
		return nil, false
	}
	return metaTools[i], true
}

// Meta reports whether a name is the name of one of these tools.
func Meta(name string) bool {
	_, ok := metaEntry(name)
	return ok
}

// metaTools are the tools above with which a new front begins. Only Bridge has
// describe_tool: in the other modes a signature and, after a mistake, the schema
// are enough, and small models choose better from less.
func (f front) metaTools() []*catalog.Entry {
	tools := make([]*catalog.Entry, 0, len(metaTools))
	for _, e := range metaTools {
		name := e.Definition.Name
		switch {
		case name == FinishPhase:
			if f.sel.Request.Phase != "" {
				tools = append(tools, e)
			}
		case f.sel.selector.config.Off,
			name == UseSkill && !f.sel.hasSkills(),
			name != UseSkill && f.sel.Mode == Direct,
			name == DescribeTool && f.sel.Mode != Bridge:
		default:
			tools = append(tools, e)
		}
	}
	return tools
}

// hasSkills reports whether the model can take up a skill, or leave one.
func (sel *Selection) hasSkills() bool {
	if sel.active() {
		return true
	}
	for i := range sel.selector.skills.list {
		if sel.offered(i) {
			return true
		}
	}
	return false
}
