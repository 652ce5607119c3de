package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

const (
	// maxWait is how long Send waits for the outcome of a call that goes on. After that
	// the outcome is stored when it comes.
	maxWait = 10 * time.Minute
	// maxStore is how long the store may be away when an outcome comes, or a name is to be
	// removed. After that the outcome counts as lost.
	maxStore = time.Minute
)

// late hands the outcomes of calls that go on after their turn to a sender that waits
// for them. Nobody else waits meanwhile: the session is free.
type late struct {
	mu      sync.Mutex
	closed  bool
	missing int             // outcomes that are still to come
	arrived chan store.Item // those that come in larger numbers are stored at once
}

// newLate returns a late for a sender that waits, or does not.
func newLate(wait bool) *late {
	l := &late{closed: !wait}
	if wait {
		l.arrived = make(chan store.Item, 64)
	}
	return l
}

// expect counts a call that goes on.
func (l *late) expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing++
}

// open reports whether the sender waits.
func (l *late) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed
}

// hand gives an outcome to the sender, and reports whether it waits.
func (l *late) hand(o store.Item) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.arrived <- o:
		return true
	default:
		return false
	}
}

// next waits for an outcome; nil when none will be handed over, and one without an ID for a
// sub-agent that was stopped.
func (l *late) next(ctx context.Context) *store.Item {
	l.mu.Lock()
	waits := !l.closed && l.missing > 0
	l.missing--
	l.mu.Unlock()
	if !waits {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case o := <-l.arrived:
		return &o
	case <-ctx.Done():
		return nil
	}
}

// close ends the handing over, and returns what nobody has taken.
func (l *late) close() []store.Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var left []store.Item
	for len(l.arrived) > 0 {
		if i := <-l.arrived; i.ID != 0 {
			left = append(left, i)
		}
	}
	return left
}

// waiters are senders who wait for the results of sub-agents. The zero value is ready to use.
type waiters struct {
	mu    sync.Mutex
	subs  map[session.Key]*late // by the session of the sub-agent
	turns map[session.Key]*late // by the session of a turn that runs: it may be starting one
}

// begin registers the sender of a turn, until end is called.
func (w *waiters) begin(key session.Key, l *late) (end func()) {
	if !l.open() {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns == nil {
		w.turns, w.subs = map[session.Key]*late{}, map[session.Key]*late{}
	}
	w.turns[key] = l
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.turns, key)
	}
}

// expect makes a sender wait for a sub-agent, too.
func (w *waiters) expect(sub session.Key, l *late) {
	l.expect()
	if !l.open() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.subs == nil {
		w.turns, w.subs = map[session.Key]*late{}, map[session.Key]*late{}
	}
	w.subs[sub] = l
}

// hand gives an item to the sender who waits for a sub-agent of a session, and reports
// whether there is one.
func (w *waiters) hand(sub, parent session.Key, i store.Item) bool {
	w.mu.Lock()
	l, ok := w.subs[sub]
	if !ok {
		l, ok = w.turns[parent]
	}
	delete(w.subs, sub)
	w.mu.Unlock()
	return ok && l.hand(i)
}

// leave removes a sender who waits no more.
func (w *waiters) leave(l *late) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.subs, func(_ session.Key, other *late) bool { return other == l })
}
