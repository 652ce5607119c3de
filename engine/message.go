package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// ready is the door for messages: it hides the secrets of one, since it will be
// stored and repeated, finds its agent, and refuses what cannot be answered.
func (e *Engine) ready(m message.Mail) (*agent, message.Mail, error) {
	m, err := e.told(m)
	if err != nil {
		return nil, m, err
	}
	secrets := e.config.Turn.Secrets.Redactor()
	if m.Message, err = e.beginning(m.Message); err != nil {
		return nil, m, err
	}
	if m.Kind == "" {
		m.Kind = message.KindOf(m.Message)
	}
	m.Text, m.Instructions = secrets.Text(m.Text), secrets.Text(m.Instructions)
	switch {
	case len(m.Text) > e.config.MaxMessage:
		return nil, m, fmt.Errorf("%w: %d bytes, at most %d are accepted", ErrTooLong, len(m.Text), e.config.MaxMessage)
	case m.Text == "" && len(m.Files) == 0 && len(m.Answers) == 0:
		return nil, m, ErrEmpty
	case (m.Text != "" || len(m.Files) > 0) && len(m.Answers) > 0:
		return nil, m, fmt.Errorf("%w: it has a text or answers, not both", ErrInvalid)
	}
	if m.Message, err = m.CheckFiles(); err != nil {
		return nil, m, err
	}
	m.Answers = slices.Clone(m.Answers)
	for i := range m.Answers {
		a := &m.Answers[i]
		a.By, a.Reason, a.Text = secrets.Text(a.By), secrets.Text(a.Reason), secrets.Text(a.Text)
		if n := len(a.Reason) + len(a.Text); n > e.config.MaxMessage {
			return nil, m, fmt.Errorf("%w: an answer has %d bytes, at most %d are accepted", ErrTooLong, n, e.config.MaxMessage)
		}
	}
	a, err := e.addressed(m)
	return a, m, err
}

// addressed finds the agent of a message and refuses a mode, a strategy or a setting that
// does not exist.
func (e *Engine) addressed(m message.Mail) (*agent, error) {
	a, err := e.agent(m.Agent)
	if err == nil {
		err = message.CheckPrompt(m.Mode, m.Strategy)
	}
	if wrong := m.Settings.Check(); err == nil && wrong != nil {
		err = fmt.Errorf("%w: %w", ErrInvalid, wrong)
	}
	return a, err
}

// named refuses the names of tools and skills that do not exist for the sender of a
// message in its session. What is hidden from the sender does not exist: the answer is
// the same, and no hint names it.
func (e *Engine) named(a *agent, m message.Mail, s session.Session) error {
	included, err := roster.NamesOf(m.IncludeSkills)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	skills, tools := slices.Concat(included, m.ExcludeSkills), slices.Concat(m.Include, m.Exclude)
	skill := m.Skill
	if skill != "" {
		skills = append(skills, skill)
	}
	if len(skills)+len(tools) == 0 {
		return nil
	}
	m.Skill = ""
	seen := e.seen(a, m, s)
	for _, name := range skills {
		if e.roster.CheckSkill(name) != nil || slices.Contains(seen.HiddenSkills, name) {
			return roster.UnknownSkill(name, slices.Collect(seen.OfferedSkills()))
		}
	}
	if m.Skill = skill; skill != "" && len(tools) > 0 {
		seen = e.seen(a, m, s)
	}
	for _, target := range tools {
		members, _ := seen.Catalog().Members(catalog.Skill{Tools: []string{target}})
		if !slices.ContainsFunc(members, seen.Visible) {
			return fmt.Errorf("tool %q: %w%s", target, ErrUnknown, nearest.Hint(target, func(yield func(string) bool) {
				for entry := range seen.Catalog().All() {
					if seen.Visible(entry) && !yield(entry.Definition.Name) {
						return
					}
				}
			}))
		}
	}
	return nil
}

// cleanSaid hides secrets in a message of a conversation that the client sends.
func (e *Engine) cleanSaid(m chat.Message) chat.Message {
	secrets := e.config.Turn.Secrets.Redactor()
	m.Text, m.Note = secrets.Text(m.Text), secrets.Text(m.Note)
	m.Files = chat.WithoutData(m.Files)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = secrets.JSON(m.Calls[i].Arguments)
	}
	if m.Result != nil {
		r := *m.Result
		r.Text = secrets.Text(r.Text)
		m.Result = &r
	}
	return m
}

// seen is what the sender of a message may see in a session, whatever the message asks
// for.
func (e *Engine) seen(a *agent, m message.Mail, s session.Session) *selection.Selection {
	in, now := e.input(a, m, s), e.selector()
	if in.Current != nil {
		known := in.Current(now.Catalog())
		in.Facts.User, in.Facts.Roles, in.Facts.Groups, in.Facts.Attrs = known.User, known.Roles, known.Groups, known.Attrs
	}
	return now.Select(selection.Request{Facts: in.Facts, Groups: in.Groups})
}

// input makes what a turn may know of a message that is ready.
func (e *Engine) input(a *agent, m message.Mail, s session.Session) turn.Input {
	now := a.controls.Now()
	plan := e.flow(m, &s)
	if plan != nil {
		plan = plan.In(a.Disk)
	}
	if m.Skill != "" {
		s.Skill = m.Skill
	}
	facts := e.people.Facts(m.Caller(), e.Catalog())
	facts.Agent, facts.Session, facts.Time = a.Name, string(s.Key), e.config.Now()
	skill := s.Skill
	if e.roster.CheckSkill(skill) != nil || skill != now.Skill && e.selector().HidesSkill(facts, now.Groups, skill) {
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
		Session: s, Unstored: m.History != nil, Text: m.Text, Files: m.Files, File: e.file(m), Outcome: m.Outcome, Answers: m.Answers, Request: m.Stored(), Groups: now.Groups, Limit: m.Limit, Budget: m.Budget, Mode: cmp.Or(m.Mode, a.Mode),
		Facts: facts,
		Options: prompt.Options{
			Strategy: strategy, IncludeTools: m.Include, ExcludeTools: m.Exclude, IncludeSkills: include, ExcludeSkills: exclude,
			Instructions: m.Instructions, Remember: route.Remembered(s.Key), IncludeMemory: !a.NoMemory && !m.NoMemory, IncludeRuntime: !a.NoRuntime && !m.NoRuntime, DateOnly: m.History != nil,
		},
	}
	if e.config.Users != nil { // they may change
		in.Current = func(now *catalog.Catalog) chat.Facts { return e.people.Facts(m.Caller(), now) }
	}
	return e.within(in, a, m)
}
