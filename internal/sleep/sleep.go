// Package sleep waits: for some time, or for as long as a server asks.
package sleep

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// For waits, and reports whether ctx goes on.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// maxAsked bounds what a server may ask for.
const maxAsked = 1 << 30 * time.Second

// RetryAfter reads the header Retry-After: seconds, fractions too, or a date (RFC 9110, section 10.2.3). It reports false
// for any other text; a date that has passed is no wait.
func RetryAfter(header string, now time.Time) (wait time.Duration, asked bool) {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, maxAsked.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}
