package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// expiring is how often the engine looks for what nobody has answered in time: that reads
// all sessions with something left to do.
const expiring = time.Minute

// Heartbeat is a message that the clock sends at an interval, in a conversation of its own
// and without what was said there before.
type Heartbeat struct {
	Every time.Duration
	// Agent answers, and User is who asks: the heartbeat has the rights of that person.
	Agent, User string
	// Text returns what it says; empty means nothing this time.
	Text func() (string, error)
}

// Tick does what the clock decides: it sends the messages of tasks and of the heartbeat,
// and answers what nobody has answered in time. Call it every second or so, and not twice
// at once. However many processes do, each thing happens once.
func (e *Engine) Tick(ctx context.Context) error {
	if e.box.Stopping() {
		return nil
	}
	now := e.config.Now()
	err := errors.Join(e.runDue(ctx), e.beat(ctx, now))
	if last := e.expired.Load(); last != nil && now.Sub(*last) < expiring && !now.Before(*last) {
		return err
	}
	failed := errors.Join(e.expire(ctx), e.ended(ctx))
	if failed == nil {
		e.expired.Store(&now)
	}
	return errors.Join(err, failed)
}

// ticking is how often Clock looks at what the clock decides.
const ticking = time.Second

// Clock calls Tick every second until ctx ends, and logs the first of several failures.
func (e *Engine) Clock(ctx context.Context) {
	ticker := time.NewTicker(ticking)
	defer ticker.Stop()
	for failed := false; ; {
		err := e.Tick(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			e.config.Log.ErrorContext(ctx, "what the clock decides could not be looked up; etui goes on trying", "error", err)
		}
		failed = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// heartbeat is the key of its record, and the name of its conversation.
const heartbeat = "heartbeat"

// beat sends the heartbeat when its time has come. What was missed is left out.
func (e *Engine) beat(ctx context.Context, now time.Time) error {
	h := e.config.Heartbeat
	if h.Every <= 0 {
		return nil
	}
	due := now.Truncate(h.Every)
	sent := func(last time.Time) bool { // one far ahead is from before the clock was set back
		return !due.After(last) && !last.After(now.Add(h.Every))
	}
	if last := e.beaten.Load(); last != nil && sent(*last) {
		return nil
	}
	done, err := e.firings(ctx)
	if err != nil {
		return err
	}
	last, began := done[heartbeat]
	if began && sent(last.Last) {
		e.beaten.Store(&last.Last)
		return nil
	}
	if began { // the first one comes after a whole interval
		text, err := h.Text()
		if err != nil {
			e.config.Log.ErrorContext(ctx, "the heartbeat could not be read", "error", err)
		}
		if text != "" {
			err := e.send(ctx, mail{Message: Message{Agent: h.Agent, User: h.User, Session: heartbeat, Text: text, Background: true, NoHistory: true, IdempotencyKey: fmt.Sprintf("%s-%d", heartbeat, due.Unix())}})
			if passing(ctx, err) {
				return fmt.Errorf("the heartbeat: %w", err)
			}
			if err != nil { // it is too long, say: the next one may be better
				e.config.Log.ErrorContext(ctx, "the heartbeat could not be sent", "error", err)
			}
		}
	}
	if err := e.putFiring(ctx, Task{ID: heartbeat, Last: due}); err != nil {
		return err
	}
	e.beaten.Store(&due)
	return nil
}
