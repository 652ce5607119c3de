package engine

import (
	"context"
	"sync"

	"github.com/etui-run/etui/session"
)

// queues lets the messages of one session in one by one, in the order in which
// they came. The zero value is ready to use. A session that nobody waits for
// takes no memory.
type queues struct {
	mu   sync.Mutex
	open map[session.Key]*queue
}

// queue is one session's. Senders on a channel are served in order.
type queue struct {
	turn chan struct{} // holds a value while a turn runs
	here int           // how many run or wait
}

// enter waits for the session to be free. It fails when more than waiting
// others wait already, or when ctx ends.
func (q *queues) enter(ctx context.Context, key session.Key, waiting int) (leave func(), err error) {
	q.mu.Lock()
	s := q.open[key]
	if s == nil {
		if q.open == nil {
			q.open = map[session.Key]*queue{}
		}
		s = &queue{turn: make(chan struct{}, 1)}
		q.open[key] = s
	}
	if s.here > waiting {
		q.mu.Unlock()
		return nil, ErrBusy
	}
	s.here++
	q.mu.Unlock()
	gone := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if s.here--; s.here == 0 {
			delete(q.open, key)
		}
	}
	select {
	case s.turn <- struct{}{}:
		if ctx.Err() != nil { // both came at once
			<-s.turn
			gone()
			return nil, ctx.Err()
		}
		return func() { <-s.turn; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}
