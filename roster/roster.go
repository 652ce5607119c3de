// Package roster knows which agents there are, and what people changed of them at run time.
package roster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/store"
)

// ErrUnknown says that an agent, a skill or a group does not exist.
var ErrUnknown = phrase.Errorf("not found")

// Spec is what the configuration says of an agent that can be changed at run time, see
// [engine.Agent].
type Spec struct {
	Name, Groups, Skill string
	Skills              []string
}

// Host is what a roster needs of the program around it.
type Host struct {
	// Catalog returns what exists now.
	Catalog func() *catalog.Catalog
	// Store keeps what people change.
	Store store.Store
	Log   *slog.Logger
}

// Roster is the agents of an engine. It is safe for concurrent use.
type Roster struct {
	host   Host
	agents map[string]*Agent
	names  []string
}

// New returns a roster of agents, the default one first.
func New(h Host, agents []Spec) *Roster {
	r := &Roster{host: h, agents: map[string]*Agent{}}
	for _, spec := range agents {
		a := &Agent{spec: spec}
		a.set(Change{})
		r.agents[spec.Name] = a
		r.names = append(r.names, spec.Name)
	}
	return r
}

// Names returns the names of the agents, the default one first.
func (r *Roster) Names() []string { return slices.Clone(r.names) }

// Agent returns an agent by its name; an empty one is the default.
func (r *Roster) Agent(name string) (*Agent, error) {
	a, ok := r.agents[cmp.Or(name, r.names[0])]
	if !ok {
		if hint := phrase.Near(name, slices.Values(r.names)); hint != "" {
			return nil, phrase.Errorf("agent %q: %w%s", name, ErrUnknown, hint)
		}
		return nil, phrase.Errorf("agent %q: %w; the agents are %s", name, ErrUnknown, strings.Join(r.names, ", "))
	}
	return a, nil
}

// Snapshot is what an agent has now. It is immutable: a turn reads it once, when it begins, and works
// with what it read.
type Snapshot struct {
	Skill  string   // the active toolset of sessions that chose none; if it is gone, there are no tools
	Groups string   // the groups whose tools the agent has; empty means all
	Skills []string // the only skills that the model sees; empty means all
}

// Agent is an agent of the roster. Reading what it has never blocks.
type Agent struct {
	spec     Spec
	changing sync.Mutex
	now      atomic.Pointer[Snapshot]
}

// Name is how messages address the agent.
func (a *Agent) Name() string { return a.spec.Name }

// Snapshot returns what the agent has now.
func (a *Agent) Snapshot() *Snapshot { return a.now.Load() }

