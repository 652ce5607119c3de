package api

import (
	"net/http"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/server/wire"
)

// Toolsets are the toolsets that exist, and the one that is active for an agent.
type Toolsets struct {
	Agent  string `json:"agent"`
	Active string `json:"active"`
	// Tools is how many tools the active one has.
	Tools  int             `json:"tools"`
	Skills []catalog.Skill `json:"skills"`
	// Counts is how many tools each one has.
	Counts map[string]int `json:"counts"`
}

// Toolsets answers with the [Toolsets] of the agent in the query.
func (a *API) Toolsets(w http.ResponseWriter, r *http.Request) {
	a.replyToolsets(w, r.URL.Query().Get("agent"))
}

func (a *API) replyToolsets(w http.ResponseWriter, agent string) {
	now, err := a.engine.AgentStatus(agent)
	c := a.engine.Catalog()
	s := Toolsets{Agent: now.Name, Active: now.Skill, Skills: c.Skills(), Counts: map[string]int{}}
	for _, t := range s.Skills {
		members, _ := c.Members(t)
		s.Counts[t.Name] = len(members)
	}
	s.Tools = s.Counts[s.Active]
	wire.Answer(w, s, err)
}

// SetToolset makes a toolset the active one of an agent, and answers as Toolsets
// does.
func (a *API) SetToolset(w http.ResponseWriter, r *http.Request) {
	var change struct{ Agent, Skill string }
	if !wire.Read(w, r, &change) {
		return
	}
	if err := a.engine.SetSkill(change.Agent, change.Skill); err != nil {
		wire.Fail(w, err)
		return
	}
	a.replyToolsets(w, change.Agent)
}

// Agents answers with the [engine.AgentStatus] of each agent.
func (a *API) Agents(w http.ResponseWriter, _ *http.Request) {
	wire.Reply(w, http.StatusOK, a.agents())
}

func (a *API) agents() []engine.AgentStatus {
	var list []engine.AgentStatus
	for _, name := range a.engine.Agents() {
		now, _ := a.engine.AgentStatus(name) // there is one of each of these names
		list = append(list, now)
	}
	return list
}

// Control carries out an [engine.Control] and answers with the agent's
// [engine.AgentStatus].
func (a *API) Control(w http.ResponseWriter, r *http.Request) {
	var c engine.Control
	if !wire.Read(w, r, &c) {
		return
	}
	if c.Skill == nil && c.Groups == nil && c.Skills == nil {
		wire.Refuse(w, http.StatusBadRequest, "nothing to change: give skill, groups or skills")
		return
	}
	name := r.PathValue("name")
	if err := a.engine.Control(name, c); err != nil {
		wire.Fail(w, err)
		return
	}
	now, err := a.engine.AgentStatus(name)
	wire.Answer(w, now, err)
}
