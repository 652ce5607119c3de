package skill

import (
	"context"
	"encoding/json"
)

// toolset is a skill without a provider. All it brings is a choice of tools: those
// that are shown while it is active.
type toolset struct{ Described }

// Execute returns the tools of the toolset.
func (t *toolset) Execute(context.Context, json.RawMessage) (any, error) {
	return map[string]any{"skill": t.name, "tools": t.More.Tools}, nil
}
