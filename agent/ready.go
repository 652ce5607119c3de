package agent

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/agent/internal/bare"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/workflow"
)

// Identify checks what a message says about its sender and finds whom its As means. A guest
// who names no conversation gets one of its own. The guest at the terminal and the one of a
// program that names no channel are the operator, and get none.
func (g *Agents) Identify(m message.Mail) (message.Mail, error) {
	if err := m.Check(); err != nil {
		return m, err
	}
	if m.As != "" {
		if m.User != "" {
			return m, phrase.Errorf("%w: it has as and user; one of them says who sends it", message.ErrInvalid)
		}
		users := g.Users()
		s := users.Sender("", m.As)
		if s.Channel == "" && s.User == nil {
			return m, phrase.Errorf("user %q: %w%s; an identity is written telegram:42", m.As, message.ErrUnknown,
				users.Hint(m.As))
		}
		m.User, m.As = m.As, ""
		if channel, id, ok := strings.Cut(m.User, ":"); ok && channel != identity.KeyChannel {
			m.Channel, m.User = channel, id
		}
	}
	if m.Channel == identity.System {
		return m, phrase.Errorf("%w: the channel %s is etui's own", message.ErrInvalid, m.Channel)
	}
	if m.Session == "" && g.host.People.Alone(m.Caller()) {
		m.Guest = rand.Text()
	}
	m.Language = g.host.People.Language(m.Caller(), m.Text, m.Language)
	return m, nil
}

// Users returns the people whom etui knows now; nil means none.
func (g *Agents) Users() *identity.Users { return g.host.People.Now() }

// Key returns the session of a message to an agent.
func (g *Agents) Key(a *Agent, m message.Mail) session.Key {
	if m.To != "" {
		return m.To
	}
	return g.host.People.Key(a.Name, m.Caller(), m.Session)
}

// Language returns the language of etui's own words to the sender of a message.
func (g *Agents) Language(m message.Message) string {
	return g.host.People.Language(message.New(m).Caller(), m.Text, m.Language)
}

// Whoami says who the sender of a message is to the engine.
type Whoami struct {
	// Kind is person, peer or guest.
	Kind identity.Kind `json:"kind"`
	// User is user.id of rules; Sender is the name in records that last.
	User   string `json:"user,omitempty"`
	Sender string `json:"sender,omitempty"`
	// Identities are how channels call the person.
	Identities []string `json:"identities,omitempty"`
	// The rest is what rules read.
	Channel       string            `json:"channel,omitempty"`
	Roles         []string          `json:"roles"`
	Groups        []string          `json:"groups,omitempty"`
	PlatformRoles []string          `json:"platform_roles,omitempty"`
	Attrs         map[string]string `json:"attrs,omitempty"`
	// Session is the key of the conversation that the message would belong to.
	Session session.Key `json:"session"`
}

// Whoami returns who the sender of a message is. Its text is not needed.
func (g *Agents) Whoami(sender message.Message) (Whoami, error) {
	m, err := g.Identify(message.New(sender))
	if err != nil {
		return Whoami{}, err
	}
	a, err := g.Get(m.Agent)
	if err != nil {
		return Whoami{}, err
	}
	f, s := g.host.People.Facts(m.Caller(), g.host.Catalog()), g.host.People.Sender(m.Caller())
	w := Whoami{
		Kind: s.Kind(), User: f.User, Sender: f.Sender, Channel: f.Channel,
		Roles: append([]string{}, f.Roles...), Groups: f.Groups,
		PlatformRoles: f.PlatformRoles, Attrs: f.Attrs, Session: g.Key(a, m),
	}
	if s.User != nil {
		w.Identities = s.User.Identities
	}
	return w, nil
}

// Caller returns the facts of a message's sender by which tools, and the methods that read
// and write memory, know the conversation. Its text is not needed.
func (g *Agents) Caller(sender message.Message) (chat.Facts, error) {
	m, err := g.Identify(message.New(sender))
	if err != nil {
		return chat.Facts{}, err
	}
	a, err := g.Get(m.Agent)
	if err != nil {
		return chat.Facts{}, err
	}
	f := g.host.People.Facts(m.Caller(), g.host.Catalog())
	f.Agent, f.Session = a.Name, string(g.Key(a, m))
	return f, nil
}

