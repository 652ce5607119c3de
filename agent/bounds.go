package agent

import (
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// Depth is how deep the sub-agents of the turn of a message may be nested.
func (a *Agent) Depth(m message.Mail) int {
	switch {
	case a.Spawn.AtOnce <= 0 || m.History != nil:
		return 0
	case m.Origin != nil:
		return min(m.Origin.Left, a.Spawn.WithDefaults().Depth)
	}
	return a.Spawn.WithDefaults().Depth
}

// bound is what an ancestor may use now. One whose agent is gone may use nothing.
func (g *Agents) bound(f chat.Facts, of message.Ancestor) selection.Bound {
	f.Agent, f.Session, f.Skill = of.Agent, string(of.Session), of.Skill
	b := selection.Bound{Facts: f, Include: of.Include, Exclude: of.Exclude}
	a, ok := g.agents[of.Agent]
	if !ok {
		b.Facts.Skill = "(gone)" // a skill that does not exist lets nothing through
		return b
	}
	now := a.Controls.Snapshot()
	b.Groups = now.Groups
	b.IncludeSkills, b.ExcludeSkills = now.Filter(of.IncludeSkills, of.ExcludeSkills)
	return b
}

// then is what somebody might use when they asked for a task.
func (g *Agents) then(a *message.Bounds) selection.Bound {
	of := message.Ancestor{
		Agent: a.Facts.Agent, Session: session.Key(a.Facts.Session),
		Include: a.Include, Exclude: a.Exclude, IncludeSkills: a.IncludeSkills, ExcludeSkills: a.ExcludeSkills,
	}
	b := g.bound(a.Facts, of)
	b.Past = true
	return b
}

// within adds to an input what bounds the message of a task, or a sub-agent.
func (g *Agents) within(in turn.Input, a *Agent, m message.Mail) turn.Input {
	if (a.Spawn.AtOnce > 0 || m.Origin != nil) && a.Depth(m) == 0 {
		in.Options.ExcludeTools = append(slices.Clone(in.Options.ExcludeTools), SpawnTool)
	}
	for a := m.Bounds; a != nil; a = a.First {
		in.Bounds = append(in.Bounds, g.then(a))
	}
	o := m.Origin
	if o == nil {
		return in
	}
	in.MaxSteps, in.MaxTokens, in.Unasked = o.Steps, o.Tokens, true
	in.Options.ExcludeTools = append(slices.Clone(in.Options.ExcludeTools), unasked...)
	for _, of := range o.Within {
		in.Bounds = append(in.Bounds, g.bound(in.Facts, of))
	}
	return in
}
