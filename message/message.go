// Package message is what somebody says to an agent, as it comes in and as the inbox keeps it until
// it is answered: with its kind, what only etui says of it, and how it ended. It is data with checks
// that need nothing but the message, and stores and runs nothing.
package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/roster"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
)

// The reasons to refuse a message, or why it got no answer.
var (
	// ErrTooLong: the message is longer than it may be.
	ErrTooLong = phrase.Errorf("the message is too long")
	// ErrInvalid: the message says of its sender what cannot be.
	ErrInvalid = phrase.Errorf("the message is not valid")
	// ErrEmpty: the message has no text.
	ErrEmpty = phrase.Errorf("the message is empty")
	// ErrKeyReused: another message of the sender has the same idempotency key.
	ErrKeyReused = errors.New("the idempotency key belongs to another message")
	// ErrParked: the turn of the message failed unexpectedly, again and again.
	ErrParked = phrase.Errorf("the message was given up")
	// ErrUnknown: the message names an agent, skill or tool that does not exist.
	ErrUnknown = roster.ErrUnknown
	// ErrOpen: a call of the conversation awaits approval.
	ErrOpen = phrase.Errorf("a call of this conversation awaits approval; answer it first")
	// ErrNoClientTools: the agent, or the API key, takes no tools of clients.
	ErrNoClientTools = phrase.Errorf("tools of clients are not accepted")
	// ErrNothingAwaited: the message answers a call that awaits no answer in its session.
	ErrNothingAwaited = phrase.Errorf("it awaits no answer in this session")
)

// The texts of messages that are commands, on every channel.
const (
	// Compact summarizes the conversation instead of running a turn.
	Compact = "/compact"
	// Stop ends the running turn of its conversation. It does not wait behind that turn.
	Stop = "/stop"
	// Run begins a workflow: "/run NAME", and its input. Alone, it goes on with the one of the
	// conversation, or says how that ended.
	Run = "/run"
	// Anew begins the conversation anew: what was said before stays in the store, and the model
	// does not see it any more.
	Anew = "/new"
	// Switch, and then the name of a skill or toolset, makes that one active; full is all.
	Switch = "/skill"
	// Auto in place of a name takes the choice back, unless a skill has that name: a phase of
	// a workflow has its own tools again, and other conversations the skill of the agent.
	Auto = "auto"
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
	// Language is that of etui's own words to the sender, unless the configuration or the text says otherwise.
	Language string `json:"language,omitempty"`
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
	// then the store is neither read nor written. The lessons of past turns apply all the same.
	History []chat.Message `json:"history,omitzero"`
	// Aside, with a History, names the conversation that keeps the turn if a call awaits approval; empty
	// refuses such a call.
	Aside string `json:"-"`
	// Answers are what people say about the calls that await approval. The message has
	// no text then.
	Answers []session.Answer `json:"answers,omitempty"`
	// Offer are the tools that the client brings: their calls are handed to it, see [turn.End], and
	// Results are those of calls that wait for them. With a History they are its newest messages instead.
	Offer   clienttool.Offer `json:"client_tools,omitzero"`
	Results []chat.Result    `json:"results,omitempty"`
	// IdempotencyKey makes it safe to send the message again: a caller that sends it with the
	// same key, as the same [Message.Client], user, channel, chat and session, within [store.Kept] after
	// its end, gets the result of the first time. It is free text of at most 200 bytes; empty means none. A message
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
	// of no share, see MaxTurns of [engine.Config]. A server sets it.
	Trusted bool `json:"-"`
	// Background marks a message for which nobody waits: it comes after those of people.
	Background bool `json:"background,omitempty"`
	// Reply, when not empty, says where the answer goes, in the words of the program that
	// delivers it, see package outbox: the caller need not stay. It is kept in the session,
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

// GoesOn reports whether a message has no text of its own and its History ends with what the model
// answers next: results of calls, or the beginning of an answer.
func (m Message) GoesOn() bool {
	asked := slices.ContainsFunc(m.History, func(said chat.Message) bool { return said.Role == chat.User })
	return asked && m.Text == "" && len(m.Files) == 0 && m.History[len(m.History)-1].Role != chat.User
}

// maxNames is how many tools or skills a message may include or exclude.
const maxNames = 4096

// Check refuses what is too long to be a name, or has no place in one.
func (m Message) Check() error {
	for _, list := range [...][]string{m.Roles, m.PlatformRoles, slices.Collect(maps.Keys(m.Attrs))} {
		if len(list) > identity.MaxList {
			return phrase.Errorf(
				"%w: it has %d roles or attributes, at most %d are accepted", ErrInvalid, len(list), identity.MaxList,
			)
		}
		for _, text := range list {
			if err := name("role or attribute", text); err != nil {
				return err
			}
		}
	}
	for _, list := range [...][]string{m.Include, m.Exclude, m.IncludeSkills, m.ExcludeSkills} {
		if len(list) > maxNames {
			return phrase.Errorf(
				"%w: it names %d tools or skills in one list, at most %d are accepted", ErrInvalid, len(list), maxNames,
			)
		}
		for _, text := range list {
			if err := name("name of a tool or skill", text); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(m.Offer.Check(), clienttool.CheckResults(m.Results)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if m.Limit < 0 || m.Budget < 0 {
		return phrase.Errorf("%w: limit and budget must not be negative", ErrInvalid)
	}
	for _, n := range [...]struct{ what, text string }{
		{"agent", m.Agent}, {"skill", m.Skill}, {"mode", string(m.Mode)}, {"channel", m.Channel}, {"chat", m.Chat},
		{"thread", m.Thread}, {"account", m.Account}, {"user", m.User}, {"session", m.Session}, {"as", m.As},
		{"idempotency key", m.IdempotencyKey}, {"language", m.Language},
	} {
		if err := name(n.what, n.text); err != nil {
			return err
		}
	}
	for _, value := range m.Attrs {
		if len(value) > identity.MaxValue {
			return phrase.Errorf(
				"%w: an attribute has %d bytes, at most %d are accepted", ErrInvalid, len(value), identity.MaxValue,
			)
		}
	}
	return nil
}

// name refuses a text that cannot be a name.
func name(what, text string) error {
	switch {
	case len(text) > identity.MaxText:
		return phrase.Errorf("%w: the %s has %d bytes, at most %d are accepted", ErrInvalid, phrase.Text(what),
			len(text), identity.MaxText)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return phrase.Errorf("%w: the %s contains a control character, or is not UTF-8", ErrInvalid, phrase.Text(what))
	case what == "channel" && strings.Contains(text, ":"):
		return phrase.Errorf("%w: the channel %q contains a colon", ErrInvalid, text)
	}
	return nil
}

// CheckPrompt refuses a mode or a strategy that does not exist.
func CheckPrompt(mode selection.Mode, strategy *prompt.Strategy) error {
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
		return phrase.Errorf("%w: unknown strategy %d: it is full, lite or custom", ErrInvalid, int(*strategy))
	}
	return nil
}
