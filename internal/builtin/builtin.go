// Package builtin holds the tools that etui brings: the files of the workspace,
// the time and arithmetic.
//
// Files are reached through os.Root, so that no name, link or race leads out of
// the workspace. Only regular files are read and written. The configuration of
// the workspace can be read, but not changed: an agent must not be able to give
// itself more rights.
package builtin

import (
	"encoding/json"
	"time"

	"github.com/etui-run/etui/tool"
)

// Source is the source of the built-in tools.
const Source = "builtin"

// Tools returns the tools that need no workspace. A nil now means time.Now.
func Tools(now func() time.Time) []tool.Tool {
	if now == nil {
		now = time.Now
	}
	return []tool.Tool{getTime(now), calculate()}
}

// definition writes what all built-in tools have in common.
func definition(name, description, chinese string, risk tool.Risk, parameters string, aliases ...string) tool.Definition {
	group := "file"
	if name == "get_time" || name == "calculate" {
		group = "util"
	}
	return tool.Definition{
		Name: name, Description: description, Translations: map[string]string{"zh": chinese}, Aliases: aliases,
		Parameters: json.RawMessage(parameters), Groups: []string{group}, Risk: risk, Version: "1", Source: Source,
	}
}