// Ready is the door for messages: it hides the secrets of one, since it will be
// stored and repeated, finds its agent, and refuses what cannot be answered.
func (g *Agents) Ready(m message.Mail) (*Agent, message.Mail, error) {
	m, err := g.Identify(m)
	if err != nil {
		return nil, m, err
	}
	secrets := g.host.Turn.Secrets.Redactor()
	if m.Message, err = g.beginning(m.Message); err != nil {
		return nil, m, err
	}
	if m.Kind == "" {
		m.Kind = message.KindOf(m.Message)
	}
	m.Text, m.Instructions = secrets.Text(m.Text), secrets.Text(m.Instructions)
	switch {
	case len(m.Text) > g.host.MaxMessage:
		return nil, m, phrase.Errorf("%w: %d bytes, at most %d are accepted", message.ErrTooLong, len(m.Text),
			g.host.MaxMessage)
	case m.Text == "" && len(m.Files) == 0 && len(m.Answers)+len(m.Results) == 0 && !m.GoesOn():
		return nil, m, message.ErrEmpty
	case (m.Text != "" || len(m.Files) > 0) && len(m.Answers) > 0:
		return nil, m, phrase.Errorf("%w: it has a text or answers, not both", message.ErrInvalid)
	}
	if m.Message, err = m.CheckFiles(); err != nil {
		return nil, m, err
	}
	m.Answers = slices.Clone(m.Answers)
	for i := range m.Answers {
		a := &m.Answers[i]
		a.By, a.Reason, a.Text = secrets.Text(a.By), secrets.Text(a.Reason), secrets.Text(a.Text)
		if n := len(a.Reason) + len(a.Text); n > g.host.MaxMessage {
			return nil, m, phrase.Errorf(
				"%w: an answer has %d bytes, at most %d are accepted", message.ErrTooLong, n, g.host.MaxMessage,
			)
		}
	}
	m.Results = slices.Clone(m.Results)
	for i, r := range m.Results { // the rest of a result is for etui alone to say
		m.Results[i] = chat.Result{CallID: r.CallID, Text: secrets.Text(r.Text), Failed: r.Failed, Images: r.Images}
	}
	a, err := g.Address(m)
	if err == nil && a.NoClientTools && len(m.Offer.Tools) > 0 {
		err = phrase.Errorf("%w: the agent %s has its own; leave them out", message.ErrNoClientTools, a.Name)
	}
	if err == nil && a.chores != nil && bare.OfProgram(m) && a.Chores.Match(m.Text, m.Instructions) {
		a, m = a.chores, bare.Message(m)
	}
	if m.History != nil {
		m.Offer.Token = cmp.Or(clienttool.TokenOf(m.History), clienttool.NewToken())
	}
	return a, m, err
}

// Address finds the agent of a message and refuses a mode, a strategy or a setting that
// does not exist.
func (g *Agents) Address(m message.Mail) (*Agent, error) {
	a, err := g.Get(m.Agent)
	if err == nil {
		err = message.CheckPrompt(m.Mode, m.Strategy)
	}
	if wrong := m.Settings.Check(); err == nil && wrong != nil {
		err = fmt.Errorf("%w: %w", message.ErrInvalid, wrong)
	}
	return a, err
}

