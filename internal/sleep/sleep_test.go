package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/internal/sleep"
)

// TestFor: a wait ends with its time or with its context, whichever comes first.
func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if began := time.Now(); !sleep.For(ctx, time.Second) || time.Since(began) != time.Second {
			t.Error("it did not wait a second")
		}
		if sleep.For(ctx, time.Hour) || sleep.For(ctx, 0) {
			t.Error("it goes on after the end of its context")
		}
	})
}

// TestAsked: seconds and dates are read; anything else asks for nothing.
func TestAsked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"3": 3 * time.Second, " 0 ": 0, "1.5": 1500 * time.Millisecond, "1e300": 1 << 30 * time.Second,
		"Fri, 01 May 2026 12:00:30 GMT": 30 * time.Second, "Fri, 01 May 2026 11:00:00 GMT": 0,
	} {
		if got, ok := sleep.RetryAfter(header, now); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", header, got, ok, want)
		}
	}
	for _, header := range []string{"", "soon", "-1", "NaN"} {
		if got, ok := sleep.RetryAfter(header, now); ok {
			t.Errorf("%q: %v", header, got)
		}
	}
}
