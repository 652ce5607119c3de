// Package store says what an engine needs to keep: sessions, and the inbox of messages
// that wait for their turn. Package storetest has the conformance suite; [Memory] is for
// tests and programs that need nothing to last, and package sqlite keeps one file.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

// Store keeps sessions and the inbox. It is safe for concurrent use.
type Store interface {
	session.Store
	Inbox
	Records
}

// Records keeps small values of the engine, each under a kind and a key: lasting
// approvals, tasks, what people decided about skills and agents.
type Records interface {
	// Put stores a value in place of the one that the kind and key had.
	Put(ctx context.Context, kind, key string, value json.RawMessage) error
	// Records returns what is kept of a kind under some keys, or under all if none are
	// given, in the order of the keys.
	Records(ctx context.Context, kind string, keys ...string) ([]Record, error)
	// Remove removes a record, and reports whether there was one.
	Remove(ctx context.Context, kind, key string) (bool, error)
	// Change replaces a value by what change makes of it, while nobody else changes it. Nil
	// is the value of a record that is not there. An error of change changes nothing. Change
	// may run twice, and must not use the store.
	Change(ctx context.Context, kind, key string, change func(value json.RawMessage) (json.RawMessage, error)) error
}

// Record is a value that [Records] keeps.
type Record struct {
	Key   string
	Value json.RawMessage
}

// Inbox keeps the messages that were accepted until they are answered, and the replies until
// they are delivered. It is the
// mailbox of every session: the items of a session come in the order of their priority,
// and then in the order in which they were accepted. The engine makes sure that only one
// item of a session is worked on at a time.
//
// A session that is deleted or erased takes its items with it, except for those that
// wait.
type Inbox interface {
	// Accept adds an item. It sets ID, State and Accepted. When Accept has returned, the
	// item outlives the process, if the store does. If there is an item with the same Key
	// already, Accept adds nothing and returns that one and false.
	Accept(ctx context.Context, item Item) (Item, bool, error)
	// Mailboxes returns the sessions in which items wait that another holder has
	// accepted, the one with the oldest item first.
	Mailboxes(ctx context.Context, holder string) ([]session.Key, error)
	// Items returns the items that a filter chooses, in the order of their mailbox.
	Items(ctx context.Context, f ItemFilter) ([]Item, error)
	// Depth returns how many items have a state, and when the first of them was accepted; the
	// zero time if there is none.
	Depth(ctx context.Context, state State) (n int, oldest time.Time, err error)
	// Update replaces State, Tries, Holder and Reason of an item, and Message by Amended. It returns [ErrEnded]
	// where the item has ended.
	Update(ctx context.Context, item Item) error
	// Finish ends an item and makes the last step of its turn part of the session, both
	// or neither. An item with a Key that is not [Passing] stays for [Kept], with its result
	// and without its message; any other is removed. Finish changes nothing and returns [ErrEnded] where
	// the item has ended.
	Finish(ctx context.Context, e End) error
	// Delivered ends an item that is [Answered], as Finish ends one: its reply has arrived,
	// or never will. It returns [ErrEnded] where there is none.
	Delivered(ctx context.Context, id int64) error
}

// Item is a message in the inbox.
type Item struct {
	// ID rises in the order in which items are accepted, and is never used again.
	ID int64
	// Session is whose mailbox the item is in; User is who sent it, as in
	// [chat.Message].
	Session session.Key
	User    string
	// Key is the item's idempotency key, unique in the inbox; empty means none. One that begins
	// with [Passing] ends with the item. Digest tells whether two messages with the same key are
	// the same message.
	Key, Digest string
	// Priority decides which item comes first.
	Priority Priority
	// Message is the host's own record of the message; nil once the item has ended. Amended, if
	// not nil, takes its place in an Update.
	Message, Amended json.RawMessage
	// State says how far the item is; Reason says for people why it is parked.
	State  State
	Reason string
	// Tries is how often a process took it up that had not accepted it, or after its turn
	// failed unexpectedly.
	Tries int
	// Holder is the process that works on it, or will: the one that accepted it, at first.
	Holder string
	// Result is the host's own record of how it ended; nil until it has.
	Result json.RawMessage
	// Accepted and Ended are when it was; zero until it was. An item that is [Answered] ended
	// then.
	Accepted, Ended time.Time
}

// Passing begins a Key that is for the time in which the item waits: at its end the item is
// removed, as one without a key, and the next one with this key is a new item.
const Passing = "passing:"

// Before reports whether an item comes before another one of its mailbox.
func (i Item) Before(j Item) bool {
	return i.Priority < j.Priority || i.Priority == j.Priority && i.ID < j.ID
}

// Priority is the order of items in a mailbox.
type Priority int

// The priorities.
const (
	People     Priority = 0 // somebody waits for an answer
	Background Priority = 1 // the clock sent it
)

