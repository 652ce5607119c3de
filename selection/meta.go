package selection

import (
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection/meta"
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

// metaTools are their definitions, the same bytes in every request, in the order in
// which they are declared.
var metaTools = []*catalog.Entry{declared(FindTools), declared(DescribeTool), declared(CallTool), declared(UseSkill)}

// declared makes an entry of a definition of package meta.
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
	if sel.active() {
		return true
	}
	for i := range sel.selector.skills.list {
		if sel.hidden[i] == notHidden && !sel.selector.skills.list[i].Manual {
			return true
		}
	}
	return false
}
