package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Use is one use of a skill: a call of it or of a tool that it brings, or a
// reading of its instructions.
type Use struct {
	Skill, Version, Provider string
	// Tool is what was called, or empty for a reading.
	Tool string
	// Arguments are those of the call, or of the reading.
	Arguments json.RawMessage
}

// UseOf is a use of the skill of an entry.
func UseOf(e *Entry) Use {
	return Use{Skill: e.Name(), Version: e.Details.Version, Provider: e.Details.Provider}
}

// ObserveFunc stands around every use of a skill. It calls run once, with the
// context or one made of it, and returns run's error as it is. Who uses the skill
// is told by [tool.Caller]. It is safe for concurrent use.
type ObserveFunc func(ctx context.Context, u Use, run func(context.Context) error) error

// errResult is what an observer is told of a call whose result says that it
// failed.
var errResult = fmt.Errorf("the result says so: %w", ErrExecutionFailed)

// Observed returns t with every call going through observe, as a use like u. A
// nil observe changes nothing.
func Observed(t tool.Tool, u Use, observe ObserveFunc) tool.Tool {
	if observe == nil {
		return t
	}
	u.Tool = t.Definition().Name
	return &observed{t, u, observe}
}

type observed struct {
	tool.Tool
	use     Use
	observe ObserveFunc
}

// Call calls the tool. A panic is ErrExecutionFailed.
func (o *observed) Call(ctx context.Context, args json.RawMessage) (result chat.Result, err error) {
	u := o.use
	u.Arguments = args
	err = o.observe(ctx, u, func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("tool %s: %w unexpectedly", u.Tool, ErrExecutionFailed)
			}
		}()
		if result, err = o.Tool.Call(ctx, args); err == nil && result.Failed {
			return errResult
		}
		return err
	})
	if errors.Is(err, errResult) {
		err = nil
	}
	return result, err
}

// KindOf says in a word what a skill brings: "server" for tools of its own,
// "instructions", "callable", or "toolset".
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
