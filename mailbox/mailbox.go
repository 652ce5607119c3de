// Package mailbox keeps the messages of sessions until each has ended, whatever ends processes in
// between. It knows the order in which items come, who works on one, who waits for it, what is tried
// again and what is left to another process. It does not know what an item asks for: a [Worker] does.
//
// An item is accepted by the store and works its way through a [Box]: it takes a [Place] in the
// line of its session, comes in when those before it have left, gets a place among all that work at
// once ([Box.Turns]), and ends with [Box.Write]. [Box.Resume] takes up the items that a process has
// left behind.
package mailbox

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Worker does what items ask for. The caller has the session to itself in each of its methods.
type Worker interface {
	// Finish runs the open turn of a session to its end, or until it waits for something. An error
	// means that the turn is still open. Crashed says that an attempt here ended unexpectedly.
	Finish(ctx context.Context, key session.Key, crashed bool) error
	// Work does what an item asks for, and ends it. An error means that the item still waits.
	Work(ctx context.Context, i store.Item) error
	// Lost ends the calls that a session awaits from processes that have ended.
	Lost(ctx context.Context, key session.Key) error
	// Park tells the sender of an item that it is about to be parked, once. An error means that the
	// store failed.
	Park(ctx context.Context, i store.Item) error
}

// Config sets up a [Box]. All of it is needed.
type Config struct {
	Store  store.Store
	Worker Worker
	Log    *slog.Logger
	Now    func() time.Time
	// Holder names this process in the store. With a [store.Shared] it is that one's.
	Holder string
	// Width is how many items are worked on at once.
	Width int
	// Retry counts that something is tried again, for a cause.
	Retry func(cause string)
}

// Box is the mailboxes of all sessions in a store, for one process. It is safe for concurrent use.
type Box struct {
	// Turns are the places of those who work, under one key.
	Turns Lines
	// Answers are what senders may ask for again.
	Answers Answers
	// Running counts what the process must not end without: work, and what is stored after it.
	Running Work
	// Stops stop work.
	Stops Stops
	// Here counts the messages that run or wait.
	Here atomic.Int64

	config   Config
	shared   store.Shared    // the store, if several processes use it; else nil
	life     context.Context //nolint:containedctx // ends when work is to be left to another process
	suspend  context.CancelCauseFunc
	begins   context.Context //nolint:containedctx // ends when nothing new begins any more
	drain    context.CancelCauseFunc
	settled  atomic.Bool  // no item waits that an ended process accepted, and none can come
	left     atomic.Int64 // items that are left because the process stops
	resuming atomic.Int64 // sessions in which Resume works
	sessions Lines        // those that are worked on
	senders  senders
	tickets  tickets
	answered chan struct{}
}

// New returns a box.
func New(c Config) *Box {
	b := &Box{config: c, answered: make(chan struct{}, 1)}
	if shared, ok := c.Store.(store.Shared); ok {
		b.shared, b.sessions.Shared = shared, shared
	}
	b.life, b.suspend = context.WithCancelCause(context.Background())
	b.Stops.shared, b.Stops.life, b.Stops.work, b.Stops.log = b.shared, b.life, &b.Running, c.Log
	b.begins, b.drain = context.WithCancelCause(context.Background())
	b.Turns = Lines{Width: c.Width, Until: b.begins.Done()}
	return b
}

// maxStoring is how long Stop waits for work that it has suspended: a tool may not heed that.
const maxStoring = 5 * time.Second

// Stop lets nothing new begin, and what runs end. When ctx ends, it suspends that: it stays in the
// store for the next [Box.Resume]. It returns how many items stay, when all that was done is stored.
func (b *Box) Stop(ctx context.Context) (left int) {
	b.drain(session.ErrSuspended)
	b.senders.leave()
	b.Running.Wait(ctx)
	b.suspend(session.ErrSuspended)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxStoring)
	defer cancel()
	b.Running.Wait(ctx)
	if b.shared == nil { // nobody else takes anything up
		if n, _, err := b.config.Store.Depth(ctx, store.Waiting); err == nil {
			return n
		}
	}
	return int(b.left.Load() + b.Here.Load())
}

// Stopping reports whether nothing new begins any more.
func (b *Box) Stopping() bool { return b.begins.Err() != nil }

// Begins ends when nothing new begins any more.
func (b *Box) Begins() context.Context { return b.begins }

// Life ends when work is left to another process.
func (b *Box) Life() context.Context { return b.life }

// Suspendable returns a context like ctx that ends with [session.ErrSuspended] as its cause when
// work is left to another process, or when one of others ends.
func (b *Box) Suspendable(ctx context.Context, others ...context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, other := range append(others, b.life) {
		stops = append(stops, context.AfterFunc(other, func() { cancel(session.ErrSuspended) }))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// Join takes a place in the line of a session. It fails with [ErrCrowded] when so many others wait.
func (b *Box) Join(key session.Key, who string, priority store.Priority, waiting int) (*Place, error) {
	return b.sessions.Join(string(key), who, priority, waiting)
}

// Enter returns when the caller has a session to itself, until leave is called.
func (b *Box) Enter(ctx context.Context, key session.Key) (leave func(), err error) {
	return b.sessions.Enter(ctx, string(key), "", store.People, Unbounded)
}

// Waiting returns how many wait for a session here.
func (b *Box) Waiting(key session.Key) int { return b.sessions.Waiting(string(key)) }

// Depth returns how many items are worked on, and how many wait for a session or a place to work.
func (b *Box) Depth() (working, waiting int) {
	working, waiting = b.Turns.Depth()
	_, inSessions := b.sessions.Depth()
	return working + int(b.resuming.Load()), waiting + inSessions // who resumes needs no place
}

// Answered receives a value when this process may have new replies to deliver.
func (b *Box) Answered() <-chan struct{} { return b.answered }
