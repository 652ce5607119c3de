package skill

import (
	"context"
	"encoding/json"
)

// toolset is a skill without a provider. All it brings is a choice of tools: those
// that are shown while it is active.
type toolset struct{ config Config }

func (t toolset) Name() string                { return t.config.Name }
func (t toolset) Description() string         { return t.config.Description }
func (t toolset) Parameters() ParameterSchema { return t.config.Parameters }
func (t toolset) Details() Details            { return t.config.Details() }

// Execute returns the tools of the toolset.
func (t toolset) Execute(context.Context, json.RawMessage) (any, error) {
	return map[string]any{"skill": t.config.Name, "tools": t.config.Tools}, nil
}
