package wire

import (
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/phrase"
)

// Models are the agents of an engine under the names by which clients of other protocols ask for
// them.
type Models struct {
	engine  *engine.Engine
	aliases map[string]string
	// Created is when etui started, which clients read as the age of a model.
	Created time.Time
	// Pictures fetches those that messages to a model name by an address, for all protocols.
	Pictures *Pictures
}

// NewModels returns the agents of an engine as models. Aliases are further names of agents.
func NewModels(e *engine.Engine, aliases map[string]string) *Models {
	return &Models{e, aliases, time.Now(), NewPictures(e)}
}

// Names returns the names of the agents.
func (m *Models) Names() []string { return m.engine.Agents().Roster.Names() }

// Agent returns the agent that a client means by the name of a model: empty is the default. Gateways
// put a prefix before a name, as in "openai/main".
func (m *Models) Agent(name string) (string, error) {
	names := m.Names()
	for _, known := range []string{name, name[strings.LastIndexByte(name, '/')+1:]} {
		if agent := m.aliases[known]; agent != "" && slices.Contains(names, agent) {
			return agent, nil
		}
		if known == "" || slices.Contains(names, known) {
			return known, nil
		}
	}
	return "", phrase.Errorf("agent %q: %w%s", name, engine.ErrUnknown, phrase.Near(name, slices.Values(names)))
}
