package mailbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// senders are the senders that wait here for the turns of their messages, by the
// IDs of the items. The zero value is ready to use.
type senders struct {
	mu sync.Mutex
	by map[int64][]*sender
}

type sender struct {
	cancel context.CancelCauseFunc
	keyed  bool // the result is kept for it
}

// join adds a sender of an item, until leave. The context ends when the sender is told
// something, with that as its cause.
func (w *senders) join(ctx context.Context, item int64, keyed bool) (waiting context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	me := &sender{cancel, keyed}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[int64][]*sender{}
	}
	w.by[item] = append(w.by[item], me)
	return ctx, func() {
		cancel(nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.by[item] = slices.DeleteFunc(w.by[item], func(s *sender) bool { return s == me }); len(w.by[item]) == 0 {
			delete(w.by, item)
		}
	}
}

// leave tells all senders that their messages are left to another process, unless their turn
// has come.
func (w *senders) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, senders := range w.by {
		for _, s := range senders {
			s.cancel(session.ErrSuspended)
		}
	}
}

// tell tells the senders of an item why they wait no longer. [store.ErrEnded] is told only
// to those with a key: they can read the result.
func (w *senders) tell(item int64, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.by[item] {
		if s.keyed || !errors.Is(why, store.ErrEnded) {
			s.cancel(why)
		}
	}
}

// LookAgain is how often the sender of a repeated message looks whether another process has
// ended it, while other messages of its session have the line here.
const LookAgain = time.Second

// LineUp returns a context that ends when the message needs no turn any more: with the cause
// that [Box.Tell] gives, such as that the running turn has taken it in, with [store.ErrEnded]
// when it has ended, and with [session.ErrSuspended] when the process stops. So the sender of a
// repeated message does not wait for what came after the first one.
func (b *Box) LineUp(ctx context.Context, item int64, keyed, repeated bool) (context.Context, func()) {
	waiting, leave := b.senders.join(ctx, item, keyed)
	if b.Stopping() { // perhaps before it joined
		b.senders.tell(item, session.ErrSuspended)
	}
	if !repeated {
		return waiting, leave
	}
	looking, stop := context.WithCancel(waiting)
	var looks sync.WaitGroup
	looks.Go(func() {
		defer panics.Log(b.config.Log, "looking for the end of a repeated message")
		for {
			// The first look comes after the sender is in the line: it may have ended before.
			if now, err := b.Item(looking, item); err == nil && now.State != store.Waiting ||
				errors.Is(err, store.ErrEnded) {
				b.senders.tell(item, store.ErrEnded)
				return
			}
			if b.shared == nil {
				return
			}
			if !sleep.For(looking, LookAgain) {
				return
			}
		}
	})
	return waiting, func() {
		stop()
		looks.Wait()
		leave()
	}
}

// Tell says to the senders of an item why they wait no longer.
func (b *Box) Tell(item int64, why error) { b.senders.tell(item, why) }

// maxLooking is how long the store may take to say who waits.
const maxLooking = time.Minute

// Wanted reports whether somebody waits for a session at another process.
func (b *Box) Wanted(key session.Key) bool {
	if b.shared == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(b.life, maxLooking)
	defer cancel()
	wanted, err := b.shared.Wanted(ctx, key)
	return wanted || err != nil
}
