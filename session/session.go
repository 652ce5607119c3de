// Package session is the memory of one conversation: its messages, the skill
// that is active in it, and what it has already shown to the model.
//
// The engine makes sure that only one turn of a session runs at a time; the package and
// its stores do not. Stores are safe for concurrent use.
package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
)

// Key names a session: free text of at most 512 bytes. Package route makes
// keys from agent, channel and peer.
type Key string

// Hash tells sessions apart where their keys, which name people, are not to be kept.
func (k Key) Hash() string {
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:8])
}

// Session is one conversation. A zero Session with a Key is a new conversation.
type Session struct {
	Key Key `json:"key"`
	State
	// Messages are the conversation, oldest first.
	Messages []chat.Message `json:"messages"`
}

// State is what a session remembers beside its messages. It is stored together with
// them, so that both always agree.
type State struct {
	// Skill is the active skill; empty means the agent's default.
	Skill string `json:"skill,omitempty"`
	// Declared are the names of the tools at the beginning of every request of this
	// session, in order. The session's first question fixes them, because a provider's
	// prompt cache ends at the first byte that changes.
	Declared []string `json:"declared,omitempty"`
	// Directory is the list of usable tools in the system prompt. It is fixed with
	// Declared.
	Directory string `json:"directory,omitempty"`
	// Offered names the client's tools there, where they are selected.
	Offered []string `json:"offered,omitempty"`
	// SkillList is the system prompt's text about skills. It is fixed with Declared.
	SkillList string `json:"skill_list,omitempty"`
	// Front describes the beginning of the newest request.
	Front Front `json:"front,omitzero"`
	// Sent is how many of the newest messages the next request contains; 0 means
	// unknown, [None] that it contains none.
	Sent int `json:"sent,omitempty"`
	// Summary tells what was said before those messages; empty when nothing was. The
	// messages themselves stay in the store.
	Summary string `json:"summary,omitempty"`
	// Turn is the open turn; zero when there is none.
	Turn Turn `json:"turn,omitzero"`
	// Awaits are the calls that wait for something from outside.
	Awaits []Await `json:"awaits,omitempty"`
	// Granted are approvals that count for the session.
	Granted []Grant `json:"granted,omitempty"`
	// Reply is the host's own record of where the newest message came from that wants its
	// reply delivered there; empty when none did.
	Reply json.RawMessage `json:"reply,omitempty"`
	// Parent is the session whose turn started this one, which is that of a sub-agent then.
	Parent Key `json:"parent,omitempty"`
	// Spawned counts the sub-agents that the session has started since somebody wrote in it:
	// their results do not count as that.
	Spawned int `json:"spawned,omitempty"`
	// Tokens are what the provider has counted since then, where they are limited.
	Tokens int `json:"tokens,omitempty"`
	// Flow is the run of a workflow, also after its end; nil when there was none.
	Flow *Flow `json:"flow,omitempty"`
}

// Open reports whether something is left to do: a turn has not ended, or a call waits.
func (s State) Open() bool { return s.Turn.ID != "" || len(s.Awaits) > 0 }

// Turn is a turn that has begun and not ended. Any process can resume it from the
// store.
type Turn struct {
	// ID is random. The idempotency keys of the turn's calls begin with it.
	ID string `json:"id"`
	// Request is the host's own record of the message that began the turn.
	Request json.RawMessage `json:"request,omitempty"`
	// Item is the ID of the message in the inbox that the turn works on; 0 means none.
	Item int64 `json:"item,omitempty"`
	// Resumed counts how often the turn was resumed after its process had ended unexpectedly.
	Resumed int `json:"resumed,omitempty"`
	// Steps and Calls count what came before the newest message of the user, if the turn
	// took that one in while it ran.
	Steps int `json:"steps,omitempty"`
	Calls int `json:"calls,omitempty"`
	// Once are the IDs of the calls of the last round that must not run twice, as
	// their tools said before they ran.
	Once []string `json:"once,omitempty"`
	// Marked are the IDs of calls of the last round that were stored as running: one that has no
	// result when the process has ended was running then. Each mark counts.
	Marked []string `json:"marked,omitempty"`
	// Ended are the IDs of the calls that were running when a process ended unexpectedly. Equal
	// calls are refused for the rest of the turn.
	Ended []string `json:"ended,omitempty"`
	// Answers are what people have said about the calls of the turn.
	Answers []Answer `json:"answers,omitempty"`
}

