package feishu

import (
	"context"
	"sync"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/panics"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	in      channel.Receiver
	self    *account
	jobs    chan job      // from the webhook to Run
	ended   chan struct{} // closed when nobody reads jobs any more
	slots   chan struct{} // one for each message that is being handed over
	loading chan struct{} // one for each of these that has files
	work    sync.WaitGroup

	mu   sync.Mutex
	last map[string]chan struct{} // by chat: closed when its newest message is done
}

// job is a message of the webhook. Done gets what became of it and does not block.
type job struct {
	arrival *arrival
	done    chan<- error
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	s := &session{
		Channel: c, in: in, self: self,
		jobs: make(chan job), ended: make(chan struct{}),
		slots: make(chan struct{}, maxPending), loading: make(chan struct{}, maxLoading),
		last: map[string]chan struct{}{},
	}
	ctx, stop := context.WithCancel(ctx)
	defer s.work.Wait()
	defer stop() // what was not handed over arrives again
	if !c.pushed() {
		return s.connection(ctx)
	}
	c.open.Store(s)
	defer close(s.ended)
	defer c.open.CompareAndSwap(s, nil)
	for {
		select {
		case j := <-s.jobs:
			if err := s.start(ctx, j.arrival, func(err error) { j.done <- err }); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start hands a message over in the background, after the earlier ones of its chat, and
// tells done what became of it. It waits while maxPending messages are on their way.
func (s *session) start(ctx context.Context, a *arrival, done func(error)) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	mine := make(chan struct{})
	s.mu.Lock()
	before := s.last[a.At.Chat]
	s.last[a.At.Chat] = mine
	s.mu.Unlock()
	s.work.Go(func() {
		done(panics.Try(s.log, "taking a message from Feishu", func() error {
			defer func() { <-s.slots }()
			defer func() {
				close(mine)
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.last[a.At.Chat] == mine {
					delete(s.last, a.At.Chat)
				}
			}()
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
	// A press that comes again is placed, too: its answer must be the same.
	if err := s.place(ctx, a); err != nil {
		return err
	}
	if _, seen := s.seen.Get(a.ID); seen {
		return nil
	}
	m := a.Incoming
	if channel.Wanted(ctx, s.in, m) {
		if len(a.files) > 0 {
			select {
			case s.loading <- struct{}{}:
				defer func() { <-s.loading }()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.introduce(ctx, a, &m)
		m.Files = s.load(ctx, a)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.in.Receive(ctx, m); err != nil {
		return err
	}
	s.seen.Put(a.ID, struct{}{})
	return nil
}
