package rulebook

import (
	"errors"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/workflow"
)

// compileFlows compiles the workflows of a configuration. The error is a [config.Error].
func compileFlows(c *config.Config) (*workflow.Set, error) {
	list := c.Workflows
	if w := c.Workflow; len(w.Phases) > 0 {
		list = append([]config.Flow{{Name: w.Name, Description: w.Description, Limits: w.Limits, Phases: w.Phases,
			Script: w.Script, FilePlace: w.FilePlace}}, list...)
	}
	flows := make([]workflow.Workflow, len(list))
	for i, f := range list {
		flows[i] = workflow.Workflow{Name: f.Name, Description: f.Description, Limits: workflow.Limits(f.Limits),
			Place: rules.Place(f.Place)}
		if f.Script != "" {
			m, err := script.Read(config.Abs(f.Place.File, f.Script))
			if err != nil {
				return nil, config.Error{File: f.Place.File, Line: f.Place.Line, Column: f.Place.Column,
					Message: err.Error()}
			}
			flows[i].Offline = m
		}
		for _, p := range f.Phases {
			ph := workflow.Phase{
				Name: p.Name, Skill: p.Skill, Instructions: p.Instructions, Model: p.Model,
				Limits: workflow.Limits(p.Limits), Otherwise: p.Otherwise, Place: rules.Place(p.Place),
			}
			for _, n := range p.Next {
				ph.Next = append(ph.Next, workflow.Next{When: n.When, To: n.To, Place: rules.Place(n.Place),
					WhenPlace: rules.Place(n.WhenPlace)})
			}
			flows[i].Phases = append(flows[i].Phases, ph)
		}
	}
	set, err := workflow.Compile(flows...)
	if e, ok := errors.AsType[*rules.Error](err); ok {
		err = config.Error{File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Message: e.Reason}
	}
	return set, err
}
