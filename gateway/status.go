package gateway

import (
	"net/http"

	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// Status says what runs, for operators.
type Status struct {
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools"`
	// Agents are in the order of the configuration.
	Agents []AgentStatus `json:"agents"`
}

// AgentStatus is one agent's.
type AgentStatus struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	Skill string `json:"skill"`
	// Mode is how what is selected reaches the model, as it is configured.
	Mode selection.Mode `json:"mode"`
	// CacheBreaks counts, by cause, how often the provider's prompt cache could not
	// be used since the gateway started.
	CacheBreaks map[turn.Break]int64 `json:"cache_breaks"`
}

// Status tells what runs now.
func (g *Gateway) Status() Status {
	s := Status{Version: g.config.Version, Tools: g.Catalog().Len()}
	for _, configured := range g.config.Agents {
		a := g.agents[configured.Name]
		s.Agents = append(s.Agents, AgentStatus{
			Name: a.Name, Model: a.Model.Info().Name, Skill: a.skill.load(),
			Mode: g.config.Selection.Asked(a.Mode), CacheBreaks: a.runner.CacheBreaks(),
		})
	}
	return s
}

func (g *Gateway) status(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, g.Status())
}
