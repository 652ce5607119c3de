// Package meta defines the tools with which a model reaches tools that it was not
// sent. Selections declare them. The turn carries them out, because they find,
// describe and call other tools and change the conversation. So the package has
// only the types of their arguments; [Definitions] and the functions that read
// arguments are generated from the types marked //etui:tool.
//
//etui:tools risk=read source=etui
package meta

import "encoding/json"

// FindTools searches the tools that are not listed here. Use it when no listed or
// announced tool fits.
//
//etui:tool
//etui:zh 搜索此处未列出的工具。没有合适的工具时使用。
type FindTools struct {
	Queries []string `json:"queries"` // what the tools should do, in English or the language of the tools, or their names
}

// DescribeTool gets a tool's description and all its parameters.
//
//etui:tool
//etui:zh 查看一个工具的说明和全部参数。
type DescribeTool struct {
	Name string `json:"name"`
}

// CallTool calls a tool that was announced in a message or found with find_tools.
//
//etui:tool
//etui:zh 调用消息中提到的或用 find_tools 找到的工具。
type CallTool struct {
	Name      string                     `json:"name"`
	Arguments map[string]json.RawMessage `json:"arguments"` // arguments as the tool's parameters say
}

// FinishPhase ends the current phase of the workflow. The program checks whether what
// the phase needs has happened, and refuses otherwise.
//
//etui:tool
//etui:zh 结束工作流的当前阶段。程序会检查该阶段的条件是否满足，否则拒绝。
type FinishPhase struct {
	Summary string `json:"summary"`        // what was done, for the phases that follow
	Next    string `json:"next,omitempty"` // the phase that should begin; leave it out if there is only one
}

// UseSkill takes up a skill: reads its instructions, and switches to its tools if it
// has any; full switches back to all tools.
//
//etui:tool
//etui:zh 启用一个技能：读取其说明并切换到它的工具；full 恢复全部工具。
type UseSkill struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"` // a file of the skill to read, as its instructions name it
}
