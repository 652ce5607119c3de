package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/nearest"
)

// controls are what can be changed of an agent at run time. They are immutable: a
// turn reads them once, when it begins, and works with what it read.
type controls struct {
	skill  string   // the active toolset of sessions that chose none; if it is gone, there are no tools
	groups string   // the groups whose tools the agent has; empty means all
	skills []string // the only skills that the model sees; empty means all
}

// current is an agent's controls as they are now. Reading never blocks.
type current struct {
	changing sync.Mutex
	value    atomic.Pointer[controls]
}

func (c *current) load() *controls { return c.value.Load() }

// Control is a change of what an agent has. What is nil stays as it is.
type Control struct {
	// Skill is the active toolset of all sessions that chose none themselves; empty
	// means [catalog.Full].
	Skill *string `json:"skill,omitempty"`
	// Groups are the groups whose tools the agent has, as in "file,shell"; empty
	// means all. Tools that it loses leave its sessions at once; the front of their
	// requests is rebuilt with the next question.
	Groups *string `json:"groups,omitempty"`
	// Skills are the only skills that the model sees; an empty list means all, and
	// [catalog.None] alone means none. A message that names skills gets those of them
	// that are in this list.
	Skills []string `json:"skills,omitzero"`
}

// Control changes an agent from the next turn on: all that the change says or, when
// a name does not exist, nothing. The change is stored: it outlives this engine, and the
// engines of a [store.Shared] take it over. It returns [ErrStore] if that fails.
func (e *Engine) Control(ctx context.Context, agent string, c Control) error {
	a, err := e.agent(agent)
	if err != nil {
		return err
	}
	if c.Skill != nil && *c.Skill == "" {
		full := catalog.Full
		c.Skill = &full
	}
	if err := e.checkControl(c); err != nil {
		return err
	}
	a.controls.changing.Lock()
	defer a.controls.changing.Unlock()
	var all changed
	err = e.config.Store.Change(ctx, controlKind, a.Name, func(value json.RawMessage) (json.RawMessage, error) {
		all = changed{}
		if value != nil {
			if err := json.Unmarshal(value, &all); err != nil {
				return nil, err
			}
		}
		if configured := a.configured(); all.Configured != configured {
			all = changed{Configured: configured}
		}
		if c.Skill != nil {
			all.Skill = c.Skill
		}
		if c.Groups != nil {
			groups := strings.Join(groupNames(*c.Groups), ",")
			all.Groups = &groups
		}
		if c.Skills != nil {
			all.Skills = c.Skills
		}
		return json.Marshal(all)
	})
	if err != nil {
		return fmt.Errorf("storing what agent %s has: %w: %w", a.Name, ErrStore, err)
	}
	a.set(all.Control)
	return nil
}

// controlKind is the kind of the records with what people changed of agents.
const controlKind = "agent"

// changed is what people changed of an agent, as it is stored.
type changed struct {
	Control

	// Configured is the hash of what the configuration said. When it says something else,
	// that counts, and the change does not any more.
	Configured string `json:"configured"`
}

// configured returns the hash of what the configuration says of an agent that can be changed.
func (a *agent) configured() string { return hashed([]any{a.Groups, a.Skill, a.Skills}) }

// set puts a change of what the configuration says into effect. The caller has the controls
// to itself.
func (a *agent) set(c Control) {
	next := controls{groups: a.Groups, skill: cmp.Or(a.Skill, catalog.Full), skills: slices.Clone(a.Skills)}
	if c.Skill != nil {
		next.skill = *c.Skill
	}
	if c.Groups != nil {
		next.groups = *c.Groups
	}
	if c.Skills != nil {
		next.skills = slices.Clone(c.Skills)
	}
	a.controls.value.Store(&next)
}

// loadControls puts into effect what is stored of all agents. A name that does not exist now
// may come back: until then it stands for nothing. It returns the agents of which the
// configuration has changed since.
func (e *Engine) loadControls(ctx context.Context) (outdated []string, err error) {
	for _, a := range e.agents { // so that no change comes between reading and setting
		a.controls.changing.Lock()
		defer a.controls.changing.Unlock()
	}
	records, err := e.config.Store.Records(ctx, controlKind)
	if err != nil {
		return nil, fmt.Errorf("what people changed of the agents: %w: %w", ErrStore, err)
	}
	for _, r := range records {
		a := e.agents[r.Key]
		if a == nil {
			continue // it is not configured any more
		}
		var c changed
		if err := json.Unmarshal(r.Value, &c); err != nil {
			return nil, fmt.Errorf("what people changed of agent %s: %w", r.Key, err)
		}
		if c.Configured != a.configured() {
			outdated = append(outdated, a.Name)
			c = changed{}
		}
		a.set(c.Control)
	}
	return outdated, nil
}

// followControls takes over what is changed through other engines, until ctx ends.
func (e *Engine) followControls(ctx context.Context) {
	changed := e.shared.Changed(controlKind)
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if _, err := e.loadControls(ctx); err != nil && ctx.Err() == nil {
			e.config.Log.DebugContext(ctx, "agents stay as they are", "error", err) // the store says when it is away
		}
	}
}

// SetSkill changes only the active toolset of an agent.
func (e *Engine) SetSkill(ctx context.Context, agent, skill string) error {
	return e.Control(ctx, agent, Control{Skill: &skill})
}

// checkControl refuses names that do not exist.
func (e *Engine) checkControl(c Control) error {
	named, err := namesOf(c.Skills)
	if err != nil {
		return err
	}
	if c.Skill != nil {
		named = append([]string{*c.Skill}, named...)
	}
	for _, skill := range named {
		if err := e.checkSkill(skill); err != nil {
			return err
		}
	}
	if c.Groups == nil {
		return nil
	}
	known := e.Catalog().GroupNames()
	for _, name := range groupNames(*c.Groups) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("group %q: %w%s", name, ErrUnknown, nearest.Hint(name, slices.Values(known)))
		}
	}
	return nil
}

// namesOf returns the names in a list of skills: [catalog.None] is none, and an error
// beside others.
func namesOf(skills []string) ([]string, error) {
	if !slices.Contains(skills, catalog.None) {
		return skills, nil
	}
	if len(skills) > 1 {
		return nil, fmt.Errorf("%q means no skill, and cannot be in a list with others: %s", catalog.None, strings.Join(skills, ", "))
	}
	return nil, nil
}

func groupNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
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

func (e *Engine) checkSkill(name string) error {
	if _, ok := e.Catalog().Skill(name); ok {
		return nil
	}
	var all []string
	for _, t := range e.Catalog().Skills() {
		all = append(all, t.Name)
	}
	return unknownSkill(name, all)
}

func unknownSkill(name string, others []string) error {
	return fmt.Errorf("skill %q: %w%s", name, ErrUnknown, nearest.Hint(name, slices.Values(others)))
}
