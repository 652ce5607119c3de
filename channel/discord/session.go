package discord

import (
	"context"
	"slices"
	"sync"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/panics"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	in      channel.Receiver
	slots   chan struct{} // one for each message that is being handed over
	loading chan struct{} // one for each of these that has files
	work    sync.WaitGroup
	beats   sync.WaitGroup

	mu     sync.Mutex
	latest map[string]chan struct{} // by channel: closed when its newest message is done
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s := &session{
		Channel: c, in: in,
		slots: make(chan struct{}, maxPending), loading: make(chan struct{}, maxLoading),
		latest: map[string]chan struct{}{},
	}
	ctx, stop := context.WithCancel(ctx)
	defer s.work.Wait()
	defer stop() // what was not handed over arrives again
	return s.renewing(ctx)
}

// start hands a message over in the background, after the earlier ones of its channel, and
// tells done what became of it before the next one begins. It waits while maxPending
// messages are on their way.
func (s *session) start(ctx context.Context, a *arrival, done func(error)) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	mine := make(chan struct{})
	s.mu.Lock()
	before := s.latest[a.channel]
	s.latest[a.channel] = mine
	s.mu.Unlock()
	s.work.Go(func() {
		defer panics.Log(s.log, "taking a message from Discord")
		defer func() { <-s.slots }()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			close(mine)
			if s.latest[a.channel] == mine {
				delete(s.latest, a.channel)
			}
		}()
		done(panics.Try(s.log, "taking a message from Discord", func() error {
			s.acknowledge(ctx, a) // within three seconds
			if before != nil {
				select {
				case <-before:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return s.take(ctx, a)
		}))
	})
	return nil
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	if err := ctx.Err(); err != nil {
		return err // an earlier one has failed
	}
	key := a.channel + ":" + a.ID
	if _, seen := s.seen.Get(key); seen {
		return nil
	}
	if len(a.files) > 0 {
		select {
		case s.loading <- struct{}{}:
			defer func() { <-s.loading }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := s.complete(ctx, a); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.in.Receive(ctx, a.Incoming); err != nil {
		return err
	}
	s.seen.Put(key, struct{}{})
	return nil
}

// progress knows up to which number the events of a connection are safe.
type progress struct {
	mu       sync.Mutex
	received int64
	open     []int64 // at most maxPending, in the order of their arrival
}

func newProgress(from int64) *progress { return &progress{received: from} }

func (p *progress) begin(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq > 0 {
		p.open = append(p.open, seq)
		p.received = seq
	}
}

func (p *progress) done(seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = slices.DeleteFunc(p.open, func(n int64) bool { return n == seq })
}

// safe returns the number up to which all events are safe.
func (p *progress) safe() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 {
		return slices.Min(p.open) - 1
	}
	return p.received
}
