package agent

import (
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chooser"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// Status is what an agent is now.
type Status struct {
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
	// Active is how many of them Skill shows.
	Active int `json:"active"`
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
	Chooser *chooser.Counts `json:"chooser,omitempty"`
}

// Status returns the status of an agent.
func (g *Agents) Status(name string) (Status, error) {
	a, err := g.Get(name)
	if err != nil {
		return Status{}, err
	}
	now := a.Controls.Snapshot()
	s := Status{
		Name: a.Name, Model: a.Model.Info().Name, Models: model.HealthOf(a.Model),
		Skill: now.Skill, Groups: now.Groups, Tools: g.host.Catalog().Len(),
		Skills: append([]string{}, now.Skills...), Strategy: a.Strategy.String(), Guide: a.Memory.Guide(),
		Mode: g.host.Selection.ModeFor(a.Mode), CacheBreaks: a.Runner.CacheBreaks(),
	}
	c := g.host.Catalog()
	active, _ := c.Skill(now.Skill)
	shown, _ := c.ToolsOf(active)
	if s.Active = len(shown); now.Groups != "" {
		own := map[*catalog.Entry]bool{}
		for _, e := range c.Groups(now.Groups) {
			own[e] = true
		}
		s.Tools = len(own)
		s.Active = len(slices.DeleteFunc(slices.Clone(shown), func(e *catalog.Entry) bool { return !own[e] }))
	}
	if chooser := g.host.Turn.Chooser; chooser != nil {
		counts := chooser.Counts()
		s.Chooser = &counts
	}
	return s, nil
}
