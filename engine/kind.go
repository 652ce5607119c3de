package engine

import (
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// Kind says what an item of the inbox is, and so what becomes of it: each kind has a file.
type Kind string

// The kinds.
const (
	KindQuestion Kind = "question" // a text, which an agent or a command answers
	KindAnswer   Kind = "answer"   // what people say about calls that wait for them
	KindOutcome  Kind = "outcome"  // of a call that went on after its turn
	KindResult   Kind = "result"   // of a sub-agent, for the one that started it
	KindNotice   Kind = "notice"   // a text for the person, which no model reads first
	KindStop     Kind = "stop"     // it ends the turn of its session
)

// mail is an item of the inbox, as it is stored: a message, with what only etui says of it.
type mail struct {
	Message
	Kind Kind `json:"kind,omitempty"`
	// Outcome is that of a call or a sub-agent, and Notice the text of a notice.
	Outcome *turn.Outcome `json:"outcome,omitempty"`
	Notice  string        `json:"notice,omitempty"`

	// To, when not empty, is the session that it is for, whoever sends it.
	To session.Key `json:"to,omitempty"`
	// Reply is [Message.Reply], which no client can set.
	Reply json.RawMessage `json:"reply,omitempty"`
	// Guest distinguishes a sender who has no name from all others.
	Guest string `json:"guest,omitempty"`
	// Operator marks an answer that counts whatever the rules say.
	Operator bool `json:"operator,omitempty"`
	// Bounds, if not nil, are what was true when somebody asked for the task that sends it: what
	// was not allowed then is not allowed now.
	Bounds *Bounds `json:"asked,omitempty"`
	// Origin is set if it is for a sub-agent.
	Origin *origin `json:"origin,omitempty"`
	// Trace names the span in which it was received, as a traceparent; empty for most.
	Trace string `json:"trace,omitempty"`
	// Behind says that it comes after those of people, because its sender had no place.
	Behind bool `json:"-"`
}

// newMail returns the mail of a message that comes from outside.
func newMail(m Message) mail {
	made := mail{Message: m, Reply: m.Reply}
	made.Message.Reply = nil
	return made
}

// Caller returns who sends it and where it comes from.
func (m mail) Caller() identity.Caller {
	return identity.Caller{
		Channel: m.Channel, Account: m.Account, Chat: m.Chat, Thread: m.Thread, Direct: m.Direct, User: m.User, Guest: m.Guest,
		Roles: m.Roles, PlatformRoles: m.PlatformRoles, Attrs: m.Attrs,
	}
}

// from returns the mail as one of a caller.
func (m mail) from(c identity.Caller) mail {
	m.Channel, m.Account, m.Chat, m.Thread, m.Direct, m.User, m.Guest = c.Channel, c.Account, c.Chat, c.Thread, c.Direct, c.User, c.Guest
	m.Roles, m.PlatformRoles, m.Attrs = c.Roles, c.PlatformRoles, c.Attrs
	return m
}

// read makes a mail of its record. One without a kind, from before there were any or of the
// turn that is open, gets the kind that its content has.
func read(record json.RawMessage) (m mail, err error) {
	if err := json.Unmarshal(record, &m); err != nil {
		return m, fmt.Errorf("the message cannot be read: %w", err)
	}
	switch {
	case m.Kind != "":
	case m.Notice != "":
		m.Kind = KindNotice
	case m.Outcome != nil && m.Outcome.System:
		m.Kind = KindResult
	case m.Outcome != nil:
		m.Kind = KindOutcome
	default:
		m.Kind = kindOf(m.Message)
	}
	return m, nil
}

// kindOf returns the kind of a message that somebody sends.
func kindOf(m Message) Kind {
	_, answers := approval.Parse(m.Text)
	switch {
	case m.Text == Stop:
		return KindStop
	case answers || len(m.Answers) > 0:
		return KindAnswer
	}
	return KindQuestion
}