// Change is a change of what an agent has. A field that is nil leaves its part as it is.
type Change struct {
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

// Change changes an agent from the next turn on: all that the change says or, when
// a name does not exist, nothing. The change is stored: it outlives this process, and the
// others with a [store.Shared] take it over. It returns [store.ErrAway] if that fails.
func (r *Roster) Change(ctx context.Context, agent string, c Change) error {
	a, err := r.Agent(agent)
	if err != nil {
		return err
	}
	if c.Skill != nil && *c.Skill == "" {
		full := catalog.Full
		c.Skill = &full
	}
	if err := r.Check(c); err != nil {
		return err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	var all storedChange
	err = r.host.Store.Change(ctx, controlKind, a.spec.Name, func(value json.RawMessage) (json.RawMessage, error) {
		all = storedChange{}
		if value != nil {
			if err := json.Unmarshal(value, &all); err != nil {
				return nil, err
			}
		}
		if configured := a.configured(); all.Configured != configured {
			all = storedChange{Configured: configured}
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
		return fmt.Errorf("storing what agent %s has: %w: %w", a.spec.Name, store.ErrAway, err)
	}
	a.set(all.Change)
	return nil
}

// controlKind is the kind of the records with what people changed of agents.
const controlKind = "agent"

// storedChange is what people changed of an agent, as it is stored.
type storedChange struct {
	Change

	// Configured is the hash of what the configuration said. When it says something else,
	// that counts, and the change does not any more.
	Configured string `json:"configured"`
}

// configured returns the hash of what the configuration says of an agent that can be changed.
func (a *Agent) configured() string {
	raw, _ := json.Marshal([]any{a.spec.Groups, a.spec.Skill, a.spec.Skills}) // texts
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// set puts a change of what the configuration says into effect. The caller has the controls
// to itself.
func (a *Agent) set(c Change) {
	next := Snapshot{Groups: a.spec.Groups, Skill: cmp.Or(a.spec.Skill, catalog.Full),
		Skills: slices.Clone(a.spec.Skills)}
	if c.Skill != nil {
		next.Skill = *c.Skill
	}
	if c.Groups != nil {
		next.Groups = *c.Groups
	}
	if c.Skills != nil {
		next.Skills = slices.Clone(c.Skills)
	}
	a.now.Store(&next)
}

// Load puts into effect what is stored of all agents. A name that does not exist now
// may come back: until then it stands for nothing. It returns the agents of which the
// configuration has changed since.
func (r *Roster) Load(ctx context.Context) (outdated []string, err error) {
	for _, a := range r.agents { // so that no change comes between reading and setting
		a.changing.Lock()
		defer a.changing.Unlock()
	}
	records, err := r.host.Store.Records(ctx, controlKind)
	if err != nil {
		return nil, fmt.Errorf("what people changed of the agents: %w: %w", store.ErrAway, err)
	}
	for _, record := range records {
		a := r.agents[record.Key]
		if a == nil {
			continue // it is not configured any more
		}
		var c storedChange
		if err := json.Unmarshal(record.Value, &c); err != nil {
			return nil, fmt.Errorf("what people changed of agent %s: %w", record.Key, err)
		}
		if c.Configured != a.configured() {
			outdated = append(outdated, a.spec.Name)
			c = storedChange{}
		}
		a.set(c.Change)
	}
	return outdated, nil
}

// Follow takes over what is changed through other processes, until ctx ends. Without a
// [store.Shared] it returns at once.
func (r *Roster) Follow(ctx context.Context) {
	shared, ok := r.host.Store.(store.Shared)
	if !ok {
		return
	}
	changed := shared.Changed(controlKind)
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if _, err := r.Load(ctx); err != nil && ctx.Err() == nil {
			r.host.Log.DebugContext(ctx, "agents stay as they are", "error", err) // the store says when it is away
		}
	}
}

// SetSkill changes only the active toolset of an agent.
func (r *Roster) SetSkill(ctx context.Context, agent, skill string) error {
	return r.Change(ctx, agent, Change{Skill: &skill})
}

// Check refuses names that do not exist.
func (r *Roster) Check(c Change) error {
	named, err := NamesOf(c.Skills)
	if err != nil {
		return err
	}
	if c.Skill != nil {
		named = append([]string{*c.Skill}, named...)
	}
	for _, skill := range named {
		if err := r.CheckSkill(skill); err != nil {
			return err
		}
	}
	if c.Groups == nil {
		return nil
	}
	known := r.host.Catalog().GroupNames()
	for _, name := range groupNames(*c.Groups) {
		if !slices.Contains(known, name) {
			return phrase.Errorf("group %q: %w%s", name, ErrUnknown, phrase.Near(name, slices.Values(known)))
		}
	}
	return nil
}

// NamesOf returns the names in a list of skills: [catalog.None] is none, and an error
// beside others.
func NamesOf(skills []string) ([]string, error) {
	if !slices.Contains(skills, catalog.None) {
		return skills, nil
	}
	if len(skills) > 1 {
		return nil, phrase.Errorf("%q means no skill, and cannot be in a list with others: %s",
			catalog.None, strings.Join(skills, ", "))
	}
	return nil, nil
}

func groupNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// Filter combines the agent's filter with a message's choice of skills: a skill
// must pass both.
func (n *Snapshot) Filter(include, exclude []string) (in, out []string) {
	if len(n.Skills) == 0 {
		return include, exclude
	}
	if len(include) == 0 {
		return n.Skills, exclude
	}
	out = slices.Clone(exclude)
	for _, name := range include {
		if !slices.Contains(n.Skills, name) {
			out = append(out, name)
		}
	}
	return include, out
}

// CheckSkill refuses the name of a skill that does not exist.
func (r *Roster) CheckSkill(name string) error {
	if _, ok := r.host.Catalog().Skill(name); ok {
		return nil
	}
	var all []string
	for _, t := range r.host.Catalog().Skills() {
		all = append(all, t.Name)
	}
	return UnknownSkill(name, all)
}

// UnknownSkill is the error of a skill that is none of others.
func UnknownSkill(name string, others []string) error {
	return phrase.Errorf("skill %q: %w%s", name, ErrUnknown, phrase.Near(name, slices.Values(others)))
}
