package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/nearest"
)

// controls are what is changed of an agent while it serves. They are immutable:
// a turn reads them once, when it begins, and works with what it read.
type controls struct {
	skill  string   // the active toolset of sessions that chose none; one that has gone lets nothing through
	groups string   // whose tools the agent has; empty means all
	skills []string // those that the model is told of; empty means all
}

// current is an agent's controls as they are now. Reading waits for nobody;
// changes are made one at a time.
type current struct {
	changing sync.Mutex
	value    atomic.Pointer[controls]
}

func (c *current) load() *controls { return c.value.Load() }

// change replaces the controls, all of them or, when f fails, none.
func (c *current) change(f func(*controls) error) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	next := *c.value.Load()
	if err := f(&next); err != nil {
		return err
	}
	c.value.Store(&next)
	return nil
}

// SetSkill makes a toolset the active one of an agent, from the next turn on,
// for all its sessions that have not chosen one themselves. The empty name is
// [catalog.Full].
func (g *Engine) SetSkill(agent, skill string) error {
	return g.Control(agent, Control{Skill: &skill})
}

// SetGroups gives an agent the tools of certain groups, as in "file,shell", from
// the next turn on; empty means all. What it loses leaves its sessions at once;
// what stands in front of their requests is chosen anew with their next
// question.
func (g *Engine) SetGroups(agent, groups string) error {
	return g.Control(agent, Control{Groups: &groups})
}

// SetSkillsFilter says which skills an agent's model is told of, from the next
// turn on; none means all. A message that names skills itself gets those of them
// that the filter lets through.
func (g *Engine) SetSkillsFilter(agent string, skills []string) error {
	if skills == nil {
		skills = []string{}
	}
	return g.Control(agent, Control{Skills: skills})
}

// Control is a change of what an agent has. What is nil stays as it is.
type Control struct {
	// Skill is the toolset that is active where a session chose none; empty means
	// all tools.
	Skill *string `json:"skill,omitempty"`
	// Groups are those whose tools the agent has; empty means all.
	Groups *string `json:"groups,omitempty"`
	// Skills are those that the model is told of; an empty list means all.
	Skills []string `json:"skills,omitzero"`
}

// Control changes an agent in one step, from the next turn on.
func (g *Engine) Control(agent string, c Control) error {
	a, err := g.agent(agent)
	if err != nil {
		return err
	}
	if err := g.checkControl(&c); err != nil {
		return err
	}
	return a.controls.change(func(now *controls) error {
		if c.Skill != nil {
			now.skill = *c.Skill
		}
		if c.Groups != nil {
			now.groups = *c.Groups
		}
		if c.Skills != nil {
			now.skills = slices.Clone(c.Skills)
		}
		return nil
	})
}

// filter combines the agent's filter with a message's choice of skills: a skill
// must pass both.
func (c *controls) filter(include, exclude []string) (in, out []string) {
	if len(c.skills) == 0 {
		return include, exclude
	}
	if len(include) == 0 {
		return c.skills, exclude
	}
	out = slices.Clone(exclude)
	for _, name := range include {
		if !slices.Contains(c.skills, name) {
			out = append(out, name)
		}
	}
	return include, out
}

// checkControl refuses names that do not exist, and fills in what empty means.
func (g *Engine) checkControl(c *Control) error {
	if c.Skill != nil {
		skill := *c.Skill
		if skill == "" {
			skill = catalog.Full
		}
		if err := g.checkSkill(skill); err != nil {
			return err
		}
		c.Skill = &skill
	}
	for _, skill := range c.Skills {
		if err := g.checkSkill(skill); err != nil {
			return err
		}
	}
	if c.Groups == nil {
		return nil
	}
	names := groupNames(*c.Groups)
	for _, name := range names {
		if err := g.checkGroup(name); err != nil {
			return err
		}
	}
	groups := strings.Join(names, ",")
	c.Groups = &groups
	return nil
}

func groupNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func (g *Engine) checkGroup(name string) error {
	known := g.Catalog().GroupNames()
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("group %q: %w%s", name, ErrUnknown, nearest.Hint(name, slices.Values(known)))
}

// Skill tells which toolset of an agent is active, and how many tools it has.
func (g *Engine) Skill(agent string) (name string, tools int, err error) {
	a, err := g.agent(agent)
	if err != nil {
		return "", 0, err
	}
	name = a.controls.load().skill
	toolset, _ := g.Catalog().Skill(name)
	members, _ := g.Catalog().Members(toolset)
	return name, len(members), nil
}

func (g *Engine) checkSkill(name string) error {
	if _, ok := g.Catalog().Skill(name); ok {
		return nil
	}
	var all []string
	for _, t := range g.Catalog().Skills() {
		all = append(all, t.Name)
	}
	return unknownSkill(name, all)
}

func unknownSkill(name string, others []string) error {
	return fmt.Errorf("skill %q: %w%s", name, ErrUnknown, nearest.Hint(name, slices.Values(others)))
}
