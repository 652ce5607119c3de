package skill

import (
	"context"
	"encoding/json"
	"fmt"
)

// Use is one use of a skill: a call of it or of a tool that it brings, or a
// reading of its instructions.
type Use struct {
	Skill, Version, Provider string
	// Tool is the tool that was called; empty for a reading.
	Tool string
	// Arguments are those of the call, or of the reading.
	Arguments json.RawMessage
}

// useOf returns a use of an entry's skill.
func useOf(e *Entry) Use {
	return Use{Skill: e.Name(), Version: e.Details.Version, Provider: e.Details.Provider}
}

// ObserveFunc wraps every use of a skill. It calls run once, with ctx or a context
// derived from it, and returns run's error as it is. [tool.Caller] tells who uses the
// skill. It is safe for concurrent use.
type ObserveFunc func(ctx context.Context, u Use, run func(context.Context) error) error

// errResult tells an observer that a call returned a failed result.
var errResult = fmt.Errorf("the result says so: %w", ErrExecutionFailed)

// KindOf names what a skill brings: "server" for tools of its own, "instructions",
// "callable" or "toolset".
func KindOf(s Skill) string {
	switch s.(type) {
	case Server:
		return "server"
	case Guide:
		return "instructions"
	}
	if d := DetailsOf(s); d.Provider == "" && len(d.Tools) > 0 {
		return "toolset"
	}
	return "callable"
}
