package engine

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// maxWait is how long Send waits for the outcome of a call that goes on. After that
// the outcome is stored when it comes.
const maxWait = 10 * time.Minute

// late hands the outcomes of calls that go on after their turn to a sender that waits
// for them. Nobody else waits meanwhile: the session is free.
type late struct {
	mu      sync.Mutex
	closed  bool
	missing int               // outcomes that are still to come
	arrived chan turn.Outcome // those that come in larger numbers are stored at once
}

// newLate returns a late for a sender that waits, or does not.
func newLate(wait bool) *late {
	return &late{closed: !wait, arrived: make(chan turn.Outcome, 64)}
}

// expect counts a call that goes on.
func (l *late) expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing++
}

// hand gives an outcome to the sender, and reports whether it waits.
func (l *late) hand(o turn.Outcome) bool {
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

// next waits for an outcome; nil when none will be handed over.
func (l *late) next(ctx context.Context) *turn.Outcome {
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
func (l *late) close() []turn.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var left []turn.Outcome
	for len(l.arrived) > 0 {
		left = append(left, <-l.arrived)
	}
	return left
}

// storeLate stores outcomes in their session, for its next turn to see, as soon as the
// session is free.
func (e *Engine) storeLate(key session.Key, outcomes []turn.Outcome) {
	if len(outcomes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	leave, err := e.queues.enter(ctx, key, math.MaxInt)
	if err == nil {
		defer leave()
		var s session.Session
		s, err = e.config.Store.Load(ctx, key, 1)
		for i := 0; err == nil && i < len(outcomes); i++ {
			s.State, err = e.storeOutcome(ctx, key, s.State, outcomes[i])
		}
	}
	if err != nil {
		e.config.Log.Error("the outcome of a call could not be stored", "session", key, "error", err)
	}
}

// pending names a call of this process that goes on after its turn.
type pending struct {
	session session.Key
	call    string
}

// storeOutcome stores an outcome that its session awaits. The caller has the session to
// itself.
func (e *Engine) storeOutcome(ctx context.Context, key session.Key, s session.State, o turn.Outcome) (session.State, error) {
	if !s.Waits(o.Call.ID, session.Outcome) {
		return s, nil // its call was not stored, its session was deleted, or it came before
	}
	e.pending.Delete(pending{key, o.Call.ID})
	s, told := o.Arrived(s, e.config.Now())
	return s, e.config.Store.Append(ctx, key, s, told...)
}
