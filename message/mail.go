package message

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Kind says what an item of the inbox is, and so what becomes of it: each kind has a file in package engine.
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

// Mail is an item of the inbox, as it is stored: a message, with what only etui says of it.
type Mail struct {
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
	Origin *Origin `json:"origin,omitempty"`
	// Trace names the span in which it was received, as a traceparent; empty for most.
	Trace string `json:"trace,omitempty"`
	// Behind says that it comes after those of people, because its sender had no place.
	Behind bool `json:"-"`
}

// New returns the mail of a message that comes from outside.
func New(m Message) Mail {
	made := Mail{Message: m, Reply: m.Reply}
	made.Message.Reply = nil
	return made
}

// Caller returns who sends it and where it comes from.
func (m Mail) Caller() identity.Caller {
	return identity.Caller{
		Channel: m.Channel, Account: m.Account, Chat: m.Chat, Thread: m.Thread, Direct: m.Direct,
		User: m.User, Guest: m.Guest,
		Roles: m.Roles, PlatformRoles: m.PlatformRoles, Attrs: m.Attrs,
	}
}

// From returns the mail as one of a caller.
func (m Mail) From(c identity.Caller) Mail {
	m.Channel, m.Account, m.Chat, m.Thread, m.Direct = c.Channel, c.Account, c.Chat, c.Thread, c.Direct
	m.User, m.Guest = c.User, c.Guest
	m.Roles, m.PlatformRoles, m.Attrs = c.Roles, c.PlatformRoles, c.Attrs
	return m
}

// Read makes a mail of its record. That of a turn that is open has no kind, and gets the one that its
// content has.
func Read(record json.RawMessage) (m Mail, err error) {
	if err := json.Unmarshal(record, &m); err != nil {
		return m, fmt.Errorf("the message cannot be read: %w", err)
	}
	if m.Kind == "" {
		m.Kind = KindOf(m.Message)
	}
	return m, nil
}

// KindOf returns the kind of a message that somebody sends.
func KindOf(m Message) Kind {
	_, answers := approval.Parse(m.Text)
	switch {
	case m.Text == Stop:
		return KindStop
	case answers || len(m.Answers) > 0 || len(m.Results) > 0 && m.Text == "":
		return KindAnswer
	}
	return KindQuestion
}

// Priority returns which messages it comes before.
func (m Mail) Priority() store.Priority {
	if m.Background || m.Behind {
		return store.Background
	}
	return store.People
}

// Joins reports whether it is the same message as another one with the same sender and content.
func (m Mail) Joins() bool {
	return m.Received != nil && m.IdempotencyKey == "" && m.History == nil && len(m.Reply) == 0
}

// Stored returns the record of a message for the time that its turn is open: all but the
// text, the pictures and the conversation, which are stored as messages, and the skill, which is
// stored with the session and may change during the turn.
func (m Mail) Stored() json.RawMessage {
	if m.History != nil {
		return nil
	}
	m.Kind, m.Text, m.Files, m.Skill, m.Answers, m.Wait, m.IdempotencyKey = "", "", nil, "", nil, false, ""
	m.Results = nil
	m.Workflow, m.Target, m.Params = "", "", nil // the session has them
	m.Outcome, m.Notice, m.Operator = nil, "", false
	raw, _ := json.Marshal(m) // texts, numbers and lists of them
	return raw
}

// Bounds are what was true when somebody asked for something that is done later.
type Bounds struct {
	Facts         chat.Facts `json:"facts"`
	Include       []string   `json:"include,omitempty"`
	Exclude       []string   `json:"exclude,omitempty"`
	IncludeSkills []string   `json:"include_skills,omitempty"`
	ExcludeSkills []string   `json:"exclude_skills,omitempty"`
	// First is what was true when somebody asked for the task that asked for this, if one did:
	// the one that nobody but people asked for.
	First *Bounds `json:"first,omitempty"`
}

// Origin is what makes a message one for a sub-agent.
type Origin struct {
	// Within are those in whose names it works: first the agent that a person wrote to, last
	// the one that waits for the result.
	Within []Ancestor `json:"within"`
	// Turn is the turn that started it, ID its name for people, and Title what it does.
	Turn  string `json:"turn"`
	ID    string `json:"id"`
	Title string `json:"title"`
	// Left is how many more may be nested in it.
	Left   int           `json:"left,omitempty"`
	Steps  int           `json:"steps,omitempty"`
	Time   time.Duration `json:"time"`
	Tokens int           `json:"tokens"`
	// Back is the record of the message with which its result comes back.
	Back json.RawMessage `json:"back"`
}

// Ancestor is an agent in a conversation, as it was when it handed a task over.
type Ancestor struct {
	Agent         string      `json:"agent"`
	Session       session.Key `json:"session"`
	Skill         string      `json:"skill,omitempty"`
	Include       []string    `json:"include,omitempty"`
	Exclude       []string    `json:"exclude,omitempty"`
	IncludeSkills []string    `json:"include_skills,omitempty"`
	ExcludeSkills []string    `json:"exclude_skills,omitempty"`
}

// Parent is the session that waits for its result.
func (o *Origin) Parent() session.Key { return o.Within[len(o.Within)-1].Session }

// Root is the conversation of the person for whom it works.
func (o *Origin) Root() session.Key { return o.Within[0].Session }

// Digest tells a message from another one with the same key.
func (m Message) Digest() string {
	m.Wait, m.IdempotencyKey, m.Language, m.Files, m.Accepted = false, "", "", chat.WithoutData(m.Files), nil
	return Hash(m)
}

// Hash returns the hash of a value as JSON.
func Hash(value any) string {
	raw, _ := json.Marshal(value) // texts, numbers and lists of them
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// ShortKey makes an idempotency key of a key of a session.
func ShortKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	kind, _, _ := strings.Cut(text, "-")
	return kind + "-" + base32.StdEncoding.EncodeToString(sum[:])
}
