package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/route"
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
	// Files are pictures that belong to the text, see [Pictures]: PNG, JPEG, GIF or WebP,
	// and PDFs.
	// Name and Data count, the rest follows from the bytes.
	Files []chat.File `json:"files,omitempty"`
	// Channel, Chat, Account and User are where it comes from: User is what the channel
	// calls the sender, or the name of a person where the client names its users, see
	// [identity.Direct]. As, instead of Channel and User, is an identity such as
	// telegram:42, or the name of a user of the configuration. Session is a name that the
	// client chose for the conversation; without one, the conversation is found from the
	// rest.
	// Thread is a thread or topic of Chat, with a conversation of its own. Direct means that
	// only the sender reads Chat: the conversation is found by the sender, as without a Chat.
	Channel string `json:"channel,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Direct  bool   `json:"direct,omitempty"`
	Account string `json:"account,omitempty"`
	Session string `json:"session,omitempty"`
	User    string `json:"user,omitempty"`
	As      string `json:"as,omitempty"`
	// Roles and Attrs are what the client states of the sender. They add to what the
	// configuration says. PlatformRoles are the roles that the channel's platform knows.
	Roles         []string          `json:"roles,omitempty"`
	PlatformRoles []string          `json:"platform_roles,omitempty"`
	Attrs         map[string]string `json:"attrs,omitempty"`
	// Skill, when not empty, is the active toolset from this message on.
	Skill string `json:"skill,omitempty"`
	// Workflow, when not empty, names the workflow that this message begins, in place of one
	// that runs in the conversation; Text is its input. Target is what it works on, as a file
	// name, and Params are named texts for its conditions. Skill is the toolset of all its
	// phases then; empty means that each has its own.
	Workflow string            `json:"workflow,omitempty"`
	Target   string            `json:"target,omitempty"`
	Params   map[string]string `json:"params,omitempty"`
	// Strategy overrides the agent's for this message.
	Strategy *prompt.Strategy `json:"strategy,omitempty"`
	// IncludeSkills, when not empty, names the only skills that the model sees;
	// [catalog.None] alone means no skill. ExcludeSkills names skills that it does not
	// see. Any strategy but lite.
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
	// Settings are how the model's answers are to be.
	Settings model.Settings `json:"settings,omitzero"`
	// History, when not nil, is the conversation so far as the client sends it:
	// then the store is neither read nor written. [Learning] applies all the same.
	History []chat.Message `json:"history,omitzero"`
	// Answers are what people say about the calls that await approval. The message has
	// no text then.
	Answers []session.Answer `json:"answers,omitempty"`
	// IdempotencyKey makes it safe to send the message again: a caller that sends it with the
	// same key, as the same [Message.Client], user, channel, chat and session, within [store.Kept] after its end, gets the result of
	// the first time. It is free text of at most 200 bytes; empty means none. A message
	// that has a key is answered even when its sender has gone; a turn without one is
	// cancelled then. It means nothing for a message with a History, which is not stored.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// Received, when not nil, makes a message without an IdempotencyKey and a History safe to
	// send again, too: as long as it is not answered, or Received of none of its senders reports
	// that the answer arrived, the same text of the same sender in the same session is this
	// message, and gets its answer. So a program that repeats a request whose connection broke
	// asks once, and a person can ask the same again after an answer. The turn goes on for ten
	// seconds when the sender has gone, or until another message comes to the session. A lost
	// answer is kept for five minutes, in memory.
	Received func() bool `json:"-"`
	// Repeated says that the sender sends it again because no answer arrived: an answer of the
	// last minute is given again, whatever Received reported.
	Repeated bool `json:"-"`
	// NoHistory leaves out what was said before in the conversation; it stays in the store.
	NoHistory bool `json:"no_history,omitempty"`
	// Client names the program that hands the message over, for others perhaps: each has
	// idempotency keys of its own. A server sets it to the API key's name.
	Client string `json:"-"`
	// Trusted says that the client has the powers of an operator: its messages take the places
	// of no share, see [Config.MaxTurns]. A server sets it.
	Trusted bool `json:"-"`
	// Background marks a message for which nobody waits: it comes after those of people.
	Background bool `json:"background,omitempty"`
	// Reply, when not empty, says where the answer goes, in the words of the program that
	// delivers it, see [Engine.Letters]: the caller need not stay. It is kept in the session,
	// too, for what the agent says there later without being asked. No client over a network
	// can set it: it would have etui write to anybody.
	Reply json.RawMessage `json:"-"`
	// Later says that nobody needs the events of its turn, only its Reply: if those like the sender
	// have no place now, the message is accepted, Send returns, and the turn runs when there is one.
	Later bool `json:"-"`
	// Accepted, if not nil, is called once the message is in the inbox.
	Accepted func() `json:"-"`
	// Wait asks to stay until calls that outlive the reply have finished, and to
	// receive what the model says about their outcome.
	Wait bool `json:"wait,omitempty"`
}

// ready is the door for messages: it hides the secrets of one, since it will be
// stored and repeated, finds its agent, and refuses what cannot be answered.
func (e *Engine) ready(m mail) (*agent, mail, error) {
	m, err := e.told(m)
	if err != nil {
		return nil, m, err
	}
	secrets := e.config.Turn.Secrets.Redactor()
	if m.Message, err = e.beginning(m.Message); err != nil {
		return nil, m, err
	}
	if m.Kind == "" {
		m.Kind = kindOf(m.Message)
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
	if m.Message, err = withPictures(m.Message); err != nil {
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
func (e *Engine) addressed(m mail) (*agent, error) {
	a, err := e.agent(m.Agent)
	if err == nil {
		err = known(m.Mode, m.Strategy)
	}
	if wrong := m.Settings.Check(); err == nil && wrong != nil {
		err = fmt.Errorf("%w: %w", ErrInvalid, wrong)
	}
	return a, err
}

// named refuses the names of tools and skills that do not exist for the sender of a
// message in its session. What is hidden from the sender does not exist: the answer is
// the same, and no hint names it.
func (e *Engine) named(a *agent, m mail, s session.Session) error {
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
		return fmt.Errorf("%w: unknown strategy %d: it is full, lite or custom", ErrInvalid, int(*strategy))
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

// stored returns the record of a message for the time that its turn is open: all but the
// text, the pictures and the conversation, which are stored as messages, and the skill, which is
// stored with the session and may change during the turn.
func stored(m mail) json.RawMessage {
	if m.History != nil {
		return nil
	}
	m.Kind, m.Text, m.Files, m.Skill, m.Answers, m.Wait, m.IdempotencyKey = "", "", nil, "", nil, false, ""
	m.Workflow, m.Target, m.Params = "", "", nil // the session has them
	m.Outcome, m.Notice, m.Operator = nil, "", false
	raw, _ := json.Marshal(m) // texts, numbers and lists of them
	return raw
}

// seen is what the sender of a message may see in a session, whatever the message asks
// for.
func (e *Engine) seen(a *agent, m mail, s session.Session) *selection.Selection {
	in, now := e.input(a, m, s), e.selector()
	if in.Current != nil {
		known := in.Current(now.Catalog())
		in.Facts.User, in.Facts.Roles, in.Facts.Groups, in.Facts.Attrs = known.User, known.Roles, known.Groups, known.Attrs
	}
	return now.Select(selection.Request{Facts: in.Facts, Groups: in.Groups})
}

// input makes what a turn may know of a message that is ready.
func (e *Engine) input(a *agent, m mail, s session.Session) turn.Input {
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
		Session: s, Unstored: m.History != nil, Text: m.Text, Files: m.Files, File: e.file(m), Outcome: m.Outcome, Answers: m.Answers, Request: stored(m), Groups: now.Groups, Limit: m.Limit, Budget: m.Budget, Mode: cmp.Or(m.Mode, a.Mode),
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
