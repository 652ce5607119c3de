package engine

import (
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

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

// AgentStatus returns what an agent is now.
func (g *Engine) AgentStatus(name string) (AgentStatus, error) {
	a, err := g.agent(name)
	if err != nil {
		return AgentStatus{}, err
	}
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
	return s, nil
}
