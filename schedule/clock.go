package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/order"
)

// Heartbeat is a message that the clock sends at an interval, in a conversation of its own
// and without what was said there before. The zero value never is.
type Heartbeat struct {
	Every time.Duration
	// Agent answers, and User is who asks: the heartbeat has the rights of that person.
	Agent, User string
	// Text returns what it says; empty means nothing this time.
	Text func() (string, error)
}

// Clock sends the messages of tasks and of the heartbeat when their time has come.
type Clock struct {
	tasks     *Tasks
	heartbeat Heartbeat
	log       *slog.Logger

	mu      sync.Mutex
	expired time.Time // when the engine looked last for what nobody has answered
	beaten  time.Time // the last heartbeat that is known
}

// NewClock returns a clock for the tasks of an engine. A nil log discards.
func NewClock(e Engine, h Heartbeat, log *slog.Logger) *Clock {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Clock{tasks: NewTasks(e), heartbeat: h, log: log}
}

// ticking is how often Run looks at what the clock decides.
const ticking = time.Second

// Run calls Tick every second until ctx ends, and logs the first of several failures.
func (c *Clock) Run(ctx context.Context) {
	ticker := time.NewTicker(ticking)
	defer ticker.Stop()
	for failed := false; ; {
		err := c.Tick(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			c.log.ErrorContext(ctx, "what the clock decides could not be looked up; etui goes on trying", "error", err)
		}
		failed = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// expiring is how often the engine looks for what nobody has answered in time: that reads
// all sessions with something left to do.
const expiring = time.Minute

// Tick does what the clock decides: it sends the messages of tasks and of the heartbeat,
// and has the engine answer what nobody has answered in time. However many processes do,
// each thing happens once.
func (c *Clock) Tick(ctx context.Context) error {
	if c.tasks.engine.Stopping() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.tasks.engine.Now()
	err := errors.Join(c.runDue(ctx, now), c.beat(ctx, now))
	if last := c.expired; !last.IsZero() && now.Sub(last) < expiring && !now.Before(last) {
		return err
	}
	failed := c.tasks.engine.Expire(ctx)
	if failed == nil {
		c.expired = now
	}
	return errors.Join(err, failed)
}

// runDue sends the messages of the tasks that are due. A message is accepted before the
// task moves on, under a key made of the task and the time, so that it is accepted once,
// however many processes look and whatever ends them in between.
func (c *Clock) runDue(ctx context.Context, now time.Time) error {
	list, err := c.tasks.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range list {
		if t.Last.After(now) { // the clock was set back
			if next := t.after(now); next.Before(t.Next) {
				t.Next, t.Last = next, now
				if err := c.tasks.putFiring(ctx, t); err != nil {
					errs = append(errs, err)
				}
			}
		}
		if t.Next.IsZero() || t.Next.After(now) {
			continue
		}
		if err := c.runTask(ctx, t, now); err != nil {
			errs = append(errs, fmt.Errorf("task %s: %w", t.ID, err))
		}
	}
	return errors.Join(errs...)
}

// passing reports whether what the clock failed to send is to be tried again, because the engine,
// and not the message, is the cause.
func passing(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, engine.ErrStore) || errors.Is(err, engine.ErrStopping) || ctx.Err() != nil)
}

// runTask sends the messages of a task that is due, and moves it on.
func (c *Clock) runTask(ctx context.Context, t Task, now time.Time) error {
	for _, due := range t.due(now) {
		err := c.tasks.engine.Orders().Submit(ctx, t.order(due))
		if passing(ctx, err) {
			return err
		}
		if err != nil { // its agent is gone, say: the next time may be better
			c.log.ErrorContext(ctx, "a task could not run", "task", t.ID, "error", err)
		}
		t.Last = due
	}
	if _, once := t.once(); once && !t.Paused {
		_, err := c.tasks.Remove(ctx, t.ID)
		return err
	}
	t.Next = t.after(now)
	return c.tasks.putFiring(ctx, t)
}

// heartbeat is the key of its record, and the name of its conversation.
const heartbeat = "heartbeat"

// beat sends the heartbeat when its time has come. It does not catch up on missed ones.
func (c *Clock) beat(ctx context.Context, now time.Time) error {
	h := c.heartbeat
	if h.Every <= 0 {
		return nil
	}
	due := now.Truncate(h.Every)
	sent := func(last time.Time) bool { // one far ahead is from before the clock was set back
		return !due.After(last) && !last.After(now.Add(h.Every))
	}
	if !c.beaten.IsZero() && sent(c.beaten) {
		return nil
	}
	done, err := c.tasks.firings(ctx)
	if err != nil {
		return err
	}
	last, began := done[heartbeat]
	if began && sent(last.Last) {
		c.beaten = last.Last
		return nil
	}
	if began { // the first one comes after a whole interval
		text, err := h.Text()
		if err != nil {
			c.log.ErrorContext(ctx, "the heartbeat could not be read", "error", err)
		}
		if text != "" {
			o := order.Order{Caller: identity.Caller{User: h.User}, Message: engine.Message{
				Agent: h.Agent, Session: heartbeat, Text: text, Background: true, NoHistory: true,
				IdempotencyKey: fmt.Sprintf("%s-%d", heartbeat, due.Unix()),
			}}
			err := c.tasks.engine.Orders().Submit(ctx, o)
			if passing(ctx, err) {
				return fmt.Errorf("the heartbeat: %w", err)
			}
			if err != nil { // it is too long, say: the next one may be better
				c.log.ErrorContext(ctx, "the heartbeat could not be sent", "error", err)
			}
		}
	}
	if err := c.tasks.putFiring(ctx, Task{ID: heartbeat, Last: due}); err != nil {
		return err
	}
	c.beaten = due
	return nil
}
