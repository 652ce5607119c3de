package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/recent"
)

const (
	maxPending = 64 // messages that are being handed over; the next ones wait
	maxLoading = 4  // messages with files among them, as they are in memory
	maxSeen    = 4096
)

// Job is an incoming message.
type Job struct {
	// Chat is where it was written.
	Chat string
	// Early runs before earlier messages of the chat are done; it may be nil.
	Early func(ctx context.Context)
	// Take hands the message over.
	Take func(ctx context.Context) error
	// Done is told what became of the message, before the next one of the chat begins. It
	// acknowledges the message to the platform, so that one that is not safe arrives again.
	Done func(err error)

	// answered means that Done answers the request that brought the message: it may be sent again at once.
	answered bool
}

// Intake hands messages over: those of a chat in their order, and those of different chats
// at the same time. When one is not taken, those of its chat that wait behind it are not taken
// either.
type Intake struct {
	name    string
	log     *slog.Logger
	to      channel.Receiver
	seen    *Seen
	slots   chan struct{} // one for each message that is being handed over
	loading chan struct{} // one for each of these that has files
	jobs    chan Job      // from requests to Serve
	ended   chan struct{} // closed when nobody reads jobs any more
	work    sync.WaitGroup

	mu   sync.Mutex
	last map[string]*turn // by chat: its newest message
}

// turn is a message's place in the order of its chat.
type turn struct {
	done chan struct{}
	err  error         // set when done is closed
	next chan struct{} // closed when the next message may come although this one is not done
	once sync.Once
}

func (t *turn) release() { t.once.Do(func() { close(t.next) }) }

// Seen knows keys, such as those of messages that are safe; the oldest are forgotten.
type Seen struct {
	kept *recent.Cache[string, struct{}]
}

// NewSeen returns an empty one.
func NewSeen() *Seen { return &Seen{recent.New[string, struct{}](maxSeen)} }

// Has reports whether a key was added.
func (s *Seen) Has(key string) bool {
	_, has := s.kept.Get(key)
	return has
}

// Add adds a key.
func (s *Seen) Add(key string) { s.kept.Put(key, struct{}{}) }

// NewIntake returns the intake of one call of Run, for the platform with this name. Seen
// outlives it.
func NewIntake(name string, log *slog.Logger, to channel.Receiver, seen *Seen) *Intake {
	return &Intake{
		name: name, log: log, to: to, seen: seen,
		slots: make(chan struct{}, maxPending), loading: make(chan struct{}, maxLoading),
		jobs: make(chan Job), ended: make(chan struct{}), last: map[string]*turn{},
	}
}

// Start hands a message over in the background. It waits while 64 messages are on their way,
// and returns an error only if ctx ends before.
func (in *Intake) Start(ctx context.Context, j Job) error {
	select {
	case in.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	mine := &turn{done: make(chan struct{}), next: make(chan struct{})}
	in.mu.Lock()
	before := in.last[j.Chat]
	in.last[j.Chat] = mine
	in.mu.Unlock()
	what := "taking a message from " + in.name
	in.work.Go(func() {
		defer panics.Log(in.log, what)
		defer func() { <-in.slots }()
		leave := func() {
			in.mu.Lock()
			defer in.mu.Unlock()
			if in.last[j.Chat] == mine {
				delete(in.last, j.Chat)
			}
		}
		defer func() {
			leave()
			close(mine.done)
		}()
		mine.err = panics.Try(in.log, what, func() error {
			if j.Early != nil {
				j.Early(ctx)
			}
			if before != nil {
				select {
				case <-before.done:
					if before.err != nil {
						return fmt.Errorf("an earlier message of the chat was not taken: %w", before.err)
					}
				case <-before.next:
				case <-ctx.Done():
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			return j.Take(channel.WithNext(ctx, mine.release))
		})
		if mine.err != nil && ctx.Err() == nil {
			in.log.WarnContext(ctx, "a message was not taken; it is sent again", "platform", in.name, "error", mine.err)
		}
		if mine.err != nil && j.answered {
			leave() // so that it does not wait behind itself
		}
		j.Done(mine.err)
	})
	return nil
}

// Run works until ctx ends or work does, and then waits for the messages that are being handed
// over. Messages that were not handed over arrive again.
func (in *Intake) Run(ctx context.Context, work func(ctx context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer in.Wait()
	defer stop()
	return work(ctx)
}

// Hand hands a message over, unless that was done before under the same key. Complete adds what
// has to be asked for; it may be nil. With files it waits for a place among the messages whose
// files are in memory.
func (in *Intake) Hand(
	ctx context.Context, key string, m *channel.Incoming, files bool, complete func(ctx context.Context) error,
) error {
	if in.seen.Has(key) {
		return nil
	}
	if files {
		select {
		case in.loading <- struct{}{}:
			defer func() { <-in.loading }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if complete != nil {
		if err := complete(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // the answers of the platform are not complete
	}
	if m.ID != "" { // else there is nothing to hand over
		if err := in.to.Receive(ctx, *m); err != nil {
			return err
		}
	}
	in.seen.Add(key)
	return nil
}

// Wants reports whether the receiver would take a message.
func (in *Intake) Wants(ctx context.Context, m channel.Incoming) bool {
	return channel.Wanted(ctx, in.to, m)
}

// Gathers is how long the receiver awaits what a person writes next.
func (in *Intake) Gathers() time.Duration { return channel.Gathers(in.to) }

// Wait waits for the messages that are being handed over.
func (in *Intake) Wait() { in.work.Wait() }

// Serve starts the messages of [Intake.Submit] until ctx ends.
func (in *Intake) Serve(ctx context.Context) error {
	defer close(in.ended)
	for {
		select {
		case j := <-in.jobs:
			if err := in.Start(ctx, j); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errEnded says that Run has ended.
var errEnded = errors.New("the channel does not run any more")

// Submit hands over a message that a request has brought, and returns what became of it. If
// the request ends before, the message is still taken.
func (in *Intake) Submit(request context.Context, chat string, take func(ctx context.Context) error) error {
	done := make(chan error, 1)
	select {
	case in.jobs <- Job{Chat: chat, Take: take, Done: func(err error) { done <- err }, answered: true}:
	case <-in.ended:
		return errEnded
	case <-request.Done():
		return request.Err()
	}
	select {
	case err := <-done:
		return err
	case <-request.Done():
		return request.Err()
	}
}
