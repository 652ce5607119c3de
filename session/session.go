// Package session is the memory of one conversation: its messages, the skill
// that is active in it, and what it has already shown to the model.
//
// Who runs turns makes sure that a session runs one at a time; the package and
// its stores do not. Stores themselves are safe for concurrent use.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
)

// Key names a session: free text of at most 512 bytes. Package route makes
// keys from agent, channel and peer.
type Key string

// Session is one conversation as it stands. A zero Session with a Key is a new
// conversation.
type Session struct {
	Key Key `json:"key"`
	State
	// Messages are the conversation, oldest first.
	Messages []chat.Message `json:"messages"`
}

// State is what a session remembers beside its messages. It is saved together
// with them, so that a stored conversation and what was shown in it agree.
type State struct {
	// Skill is the active skill; empty means the agent's default.
	Skill string `json:"skill,omitempty"`
	// Declared are the names of the tools that stand in front of every request
	// of this session, in order. They are fixed by the session's first question,
	// because a provider's prompt cache ends at the first byte that changes.
	Declared []string `json:"declared,omitempty"`
	// Directory is the list of what may be used that stands in the system prompt.
	// It is fixed with Declared.
	Directory string `json:"directory,omitempty"`
	// SkillList is what the system prompt says of skills. It is fixed with Declared.
	SkillList string `json:"skill_list,omitempty"`
	// Front is what the newest request of the session began with.
	Front Front `json:"front,omitzero"`
	// Sent is how many of the newest messages the next request begins with; 0 means
	// that nobody has counted them.
	Sent int `json:"sent,omitempty"`
	// Turn is the turn under way; zero when there is none.
	Turn Turn `json:"turn,omitzero"`
	// Awaits are the calls for which something must come from outside.
	Awaits []Await `json:"awaits,omitempty"`
}

// Open reports whether something is left to do: a turn that has not ended, or a call
// that awaits something.
func (s State) Open() bool { return s.Turn.ID != "" || len(s.Awaits) > 0 }

// Turn is a turn that has begun and not ended. Any process can take it up again from
// what is stored.
type Turn struct {
	// ID is random. The idempotency keys of the turn's calls begin with it.
	ID string `json:"id"`
	// Request is what the host needs to take the turn up again, in its own form.
	Request json.RawMessage `json:"request,omitempty"`
	// Resumed is how often the turn was taken up again.
	Resumed int `json:"resumed,omitempty"`
}

// Await is a call for which something must come from outside.
type Await struct {
	// Call is the call's ID, and Tool the name of the tool that it reaches.
	Call string `json:"call"`
	Tool string `json:"tool"`
	// For is what must come.
	For Awaited `json:"for"`
}

// Awaited is what a call waits for.
type Awaited string

// What a call can wait for.
const (
	Approval Awaited = "approval" // an answer; the call has not run
	Outcome  Awaited = "outcome"  // the call has returned, and its work goes on
)

// Front is what a request began with, as far as is needed to tell whether the
// next one begins in the same way, and if not, why. Its hashes are short and
// compared with each other only. The zero Front is that of a new session.
type Front struct {
	// Mode is how the tools were delivered, Model who was asked, Strategy how
	// much context was given, Skill which toolset was active, Groups whose tools
	// the agent had.
	Mode     string `json:"mode,omitempty"`
	Model    string `json:"model,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	Skill    string `json:"skill,omitempty"`
	Groups   string `json:"groups,omitempty"`
	// Tools, System and First are hashes of the declared tools, of the system
	// prompt and of the first message.
	Tools  string `json:"tools,omitempty"`
	System string `json:"system,omitempty"`
	First  string `json:"first,omitempty"`
	// Used is when the model was asked last; zero when unknown.
	Used time.Time `json:"used,omitzero"`
}

// Clone returns a copy that shares nothing with s.
func (s State) Clone() State {
	s.Declared = slices.Clone(s.Declared)
	s.Turn.Request = slices.Clone(s.Turn.Request)
	s.Awaits = slices.Clone(s.Awaits)
	return s
}

// Summary is a line of a list of sessions.
type Summary struct {
	Key      Key       `json:"key"`
	Messages int       `json:"messages"`
	Skill    string    `json:"skill,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// ErrNotFound says that there is no session with a key.
var ErrNotFound = errors.New("no such session")

// Sent, as a limit, loads the messages that the next turn needs: State.Sent of them,
// or the newest 2,000 when nobody has counted them.
const Sent = -1

// uncounted is how many messages Sent loads when nobody has counted them.
const uncounted = 2000

// Limit returns how many messages a load with limit gives; 0 means all.
func (s State) Limit(limit int) int {
	switch {
	case limit != Sent:
		return limit
	case s.Sent > 0:
		return s.Sent
	}
	return uncounted
}

// Store keeps sessions. Package storetest has its conformance suite.
type Store interface {
	// Load returns a session with its newest messages, at most limit of them (0
	// means all, see also [Sent]). A key that is not stored gives a new, empty
	// session.
	Load(ctx context.Context, key Key, limit int) (Session, error)
	// Append adds messages to the end of a session and replaces its state, both
	// or neither. It makes the session when it is new.
	Append(ctx context.Context, key Key, state State, messages ...chat.Message) error
	// List returns the sessions changed last first, at most limit of them (0
	// means all).
	List(ctx context.Context, limit int) ([]Summary, error)
	// Open returns the keys of the sessions in which something is left to do, see
	// [State.Open], in the order in which they were changed last.
	Open(ctx context.Context) ([]Key, error)
	// Delete removes a session and all its messages, or returns ErrNotFound.
	Delete(ctx context.Context, key Key) error
}
