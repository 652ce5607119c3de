package agent

import (
	"cmp"
	"context"
	"errors"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/turn"
)

// Visible is what the sender of a message may see in a session, whatever the message asks
// for.
func (g *Agents) Visible(a *Agent, m message.Mail, s session.Session) *selection.Selection {
	in, now := g.Input(a, m, s), g.host.Selector()
	if in.Current != nil {
		known := in.Current(now.Catalog())
		in.Facts.User, in.Facts.Roles, in.Facts.Groups, in.Facts.Attrs = known.User, known.Roles, known.Groups,
			known.Attrs
	}
	return now.Select(selection.Request{Facts: in.Facts, Groups: in.Groups})
}

// Input makes what a turn may know of a message that is ready.
func (g *Agents) Input(a *Agent, m message.Mail, s session.Session) turn.Input {
	now := a.Controls.Snapshot()
	plan := g.flow(m, &s)
	if plan != nil {
		plan = plan.In(a.Disk)
	}
	if m.Skill != "" {
		s.Skill = m.Skill
	}
	facts := g.host.People.Facts(m.Caller(), g.host.Catalog())
	facts.Agent, facts.Session, facts.Time, facts.Language = a.Name, string(s.Key), g.host.Now(), m.Language
	skill := s.Skill
	if g.Roster.CheckSkill(skill) != nil ||
		skill != now.Skill && g.host.Selector().HidesSkill(facts, now.Groups, skill) {
		skill = now.Skill // the session chose none, or it is gone, or for others
	}
	facts.Skill = skill
	strategy := a.Strategy
	if m.Strategy != nil {
		strategy = *m.Strategy
	}
	include, exclude := now.Filter(m.IncludeSkills, m.ExcludeSkills)
	in := turn.Input{
		Settings: m.Settings, Plan: plan,
		Session: s, Unstored: m.History != nil, Aside: m.Aside != "", Unasked: m.History != nil, Request: m.Stored(),
		Text: m.Text, Files: m.Files, File: g.file(m), Outcome: m.Outcome, Answers: m.Answers,
		Client: m.Offer, Results: m.Results,
		Groups: now.Groups, Limit: m.Limit, Budget: m.Budget, Mode: cmp.Or(m.Mode, a.Mode),
		Facts: facts,
		Options: prompt.Options{
			Strategy: strategy, IncludeTools: m.Include, ExcludeTools: m.Exclude, IncludeSkills: include,
			ExcludeSkills: exclude,
			Instructions:  m.Instructions, Remember: route.Remembered(s.Key), DateOnly: m.History != nil,
			IncludeMemory: !a.NoMemory && !m.NoMemory, IncludeRuntime: !a.NoRuntime && !m.NoRuntime,
		},
	}
	in.Client.Selected = a.SelectClientTools
	if g.host.People.Configured() { // they may change
		in.Current = func(now *catalog.Catalog) chat.Facts { return g.host.People.Facts(m.Caller(), now) }
	}
	return g.within(in, a, m)
}

// file returns what reads the pictures of earlier messages: from the store, or from the
// conversation that came with the message.
func (g *Agents) file(m message.Mail) func(ctx context.Context, sha256 string) ([]byte, error) {
	if m.History == nil {
		return g.host.Store.File
	}
	return func(_ context.Context, sha256 string) ([]byte, error) {
		for _, said := range m.History {
			for _, f := range said.Files {
				if f.SHA256 == sha256 {
					return f.Data, nil
				}
			}
		}
		return nil, session.ErrNoFile
	}
}

// LoadInput returns what a turn of a message may know, in its session.
func (g *Agents) LoadInput(ctx context.Context, a *Agent, m message.Mail) (turn.Input, error) {
	s, err := g.Load(ctx, a, m)
	if err == nil {
		err = g.CheckNames(a, m, s)
	}
	return g.Input(a, m, s), err
}

// Silent finds the agent of a message whose text does not matter, and what a turn
// may know of it.
func (g *Agents) Silent(ctx context.Context, m message.Mail) (*Agent, turn.Input, error) {
	m, err := g.Identify(m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	m.Text, m.Files = "", nil
	a, err := g.Address(m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	in, err := g.LoadInput(ctx, a, m)
	return a, in, err
}

// WhyDisabled returns why a tool that a caller names is missing: it is disabled, and the caller could see
// it if it were not. Nil means that it does not exist for the caller.
func (g *Agents) WhyDisabled(in turn.Input, tool string) error {
	if g.host.Skills == nil {
		return nil
	}
	if _, why := g.host.Skills.Get(tool); errors.Is(why, skill.ErrDisabled) && g.wouldSee(in, tool) {
		return why
	}
	return nil
}

// wouldSee reports whether the caller could see a skill that is not in the catalog now,
// if it were.
func (g *Agents) wouldSee(in turn.Input, name string) bool {
	entry, ok := g.host.Skills.Snapshot().Get(name)
	if !ok {
		return false
	}
	r := catalog.NewRegistry(nil)
	r.SetRules(g.host.Catalog().Rules())
	if r.Register(skill.AsTool(entry.Skill)) != nil {
		return false
	}
	_, stage := selection.New(r.Catalog(), g.host.Selection).Admit(
		selection.Request{Facts: in.Facts, Groups: in.Groups}, name,
	)
	return stage == selection.Sent || stage > selection.Visibility
}