// CheckNames refuses the names of tools and skills that do not exist for the sender of a
// message in its session. The answer is the same for
// those that are hidden from the sender, and no hint names them.
func (g *Agents) CheckNames(a *Agent, m message.Mail, s session.Session) error {
	included, err := roster.NamesOf(m.IncludeSkills)
	if err != nil {
		return fmt.Errorf("%w: %w", message.ErrInvalid, err)
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
	seen := g.Visible(a, m, s)
	for _, name := range skills {
		if g.Roster.CheckSkill(name) != nil || slices.Contains(seen.HiddenSkills, name) {
			return roster.UnknownSkill(name, slices.Collect(seen.OfferedSkills()))
		}
	}
	if m.Skill = skill; skill != "" && len(tools) > 0 {
		seen = g.Visible(a, m, s)
	}
	for _, target := range tools {
		members, _ := seen.Catalog().Members(catalog.Skill{Tools: []string{target}})
		if !slices.ContainsFunc(members, seen.Visible) {
			return phrase.Errorf("tool %q: %w%s", target, message.ErrUnknown,
				phrase.Near(target, func(yield func(string) bool) {
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

// Workflows returns the workflows in effect.
func (g *Agents) Workflows() *workflow.Set { return g.host.Workflows.Load() }

// maxParams is how many named texts a message may have for a workflow.
const maxParams = 50

// beginning reads which workflow a message begins, and refuses one that does not exist.
// Without any workflow, a text is only a text.
func (g *Agents) beginning(m message.Message) (message.Message, error) {
	set := g.Workflows()
	names := set.Names()
	if rest, ok := strings.CutPrefix(m.Text, message.Run+" "); ok && len(names) > 0 && m.Workflow == "" {
		name, input, _ := strings.Cut(strings.TrimSpace(rest), " ")
		m.Workflow, m.Text = name, strings.TrimSpace(input)
	}
	if m.Workflow == "" {
		m.Target, m.Params = "", nil // nothing reads them
		return m, nil
	}
	if _, ok := set.Get(m.Workflow); !ok {
		if hint := phrase.Near(m.Workflow, slices.Values(names)); hint != "" {
			return m, phrase.Errorf("workflow %q: %w%s", m.Workflow, message.ErrUnknown, hint)
		}
		all := phrase.Text(cmp.Or(strings.Join(names, ", "), "none"))
		return m, phrase.Errorf("workflow %q: %w; the workflows are %s", m.Workflow, message.ErrUnknown, all)
	}
	switch {
	case m.History != nil:
		return m, phrase.Errorf(
			"%w: a workflow needs a conversation that is stored; leave the history out and name a session",
			message.ErrInvalid,
		)
	case len(m.Answers) > 0:
		return m, phrase.Errorf("%w: a message begins a workflow or has answers, not both", message.ErrInvalid)
	case len(m.Params) > maxParams:
		return m, phrase.Errorf("%w: a workflow takes at most %d params", message.ErrInvalid, maxParams)
	}
	secrets := g.host.Turn.Secrets.Redactor()
	size := len(m.Target)
	m.Target = secrets.Text(m.Target)
	params := make(map[string]string, len(m.Params))
	for name, value := range m.Params {
		size += len(name) + len(value)
		params[name] = secrets.Text(value)
	}
	if m.Params = params; size > g.host.MaxMessage {
		return m, phrase.Errorf(
			"%w: its target and params have %d bytes, at most %d are accepted", message.ErrTooLong, size,
			g.host.MaxMessage,
		)
	}
	if m.Text == "" {
		m.Text = strings.TrimSpace("Run the workflow " + m.Workflow + " " + m.Target)
	}
	return m, nil
}

// flow begins the workflow that a message names in its session, and returns the plan of the
// one that runs there; nil when none does. One that was removed meanwhile is [workflow.MissingPlan]:
// its work is not done without its phases.
func (g *Agents) flow(m message.Mail, s *session.Session) *workflow.Plan {
	if m.Workflow != "" {
		before := s.Skill
		if s.Flow.Runs() {
			before = s.Flow.Before
		}
		p := g.plan(m.Workflow)
		s.Flow = p.Begin(m.Text, m.Target, m.Params)
		s.Flow.Skill, s.Flow.Before = m.Skill, before
		return p
	}
	if !s.Flow.Runs() {
		return nil
	}
	s.Flow = s.Flow.Clone()
	if m.Skill != "" {
		s.Flow.Skill = m.Skill
	}
	return g.plan(s.Flow.Workflow)
}

// plan returns the workflow of a name.
func (g *Agents) plan(name string) *workflow.Plan {
	if p, ok := g.Workflows().Get(name); ok {
		return p
	}
	return workflow.MissingPlan(name)
}
