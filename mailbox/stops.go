package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Stops stop what runs in sessions, here and at other processes. They are safe for concurrent use.
type Stops struct {
	shared store.Shared    // if several processes use the store; else nil
	life   context.Context //nolint:containedctx // that of the box
	work   *Work
	log    *slog.Logger

	mu      sync.Mutex
	running map[session.Key]*stoppable
}

// stoppable is the work of one session on one message.
type stoppable struct {
	cancel context.CancelCauseFunc
	ended  chan struct{}
	outer  *stoppable // what goes on after it
}

// Begin returns a context that ends with [session.ErrStopped] when the session is stopped.
// The caller has the session to itself, and calls end when its work is done.
func (s *Stops) Begin(ctx context.Context, key session.Key) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[session.Key]*stoppable{}
	}
	now := &stoppable{cancel, make(chan struct{}), s.running[key]}
	s.running[key] = now
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[key] = now.outer; now.outer == nil {
			delete(s.running, key)
		}
		cancel(nil)
		close(now.ended)
	}
}

// stop cancels what runs in a session, and returns what is closed at its end; nil if
// nothing runs.
func (s *Stops) stop(key session.Key) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.running[key]
	if now == nil {
		return nil
	}
	now.cancel(session.ErrStopped)
	return now.ended
}

// heedOthers ends the turns that other processes ask to end, until ctx ends.
func (s *Stops) heedOthers(ctx context.Context) {
	for {
		select {
		case i := <-s.shared.Interruptions():
			if s.stop(i.Session) != nil {
				i.Stopped()
			}
		case <-ctx.Done():
			return
		}
	}
}

// maxStopping is how long a caller waits for the end of what is stopped.
const maxStopping = 10 * time.Second

// Interrupt stops what runs in a session, here or at another process, and waits some seconds for its
// end. It reports whether anything ran.
func (s *Stops) Interrupt(ctx context.Context, key session.Key) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxStopping)
	defer cancel()
	ended := s.stop(key)
	if ended == nil {
		return s.elsewhere(ctx, key)
	}
	select {
	case <-ended:
		return true, nil
	case <-ctx.Done():
		return true, fmt.Errorf("the turn is being stopped, and has not ended yet: %w", context.Cause(ctx))
	}
}

// elsewhere stops what another process runs in a session.
func (s *Stops) elsewhere(ctx context.Context, key session.Key) (bool, error) {
	if s.shared == nil {
		return false, nil
	}
	stopped, err := s.shared.Interrupt(ctx, key)
	switch {
	case stopped && err != nil:
		err = fmt.Errorf("the turn is being stopped at another etui, and has not ended yet: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = nil // it works on the session without a turn, or too long to tell
	case err != nil:
		err = fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	return stopped, err
}

// Here stops what runs in a session here, and reports whether anything did.
func (s *Stops) Here(key session.Key) bool { return s.stop(key) != nil }

// Elsewhere has what another process runs in a session stopped, and waits for nothing.
func (s *Stops) Elsewhere(key session.Key) {
	if s.shared == nil {
		return
	}
	s.work.Go(s.log, "stopping what runs elsewhere", func() {
		ctx, cancel := context.WithTimeout(s.life, maxStopping)
		defer cancel()
		_, _ = s.elsewhere(ctx, key) // what does not hear it looks itself
	})
}
