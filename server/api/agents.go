package api

import (
	"net/http"
	"slices"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
)

// Toolsets are the toolsets that exist, and the one that is active for an agent.
type Toolsets struct {
	Agent  string `json:"agent"`
	Active string `json:"active"`
	// Tools is how many tools the active one has.
	Tools  int             `json:"tools"`
	Skills []catalog.Skill `json:"skills"`
	// Counts is how many tools each one has, and Tokens what sending them all costs.
	Counts map[string]int `json:"counts"`
	Tokens map[string]int `json:"tokens"`
}

// Toolsets answers with the [Toolsets] of the agent in the query. Callers that are no operators
// get what the sender, whom the headers name, may see of them.
func (a *API) Toolsets(w http.ResponseWriter, r *http.Request) {
	if q, ok := wire.Query(w, r, "agent"); ok {
		if seen, ok := a.seen(w, r, q.Get("agent")); ok {
			a.replyToolsets(w, q.Get("agent"), seen)
		}
	}
}

// replyToolsets answers with the toolsets of an agent: with those that are seen, or with
// all if seen is nil.
func (a *API) replyToolsets(w http.ResponseWriter, agent string, seen *selection.Selection) {
	now, err := a.engine.Agents().Status(agent)
	c := a.engine.Catalog()
	if seen != nil {
		c = seen.Catalog()
	}
	s := Toolsets{Agent: now.Name, Skills: []catalog.Skill{}, Counts: map[string]int{}, Tokens: map[string]int{}}
	for _, t := range c.Skills() {
		if seen != nil && slices.Contains(seen.HiddenSkills, t.Name) {
			continue
		}
		members, _ := c.ToolsOf(t)
		if seen != nil {
			members = slices.DeleteFunc(slices.Clone(members), func(e *catalog.Entry) bool { return !seen.Visible(e) })
			if len(t.Tools) > 0 { // patterns and names of what is hidden
				t.Tools = []string{}
				for _, e := range members {
					t.Tools = append(t.Tools, e.Definition.Name)
				}
			}
		}
		if t.Name == now.Skill {
			s.Active = t.Name
		}
		s.Skills = append(s.Skills, t)
		s.Counts[t.Name] = len(members)
		for _, e := range members {
			s.Tokens[t.Name] += e.Tokens
		}
	}
	s.Tools = s.Counts[s.Active]
	wire.Answer(w, s, err)
}

// Toolset names the one that an agent shall have.
type Toolset struct {
	Agent string `json:"agent"`
	Skill string `json:"skill"`
}

// SetToolset makes a toolset the active one of an agent, and answers as Toolsets
// does.
func (a *API) SetToolset(w http.ResponseWriter, r *http.Request) {
	var change Toolset
	if !wire.Read(w, r, &change) {
		return
	}
	if err := a.engine.Agents().Roster.SetSkill(r.Context(), change.Agent, change.Skill); err != nil {
		wire.Fail(w, err)
		return
	}
	a.replyToolsets(w, change.Agent, nil)
}

// Agents answers with the [agent.Status] of each agent. Only operators read which
// groups and skills it has, and how many tools.
func (a *API) Agents(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		wire.Reply(w, http.StatusOK, a.agents(r))
	}
}

func (a *API) agents(r *http.Request) []agent.Status {
	var list []agent.Status
	for _, name := range a.engine.Agents().Roster.Names() {
		now, _ := a.engine.Agents().Status(name) // there is one of each of these names
		if !wire.CallerOf(r).Operator {
			now.Skill, now.Groups, now.Skills, now.Tools = "", "", []string{}, 0
		}
		list = append(list, now)
	}
	return list
}

// Control carries out an [roster.Change] and answers with the agent's
// [agent.Status].
func (a *API) Control(w http.ResponseWriter, r *http.Request) {
	var c roster.Change
	if !wire.Read(w, r, &c) {
		return
	}
	if c.Skill == nil && c.Groups == nil && c.Skills == nil {
		wire.Refuse(w, http.StatusBadRequest, "nothing to change: give skill, groups or skills")
		return
	}
	name := r.PathValue("name")
	if err := a.engine.Agents().Roster.Change(r.Context(), name, c); err != nil {
		wire.Fail(w, err)
		return
	}
	now, err := a.engine.Agents().Status(name)
	wire.Answer(w, now, err)
}
