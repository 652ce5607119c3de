package engine

import (
	"context"
	"time"
)

// expiring is how often the engine looks for what nobody has answered in time: that reads
// all sessions with something left to do.
const expiring = time.Minute

// Tick does what the clock decides: it answers what nobody has answered in time. Call it
// every second or so. However many processes do, each thing happens once.
func (e *Engine) Tick(ctx context.Context) error {
	now := e.config.Now()
	if last := e.expired.Load(); last != nil && now.Sub(*last) < expiring && !now.Before(*last) {
		return nil
	}
	err := e.expire(ctx)
	if err == nil {
		e.expired.Store(&now)
	}
	return err
}
