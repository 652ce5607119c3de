package erase

import (
	"context"
	"time"

	"github.com/etui-run/etui/session"
)

// maxSwept is how many sessions Sweep removes in one transaction, so that no turn waits
// long to store a step.
const maxSwept = 100

// Sweep removes sessions that have not changed since a time and have nothing left to do.
// It returns how many, and stops when ctx ends.
func Sweep(ctx context.Context, s session.Store, before time.Time) (int, error) {
	for n := 0; ; {
		swept, err := s.Sweep(ctx, before, maxSwept)
		n += swept
		if err != nil || swept < maxSwept {
			return n, err
		}
	}
}