// State is how far an item is.
type State string

// The states.
const (
	Waiting  State = "waiting"  // for its turn, or for the end of its turn
	Parked   State = "parked"   // it was given up; an operator decides
	Answered State = "answered" // its turn has ended, and the reply is still to be delivered
	Done     State = "done"
)

// Kept is how long an item with a key is kept after its end, so that its sender can ask
// for the result again.
const Kept = 24 * time.Hour

// ItemFilter chooses items; its empty fields match all.
type ItemFilter struct {
	ID      int64
	Session session.Key
	State   State
	// After, when not 0, leaves out the items up to an ID, and sorts the others by ID.
	After int64
	// NotOf leaves out the items of a holder.
	NotOf string
	// Limit bounds the result; 0 means all.
	Limit int
}

// End is how an item ends.
type End struct {
	ID     int64
	Result json.RawMessage
	// Deliver leaves the item [Answered], with its message, until [Inbox.Delivered].
	Deliver bool
	// Session, when not empty, gets State and Messages, as by Append.
	Session  session.Key
	State    session.State
	Messages []chat.Message
}

// ErrEnded says that an item has ended, or is gone.
var ErrEnded = errors.New("the message has ended")

// ErrText says that a text cannot be stored, because it has a character that the database
// cannot hold.
var ErrText = errors.New("the text has a character that cannot be stored, such as NUL")

// ErrAway says that a database could not do what was asked of it: it is away, full or locked.
// Nothing is wrong with the question, which can be asked again.
var ErrAway = errors.New("the database is unavailable")

// AsAway makes an error of a database an [ErrAway], with the same text.
func AsAway(err error) error { return &awayError{err} }

type awayError struct{ error }

func (a *awayError) Unwrap() error      { return a.error }
func (*awayError) Is(target error) bool { return target == ErrAway }

// Scrubber is a store whose files may hold copies of what was removed.
type Scrubber interface {
	// Scrub overwrites these copies. It may take time in proportion to the whole store, and
	// others wait for it.
	Scrub(ctx context.Context) error
}

// Shared is a store that several processes use at once, each with a [Store] of its own.
//
// One process at a time works on a session: the one that has claimed it. A process that
// dies, or does not reach the store for some seconds, loses its claims to those who ask
// for them. From then on its writes to such a session change nothing and return [ErrLost].
// Sessions that a process never claimed, it may write to. To [Inbox.Mailboxes] and
// [ItemFilter.NotOf], items of other processes that are alive are as its own.
type Shared interface {
	Store
	// Holder names this process.
	Holder() string
	// Alive returns the holders that are alive, without this one.
	Alive(ctx context.Context) ([]string, error)
	// Claim makes a session this process's own until Release. It waits while another
	// process has it. The process makes sure that it claims a session once at a time.
	Claim(ctx context.Context, c Claim) error
	// Release gives a session up, whether it was lost or not.
	Release(key session.Key)
	// Tell adds to what [Claim.News] of other processes receive about an item of a session
	// that this process has claimed. It does not wait; what is too much is dropped.
	Tell(key session.Key, item int64, news []byte)
	// Left receives a value when sessions may have been left by another process: look at
	// Mailboxes then.
	Left() <-chan struct{}
	// Changed returns a channel that receives a value when records of a kind may have
	// changed, soon after any process changed one, and every second or so.
	Changed(kind string) <-chan struct{}
	// Wanted reports whether another process waits for a session that this one has claimed.
	Wanted(ctx context.Context, key session.Key) (bool, error)
	// Interrupt asks the process that works on a session to end what runs there. It
	// returns when that process has given the session up, or with the cause of ctx, and
	// reports whether something ran. It returns false at once where no other process works
	// on the session.
	Interrupt(ctx context.Context, key session.Key) (bool, error)
	// Interruptions are what other processes ask of this one with Interrupt.
	Interruptions() <-chan Interruption
}

// Interruption asks a process to end what runs in a session.
type Interruption struct {
	Session session.Key
	// Stopped tells the one who asks that something ran, and is being ended.
	Stopped func()
}

// Claim is what [Shared.Claim] is to do.
type Claim struct {
	Session session.Key
	// Item, when not 0, is what the session is claimed for. Claim waits for the items that
	// other processes will answer, if they come before the first item of this one, and
	// returns [ErrEnded] once Item does not wait any more.
	Item int64
	// Try returns [ErrClaimed] instead of waiting.
	Try bool
	// News receives what the process that works on the item tells, from the beginning,
	// while Claim waits; nil discards.
	News func([]byte)
}

var (
	// ErrLost says that another process works on a session.
	ErrLost = errors.New("another process has taken the conversation over")
	// ErrClaimed says that another process works on a session, or will.
	ErrClaimed = errors.New("another process works on the conversation")
)
