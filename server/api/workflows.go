package api

import (
	"net/http"
	"slices"

	"github.com/etui-run/etui/server/wire"
)

// Workflows are the workflows that messages can begin.
type Workflows struct {
	Workflows []Workflow `json:"workflows"`
}

// Workflow describes one.
type Workflow struct {
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Phases      []Phase `json:"phases"`
}

// Phase describes a phase of a workflow.
type Phase struct {
	Name  string `json:"name"`
	Skill string `json:"skill,omitempty"`
	Model string `json:"model,omitempty"`
	// Next are the phases that it leads to.
	Next []string `json:"next"`
}

// Workflows answers with the [Workflows] in effect. Callers that are no operators do not read
// which toolsets of phases are hidden from the sender, whom the headers name.
func (a *API) Workflows(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	seen, ok := a.seen(w, r, "")
	if !ok {
		return
	}
	all := Workflows{Workflows: []Workflow{}}
	for p := range a.engine.Agents().Workflows().All() {
		one := Workflow{Name: p.Name, Description: p.Description}
		for _, ph := range p.Phases {
			next := []string{}
			for _, n := range ph.Next {
				next = append(next, n.To)
			}
			if seen != nil && slices.Contains(seen.HiddenSkills, ph.Skill) {
				ph.Skill = ""
			}
			one.Phases = append(one.Phases, Phase{ph.Name, ph.Skill, ph.Model, next})
		}
		all.Workflows = append(all.Workflows, one)
	}
	wire.Answer(w, all, nil)
}