// Answer is a person's decision on a call that awaits approval.
type Answer struct {
	// Call is the ID of the call. Models use such IDs again: ID, when not empty, is that of the
	// request that is answered, and the answer is for no other one.
	Call string `json:"call"`
	ID   string `json:"id,omitempty"`
	// Approved lets the call run; otherwise the model learns that it may not.
	Approved bool `json:"approved"`
	// Text answers a question, instead.
	Text string `json:"text,omitempty"`
	// Lasts says for how long an approval counts.
	Lasts Lasts `json:"lasts,omitempty"`
	// Withdrawn says that the one who asked takes the call back.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// By names the person, for the record; Reason is for the record and the model. Both
	// may be empty.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Question is the one that was answered; empty for an approval. The turn sets it.
	Question string `json:"question,omitempty"`
	// Hash is that of the tool that was asked about, and Digest that of the arguments. The
	// turn sets them, too.
	Hash   string `json:"hash,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Resume is that of the question. The turn sets it, too.
	Resume string `json:"resume,omitempty"`
}

// Lasts is how long an approval counts.
type Lasts string

// How long an approval can count.
const (
	Once       Lasts = ""        // for the call
	ForSession Lasts = "session" // for all calls of the tool by that user in the session
	Always     Lasts = "always"  // for all calls of the tool by that user, until it is revoked
)

// Known reports whether l is one of them.
func (l Lasts) Known() bool { return l == Once || l == ForSession || l == Always }

// Grant is an approval that counts for a session: calls of a tool by a user run
// without asking, as long as the tool's definition has the hash.
type Grant struct {
	Tool string `json:"tool"`
	Hash string `json:"hash,omitempty"`
	User string `json:"user,omitempty"`
	By   string `json:"by,omitempty"`
}

// Await is a call that waits for something from outside.
type Await struct {
	// Call is the call's ID, and Tool the name of the tool that it reaches. Original is its
	// name where it comes from, if that is another.
	Call     string `json:"call"`
	Tool     string `json:"tool"`
	Original string `json:"original,omitempty"`
	// User is who asked for the call, if known.
	User string `json:"user,omitempty"`
	// For is what the call waits for.
	For AwaitKind `json:"for"`
	// ID names what waits for an approval, for people. The rest is for them, too: Risk and
	// Hash are those of the tool, Arguments those of the call, without secrets and cut;
	// a Question, with Choices, is what the tool wants to know instead of a yes. Until is
	// when nobody can answer any more; zero means never.
	ID        string `json:"id,omitempty"`
	Risk      string `json:"risk,omitempty"`
	Hash      string `json:"hash,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Digest is that of the whole arguments, as the tool would get them.
	Digest   string    `json:"digest,omitempty"`
	Question string    `json:"question,omitempty"`
	Choices  []string  `json:"choices,omitempty"`
	Resume   string    `json:"resume,omitempty"` // see tool.Question
	Until    time.Time `json:"until,omitzero"`
	// Holder is the process in which the call goes on, where several share the store.
	Holder string `json:"holder,omitempty"`
	// Note is an outcome that came while a turn was open. It becomes a message when
	// that turn ends.
	Note string `json:"note,omitempty"`
	// Session is that of the sub-agent, for [SubAgent]. Held is the host's own record of its
	// result, if that came while a turn was open.
	Session Key             `json:"session,omitempty"`
	Held    json.RawMessage `json:"held,omitempty"`
	// Language is that in which people read of it: zh, or else English. Asked are the others who
	// were asked, and Theirs says that only they may answer.
	Language string   `json:"language,omitempty"`
	Asked    []string `json:"asked,omitempty"`
	Theirs   bool     `json:"theirs,omitempty"`
	// Apart is set once the turn of the call has ended without its answer.
	Apart *ApartCall `json:"apart,omitempty"`
}

