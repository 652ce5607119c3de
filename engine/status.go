package engine

import (
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// AgentStatus is what an agent is now.
type AgentStatus struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	// Models are its model and those to fall back on, in order, as earlier requests
	// found them.
	Models []model.Health `json:"models"`
	// Skill is the active toolset of sessions that chose none.
	Skill string `json:"skill"`
	// Groups are the groups whose tools it has; empty means all. Tools is their
	// number.
	Groups string `json:"groups"`
	Tools  int    `json:"tools"`
	// Skills are the only skills that the model sees; none means all.
	Skills   []string `json:"skills"`
	Strategy string   `json:"strategy"`
	// Guide is the file of the workspace that the agent's instructions include, such as AGENTS.md.
	Guide string `json:"guide,omitempty"`
	// Mode is how the selected tools reach the model, as configured.
	Mode selection.Mode `json:"mode"`
	// CacheBreaks counts, by cause, how often the provider's prompt cache could not
	// be used since the start.
	CacheBreaks map[turn.Break]int64 `json:"cache_breaks"`
	// Chooser counts what the model that chooses among close candidates did, for all
	// agents together; nil when there is none.
	Chooser *turn.Counts `json:"chooser,omitempty"`
}

// AgentStatus returns the status of an agent.
func (e *Engine) AgentStatus(name string) (AgentStatus, error) {
	a, err := e.agent(name)
	if err != nil {
		return AgentStatus{}, err
	}
	now := a.controls.Now()
	s := AgentStatus{
		Name: a.Name, Model: a.Model.Info().Name, Models: model.HealthOf(a.Model), Skill: now.Skill, Groups: now.Groups, Tools: e.Catalog().Len(),
		Skills: append([]string{}, now.Skills...), Strategy: a.Strategy.String(), Guide: a.Memory.Guide(),
		Mode: e.config.Selection.Asked(a.Mode), CacheBreaks: a.runner.CacheBreaks(),
	}
	if now.Groups != "" {
		s.Tools = len(e.Catalog().Groups(now.Groups))
	}
	if c := e.config.Turn.Chooser; c != nil {
		counts := c.Counts()
		s.Chooser = &counts
	}
	return s, nil
}
