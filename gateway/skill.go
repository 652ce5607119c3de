package gateway

import (
	"fmt"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/nearest"
)

// current is a name that is read by every turn and changed while they run.
type current struct{ name atomic.Pointer[string] }

func (c *current) load() string { return *c.name.Load() }

// SetSkill makes a toolset the active one of an agent, from the next turn on,
// for all its sessions that have not chosen one themselves. The empty name is
// [catalog.Full].
func (g *Gateway) SetSkill(agent, skill string) error {
	a, err := g.agent(agent)
	if err != nil {
		return err
	}
	if skill == "" {
		skill = catalog.Full
	}
	if err := g.checkSkill(skill); err != nil {
		return err
	}
	a.skill.name.Store(&skill)
	return nil
}

// Skill tells which toolset of an agent is active, and how many tools it has.
func (g *Gateway) Skill(agent string) (name string, tools int, err error) {
	a, err := g.agent(agent)
	if err != nil {
		return "", 0, err
	}
	name = a.skill.load()
	toolset, _ := g.Catalog().Toolset(name)
	members, _ := g.Catalog().Members(toolset)
	return name, len(members), nil
}

func (g *Gateway) checkSkill(name string) error {
	if _, ok := g.Catalog().Toolset(name); ok {
		return nil
	}
	return fmt.Errorf("skill %q: %w%s", name, ErrUnknown, nearest.Hint(name, func(yield func(string) bool) {
		for _, t := range g.Catalog().Toolsets() {
			if !yield(t.Name) {
				return
			}
		}
	}))
}
