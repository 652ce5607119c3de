package engine

import (
	"cmp"
	"encoding/json"
	"errors"
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

// Message is what a user says to an agent, with what is known of the user.
type Message struct {
	// Agent names the agent that should answer; empty means the first one.
	Agent string `json:"agent,omitempty"`
	// Text is what the user says.
	Text string `json:"text"`
	// Channel, Chat, Account and User are where it comes from. Session is a name
	// that the client chose for the conversation; without one, the conversation is
	// found from the rest.
	Channel string            `json:"channel,omitempty"`
	Chat    string            `json:"chat,omitempty"`
	Account string            `json:"account,omitempty"`
	Session string            `json:"session,omitempty"`
	User    string            `json:"user,omitempty"`
	Roles   []string          `json:"roles,omitempty"`
	Attrs   map[string]string `json:"attrs,omitempty"`
	// Skill, when not empty, is the active toolset from this message on.
	Skill string `json:"skill,omitempty"`
	// Strategy overrides the agent's for this message.
	Strategy *prompt.Strategy `json:"strategy,omitempty"`
	// IncludeSkills, when not empty, names the only skills that the model sees;
	// ExcludeSkills names skills that it does not see. Any strategy but lite.
	IncludeSkills []string `json:"include_skills,omitempty"`
	ExcludeSkills []string `json:"exclude_skills,omitempty"`
	// NoMemory and NoRuntime leave the memory and the runtime facts out, under the
	// strategy custom.
	NoMemory  bool `json:"no_memory,omitempty"`
	NoRuntime bool `json:"no_runtime,omitempty"`
	// Include, when not empty, names the only tools and groups ("group:mail")
	// that this message may use; Exclude names tools and groups that it may not.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Instructions are the client's own, after those of the agent.
	Instructions string `json:"instructions,omitempty"`
	// Limit and Budget override the selection's, for this message.
	Limit  int `json:"limit,omitempty"`
	Budget int `json:"budget,omitempty"`
	// Mode, when not empty, overrides the agent's for this message. A change of mode
	// rebuilds the front of the session.
	Mode selection.Mode `json:"mode,omitempty"`
	// History, when not nil, is the conversation so far as the client sends it:
	// then the store is neither read nor written. [Learning] applies all the same.
	History []chat.Message `json:"history,omitzero"`
	// Answers are what people say about the calls that await approval. The message has
	// no text then.
	Answers []session.Answer `json:"answers,omitempty"`
	// outcome, instead of a text, is the result of a call that outlived its turn.
	outcome *turn.Outcome
	// Wait asks to stay until calls that outlive the reply have finished, and to
	// receive what the model says about their outcome.
	Wait bool `json:"wait,omitempty"`
}

// ready is the door for messages: it hides the secrets of one, since it will be
// stored and repeated, finds its agent, and refuses what cannot be answered.
func (e *Engine) ready(m Message) (*agent, Message, error) {
	secrets := e.config.Turn.Secrets.Redactor()
	m.Text, m.Instructions = secrets.Text(m.Text), secrets.Text(m.Instructions)
	switch {
	case len(m.Text) > e.config.MaxMessage:
		return nil, m, fmt.Errorf("%w: %d bytes, at most %d are accepted", ErrTooLong, len(m.Text), e.config.MaxMessage)
	case m.Text == "" && len(m.Answers) == 0:
		return nil, m, ErrEmpty
	case m.Text != "" && len(m.Answers) > 0:
		return nil, m, errors.New("a message has a text or answers, not both")
	}
	m.Answers = slices.Clone(m.Answers)
	for i := range m.Answers {
		m.Answers[i].By, m.Answers[i].Reason = secrets.Text(m.Answers[i].By), secrets.Text(m.Answers[i].Reason)
	}
	a, err := e.addressed(m)
	return a, m, err
}

// addressed finds the agent of a message and refuses names that do not exist. A
// hint contains no name that the caller may not see.
func (e *Engine) addressed(m Message) (*agent, error) {
	a, err := e.agent(m.Agent)
	if err != nil {
		return nil, err
	}
	if err := known(m.Mode, m.Strategy); err != nil {
		return nil, err
	}
	named := slices.Concat(m.IncludeSkills, m.ExcludeSkills)
	if m.Skill != "" {
		named = append(named, m.Skill)
	}
	for _, skill := range named {
		if e.checkSkill(skill) != nil {
			return nil, unknownSkill(skill, slices.Collect(e.seen(a, m).OfferedSkills()))
		}
	}
	if _, unknown := e.Catalog().Members(catalog.Skill{Tools: slices.Concat(m.Include, m.Exclude)}); len(unknown) > 0 {
		var usable []string
		for _, entry := range e.seen(a, m).Usable() {
			usable = append(usable, entry.Definition.Name)
		}
		return nil, fmt.Errorf("tool %q: %w%s", unknown[0], ErrUnknown, nearest.Hint(unknown[0], slices.Values(usable)))
	}
	return a, nil
}

// known refuses a mode or a strategy that does not exist.
func known(mode selection.Mode, strategy *prompt.Strategy) error {
	if _, err := selection.ParseMode(string(mode)); err != nil {
		return fmt.Errorf("%w%s", err, nearest.Hint(string(mode), func(yield func(string) bool) {
			for _, m := range selection.Modes() {
				if !yield(string(m)) {
					return
				}
			}
		}))
	}
	if strategy != nil && (*strategy < prompt.Full || *strategy > prompt.Custom) {
		return fmt.Errorf("unknown strategy %d: it is full, lite or custom", int(*strategy))
	}
	return nil
}

// cleanSaid hides secrets in a message of a conversation that the client sends.
func (e *Engine) cleanSaid(m chat.Message) chat.Message {
	secrets := e.config.Turn.Secrets.Redactor()
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

// stored returns the record of a message for the time that its turn is open: all but the
// text and the conversation, which are stored as messages, and the skill, which is
// stored with the session and may change during the turn.
func (e *Engine) stored(m Message) json.RawMessage {
	if m.History != nil {
		return nil
	}
	m.Text, m.Skill, m.Answers, m.Wait = "", "", nil, false
	raw, _ := json.Marshal(m) // texts, numbers and lists of them
	return raw
}

// seen is what the sender of a message may see in a new conversation.
func (e *Engine) seen(a *agent, m Message) *selection.Selection {
	in := e.input(a, Message{Channel: m.Channel, Chat: m.Chat, User: m.User, Roles: m.Roles, Attrs: m.Attrs}, session.Session{Key: e.key(a, m)})
	return e.selector().Select(selection.Request{Facts: in.Facts, Groups: in.Groups})
}

// input makes what a turn may know of a message that is ready.
func (e *Engine) input(a *agent, m Message, s session.Session) turn.Input {
	now := a.controls.load()
	if m.Skill != "" {
		s.Skill = m.Skill
	}
	skill := s.Skill
	if e.checkSkill(skill) != nil {
		skill = now.skill // the session chose none, or it is gone
	}
	strategy := a.Strategy
	if m.Strategy != nil {
		strategy = *m.Strategy
	}
	include, exclude := now.filter(m.IncludeSkills, m.ExcludeSkills)
	return turn.Input{
		Session: s, Unstored: m.History != nil, Text: m.Text, Outcome: m.outcome, Answers: m.Answers, Request: e.stored(m), Groups: now.groups, Limit: m.Limit, Budget: m.Budget, Mode: cmp.Or(m.Mode, a.Mode),
		Facts: chat.Facts{
			Agent: a.Name, Channel: m.Channel, Chat: m.Chat, User: m.User, Roles: m.Roles,
			Session: string(s.Key), Skill: skill, Attrs: m.Attrs, Time: e.config.Now(),
		},
		Options: prompt.Options{
			Strategy: strategy, IncludeTools: m.Include, ExcludeTools: m.Exclude, IncludeSkills: include, ExcludeSkills: exclude,
			Instructions: m.Instructions, IncludeMemory: !m.NoMemory, IncludeRuntime: !m.NoRuntime, DateOnly: m.History != nil,
		},
	}
}
