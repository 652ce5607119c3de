package mailbox

import (
	"context"
	"sync"

	"github.com/etui-run/etui/session"
)

// stops end what runs in a session. The zero value is ready to use.
type stops struct {
	mu      sync.Mutex
	running map[session.Key]*stoppable
}

// stoppable is the work of one session on one message.
type stoppable struct {
	cancel context.CancelCauseFunc
	ended  chan struct{}
	outer  *stoppable // what goes on after it
}

// begin returns a context that ends with [session.ErrStopped] when the session is stopped.
// The caller has the session to itself, and calls end when its work is done.
func (s *stops) begin(ctx context.Context, key session.Key) (_ context.Context, end func()) {
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
func (s *stops) stop(key session.Key) <-chan struct{} {
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
func (b *Box) heedOthers(ctx context.Context) {
	for {
		select {
		case i := <-b.shared.Interruptions():
			if b.stops.stop(i.Session) != nil {
				i.Stopped()
			}
		case <-ctx.Done():
			return
		}
	}
}