// ApartCall is a call that waits for an answer while its conversation goes on. The answer begins a turn.
type ApartCall struct {
	Call    chat.Call       `json:"call"`
	Request json.RawMessage `json:"request"` // Turn.Request of its turn
	// Direct says that a client made the call, and no turn: the answer becomes Given, and the client makes
	// the call again.
	Direct bool    `json:"direct,omitempty"`
	Given  *Answer `json:"given,omitempty"`
}

// Waits reports whether a call waits for something.
func (s State) Waits(call string, what AwaitKind) bool {
	return slices.ContainsFunc(s.Awaits, func(a Await) bool { return a.Call == call && a.For == what && a.Note == "" })
}

// AwaitKind is what a call waits for.
type AwaitKind string

// What a call can wait for.
const (
	Approval AwaitKind = "approval" // an answer; the call has not run
	Outcome  AwaitKind = "outcome"  // the call has returned, and its work goes on
	SubAgent AwaitKind = "subagent" // the same, in a session of its own, whichever process runs it
	Client   AwaitKind = "client"   // its result from the client whose tool it is, which runs it
	Again    AwaitKind = "again"    // its client, which makes it again: people have decided, see [ApartCall]
)

// Front describes the beginning of a request, as far as it tells whether the next
// request begins in the same way, and if not, why. Its hashes are short and only
// compared with each other. The zero Front belongs to a new session.
type Front struct {
	// Mode is how tools were delivered, Model which model was asked, Strategy how much
	// context it got, Skill which skill was active, and Groups which groups of tools
	// the agent had.
	Mode     string `json:"mode,omitempty"`
	Model    string `json:"model,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	Skill    string `json:"skill,omitempty"`
	Groups   string `json:"groups,omitempty"`
	// Held reports that the tools stayed when a phase began that has others.
	Held bool `json:"held,omitempty"`
	// Tools, System and First are hashes of the declared tools, of the system
	// prompt and of the first message.
	Tools  string `json:"tools,omitempty"`
	System string `json:"system,omitempty"`
	First  string `json:"first,omitempty"`
	// Size is how many bytes the declared tools and the system prompt have; 0 when
	// unknown.
	Size int `json:"size,omitempty"`
	// Used is when the model was asked last; zero when unknown.
	Used time.Time `json:"used,omitzero"`
}

// Clone returns a copy that shares nothing with s.
func (s State) Clone() State {
	s.Declared, s.Offered = slices.Clone(s.Declared), slices.Clone(s.Offered)
	s.Turn.Request = slices.Clone(s.Turn.Request)
	s.Turn.Once = slices.Clone(s.Turn.Once)
	s.Turn.Marked = slices.Clone(s.Turn.Marked)
	s.Turn.Ended = slices.Clone(s.Turn.Ended)
	s.Turn.Answers = slices.Clone(s.Turn.Answers)
	s.Awaits = slices.Clone(s.Awaits)
	s.Granted = slices.Clone(s.Granted)
	s.Reply = slices.Clone(s.Reply)
	s.Flow = s.Flow.Clone()
	return s
}

// Summary is a line of a list of sessions.
type Summary struct {
	Key      Key `json:"key"`
	Messages int `json:"messages"`
	// Title is the first question, cut to 200 bytes; empty when there is none.
	Title string `json:"title,omitempty"`
	// Users are who wrote its messages, and Channels where these came from, as far as
	// the messages say, see [chat.Message]; in alphabetical order, at most 20 of each.
	Users    []string `json:"users,omitempty"`
	Channels []string `json:"channels,omitempty"`
	Skill    string   `json:"skill,omitempty"`
	// Parent is the session that started this one, if it is a sub-agent's.
	Parent  Key       `json:"parent,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// Cursor returns the place of the summary in its list.
func (s Summary) Cursor() Cursor { return Cursor{s.Updated, s.Key} }

// The bounds of a [Summary].
const (
	MaxTitle = 200 // bytes
	MaxUsers = 20  // and channels
)

// Filter chooses sessions; its empty fields match all.
type Filter struct {
	// Key is the key of the session; Part is a part of its key.
	Key  Key
	Part string
	// Users are names: one of them wrote a message.
	Users []string
	// After leaves out the sessions up to a place of the list. A session that changes
	// between two pages moves to the front, and can be missing in both.
	After Cursor
	// Limit bounds the result; 0 means all.
	Limit int
}

// Cursor is a place in a list of sessions. The zero value is before the first one.
type Cursor struct {
	Updated time.Time
	Key     Key
}

// ErrNotFound says that there is no session with a key.
var ErrNotFound = errors.New("no such session")

// The causes with which the work of a session ends before it is done.
var (
	// ErrSuspended: this process leaves it to another one.
	ErrSuspended = errors.New("the turn is suspended")
	// ErrStopped: a person stopped it.
	ErrStopped = errors.New("the turn was stopped")
)

// ErrNoFile says that a store has no file with a hash.
var ErrNoFile = errors.New("no such file")

// None as [State.Sent] means that no message is sent any more.
const None = -1

// Sent as a limit loads the messages that the next turn needs: State.Sent of them, or
// the newest 2,000 when Sent is unknown.
const Sent = -1

// uncounted is how many messages Sent loads when State.Sent is unknown.
const uncounted = 2000

// MaxLoad is how many bytes of messages a store returns at once, if a limit is given. It is
// more than any model's window holds.
const MaxLoad = 16 << 20

// Unsent returns how many of the first of n messages, which are the newest of the
// session, are not sent any more.
func (s State) Unsent(n int) int {
	switch {
	case s.Sent == None:
		return n
	case s.Sent > 0:
		return max(0, n-s.Sent)
	}
	return 0
}

// Limit returns how many messages a load with limit gives; 0 means all.
func (s State) Limit(limit int) int {
	switch {
	case limit != Sent:
		return limit
	case s.Sent > 0:
		return s.Sent
	case s.Sent == None:
		return 1 // 0 would be all
	}
	return uncounted
}

// Store keeps sessions. Package storetest has its conformance suite.
//
// The bytes of [chat.Message.Files] are kept once for all messages, as long as a message
// refers to them. The messages that a store returns have no bytes; File returns them.
type Store interface {
	// Load returns a session with its newest messages, at most limit of them (0 means
	// all, see also [Sent]), and with a limit about [MaxLoad] bytes at most, but at least
	// one message. An unknown key returns a new, empty session.
	Load(ctx context.Context, key Key, limit int) (Session, error)
	// Append adds messages to the end of a session and replaces its state, both or
	// neither. It creates the session if it does not exist.
	Append(ctx context.Context, key Key, state State, messages ...chat.Message) error
	// Messages returns at most limit messages of a session (0 means all), oldest first,
	// after leaving out the first skip of them. With a limit they are bounded as in Load, so
	// that a page may be shorter than its limit. An unknown key has none.
	Messages(ctx context.Context, key Key, skip, limit int) ([]chat.Message, error)
	// File returns the bytes of a file of a message by their [chat.File.SHA256], or
	// ErrNoFile. The caller must not change them.
	File(ctx context.Context, sha256 string) ([]byte, error)
	// List returns the sessions that a filter chooses, most recently changed first.
	List(ctx context.Context, f Filter) ([]Summary, error)
	// Open returns the keys of sessions with something left to do, see [State.Open],
	// least recently changed first.
	Open(ctx context.Context) ([]Key, error)
	// Asking returns the keys of the open sessions in which a call waits for an [Approval], least
	// recently changed first; with the [Await.ID] of one, only of that session. It may return
	// others, too: the state says what waits.
	Asking(ctx context.Context, id string) ([]Key, error)
	// Delete removes a session and all its messages, or returns ErrNotFound.
	Delete(ctx context.Context, key Key) error
	// Erase removes what a user said in a session: each of their messages with all that
	// follows up to the next message of role [chat.User]. It replaces the state, if
	// anything is removed, and returns how many messages were removed.
	Erase(ctx context.Context, key Key, state State, user string) (int, error)
	// Sweep removes sessions that have not changed since a time and have nothing left
	// to do, the oldest first, at most limit of them. It returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}
