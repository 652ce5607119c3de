package engine

import (
	"net/http"
	"time"

	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// Status says what runs, for operators.
type Status struct {
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools"`
	// Agents are in the order of the configuration.
	Agents []AgentStatus `json:"agents"`
	// Rules are the visibility rules in force, in order.
	Rules []rules.Status `json:"rules"`
	// Policy are the rules about calls, as the program tells them.
	Policy []rules.Status `json:"policy"`
	// Configuration is where they come from; nil when the program set them.
	Configuration *Configuration `json:"configuration,omitempty"`
}

// Configuration is a file whose rules and skills are read again when it changes.
type Configuration struct {
	File string `json:"file"`
	// Since is when what is in force was read.
	Since time.Time `json:"since"`
	// Error says why the file as it is now could not be used; empty when it is in
	// force.
	Error string `json:"error,omitempty"`
}

// AgentStatus is one agent's.
type AgentStatus struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	// Skill is active where a session chose none.
	Skill string `json:"skill"`
	// Groups are those whose tools it has; empty means all. Tools is how many that
	// are.
	Groups string `json:"groups"`
	Tools  int    `json:"tools"`
	// Skills are those that the model is told of; none means all.
	Skills   []string `json:"skills"`
	Strategy string   `json:"strategy"`
	// Mode is how what is selected reaches the model, as it is configured.
	Mode selection.Mode `json:"mode"`
	// CacheBreaks counts, by cause, how often the provider's prompt cache could not
	// be used since the gateway started.
	CacheBreaks map[turn.Break]int64 `json:"cache_breaks"`
	// Chooser is what the model that chooses among close candidates has done, for
	// all agents together; nil when there is none.
	Chooser *turn.Counts `json:"chooser,omitempty"`
}

// Status tells what runs now.
func (g *Gateway) Status() Status {
	c := g.Catalog()
	s := Status{Version: g.config.Version, Tools: c.Len(), Agents: g.agentStatuses(), Rules: []rules.Status{}}
	if list, ok := c.Rules().(*rules.Rules); ok {
		s.Rules = list.Status()
	}
	if s.Policy = []rules.Status{}; g.config.Policy != nil {
		s.Policy = g.config.Policy()
	}
	if g.config.Configuration != nil {
		file := g.config.Configuration()
		s.Configuration = &file
	}
	return s
}

func (g *Gateway) status(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, g.Status()) }

func (g *Gateway) agentStatuses() []AgentStatus {
	list := make([]AgentStatus, len(g.config.Agents))
	for i, configured := range g.config.Agents {
		list[i] = g.agentStatus(g.agents[configured.Name])
	}
	return list
}

func (g *Gateway) agentStatus(a *agent) AgentStatus {
	now := a.controls.load()
	s := AgentStatus{
		Name: a.Name, Model: a.Model.Info().Name, Skill: now.skill, Groups: now.groups, Tools: g.Catalog().Len(),
		Skills: append([]string{}, now.skills...), Strategy: a.Strategy.String(),
		Mode: g.config.Selection.Asked(a.Mode), CacheBreaks: a.runner.CacheBreaks(),
	}
	if now.groups != "" {
		s.Tools = len(g.Catalog().Groups(now.groups))
	}
	if c := g.config.Turn.Chooser; c != nil {
		counts := c.Counts()
		s.Chooser = &counts
	}
	return s
}
