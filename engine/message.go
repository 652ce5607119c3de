package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// Message is what comes in.
type Message struct {
	// Agent names who is to answer; empty means the gateway's first agent.
	Agent string `json:"agent,omitempty"`
	// Text is what the user says.
	Text string `json:"text"`
	// Where it comes from. Session is a name that the client chose for the
	// conversation; without it, the conversation is found from the rest.
	Channel string            `json:"channel,omitempty"`
	Chat    string            `json:"chat,omitempty"`
	Account string            `json:"account,omitempty"`
	Session string            `json:"session,omitempty"`
	User    string            `json:"user,omitempty"`
	Roles   []string          `json:"roles,omitempty"`
	Attrs   map[string]string `json:"attrs,omitempty"`
	// Skill, when not empty, is the active toolset from this message on.
	Skill string `json:"skill,omitempty"`
	// Strategy overrides the agent's for this message: full, lite or custom.
	Strategy string `json:"strategy,omitempty"`
	// IncludeSkills, when not empty, names the only skills that the model is told
	// of; ExcludeSkills names those it is not. Any strategy but lite.
	IncludeSkills []string `json:"include_skills,omitempty"`
	ExcludeSkills []string `json:"exclude_skills,omitempty"`
	// NoMemory and NoRuntime leave the memory and the runtime facts out, under the
	// strategy custom.
	NoMemory  bool `json:"no_memory,omitempty"`
	NoRuntime bool `json:"no_runtime,omitempty"`
	// Include, when not empty, names the only tools and groups ("group:mail")
	// that this message may use; Exclude names those it may not.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Instructions are the client's own, after those of the agent.
	Instructions string `json:"instructions,omitempty"`
	// Limit and Budget override the selection's, for this message.
	Limit  int `json:"limit,omitempty"`
	Budget int `json:"budget,omitempty"`
	// Mode overrides the agent's for this message: auto, direct, preselect, bridge
	// or native. A session's front is made anew when the mode changes.
	Mode string `json:"mode,omitempty"`
	// History, when not nil, is the conversation so far as the client tells it:
	// nothing is read from the store or written to it. [Usage] is kept all the same.
	History []chat.Message `json:"history,omitzero"`
	// Answers are what people say to the calls for which the session's turn waits. The
	// message has no text then.
	Answers []turn.Answer `json:"answers,omitempty"`
	// outcome of a call that went on, in the place of a text.
	outcome *turn.Outcome
	// Wait asks to stay until calls that go on after the reply have finished,
	// and to hear the model on their outcome.
	Wait bool `json:"wait,omitempty"`
}

// clean takes the secrets out of what a message says: what a user or client writes
// would be kept, and told again.
func (g *Gateway) clean(m Message) Message {
	secrets := g.config.Turn.Secrets.Redactor()
	m.Text, m.Instructions = secrets.Text(m.Text), secrets.Text(m.Instructions)
	return m
}

// cleanSaid is clean for a message of a conversation that the client tells.
func (g *Gateway) cleanSaid(m chat.Message) chat.Message {
	secrets := g.config.Turn.Secrets.Redactor()
	m.Text, m.Note = secrets.Text(m.Text), secrets.Text(m.Note)
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

// check finds the agent of a message and refuses what cannot be answered.
func (g *Gateway) check(m Message) (*agent, error) {
	switch {
	case len(m.Text) > g.config.MaxMessage:
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLong, len(m.Text), g.config.MaxMessage)
	case m.Text == "" && m.Answers == nil:
		return nil, ErrEmpty
	}
	if _, err := prompt.ParseStrategy(m.Strategy); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if _, err := selection.ParseMode(m.Mode); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	a, err := g.agent(m.Agent)
	if err != nil {
		return nil, err
	}
	return a, g.checkNames(a, m)
}

// stored returns what is kept of a message while its turn is open: all but the text and
// the conversation, which are stored as messages.
func (g *Gateway) stored(m Message) json.RawMessage {
	if m.History != nil {
		return nil
	}
	m.Text, m.Answers, m.Wait = "", nil, false
	raw, _ := json.Marshal(m) // texts, numbers and lists of them
	return raw
}

// checkNames refuses a message that names a skill or tool that does not exist. The
// hint tells of none that the caller may not see.
func (g *Gateway) checkNames(a *agent, m Message) error {
	c := g.Catalog()
	named := slices.Concat(m.IncludeSkills, m.ExcludeSkills)
	if m.Skill != "" {
		named = append(named, m.Skill)
	}
	for _, skill := range named {
		if g.checkSkill(skill) != nil {
			return unknownSkill(skill, slices.Collect(g.seen(a, m).OfferedSkills()))
		}
	}
	if _, unknown := c.Members(catalog.Skill{Tools: slices.Concat(m.Include, m.Exclude)}); len(unknown) > 0 {
		var usable []string
		for _, e := range g.seen(a, m).Usable() {
			usable = append(usable, e.Definition.Name)
		}
		return fmt.Errorf("tool %q: %w%s", unknown[0], ErrUnknown, nearest.Hint(unknown[0], slices.Values(usable)))
	}
	return nil
}

// seen is what the caller of a message may see in a new conversation.
func (g *Gateway) seen(a *agent, m Message) *selection.Selection {
	in := g.input(a, Message{Channel: m.Channel, Chat: m.Chat, User: m.User, Roles: m.Roles, Attrs: m.Attrs}, session.Session{Key: g.key(a, m)})
	return g.selector().Select(selection.Request{Facts: in.Facts, Groups: in.Groups})
}

// filter puts the agent's filter and a message's choice of skills together: what
// both let through.
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

// input makes what a turn may know of a message.
func (g *Gateway) input(a *agent, m Message, s session.Session) turn.Input {
	now := a.controls.load()
	if m.Skill != "" {
		s.Skill = m.Skill
	}
	skill := s.Skill
	if g.checkSkill(skill) != nil {
		skill = now.skill // none was chosen, or it is not there any more
	}
	strategy := a.Strategy
	if m.Strategy != "" {
		strategy, _ = prompt.ParseStrategy(m.Strategy) // checked before
	}
	include, exclude := now.filter(m.IncludeSkills, m.ExcludeSkills)
	return turn.Input{
		Session: s, Text: m.Text, Outcome: m.outcome, Answers: m.Answers, Request: g.stored(m), Groups: now.groups, Limit: m.Limit, Budget: m.Budget, Mode: cmp.Or(selection.Mode(m.Mode), a.Mode),
		Facts: chat.Facts{
			Agent: a.Name, Channel: m.Channel, Chat: m.Chat, User: m.User, Roles: m.Roles,
			Session: string(s.Key), Skill: skill, Attrs: m.Attrs, Time: g.config.Now(),
		},
		Options: prompt.Options{
			Strategy: strategy, IncludeTools: m.Include, ExcludeTools: m.Exclude, IncludeSkills: include, ExcludeSkills: exclude,
			Instructions: m.Instructions, IncludeMemory: !m.NoMemory, IncludeRuntime: !m.NoRuntime, DateOnly: m.History != nil,
		},
	}
}
