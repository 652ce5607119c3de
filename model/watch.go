package model

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// Health is what is known of a model's provider from earlier requests.
type Health struct {
	// Model is the [Info.Name].
	Model string `json:"model"`
	// Error says why the newest request failed; empty when it was answered, or when
	// there was none.
	Error string `json:"error,omitempty"`
	// Rests is until when a [Fallback] asks the other models first; zero when it does
	// not.
	Rests time.Time `json:"rests,omitzero"`
}

// HealthOf returns the health of a model, or of each model of a [Fallback] in its order.
// Of a model that is not watched only the name is known.
func HealthOf(m Model) []Health {
	switch m := m.(type) {
	case *Monitor:
		return []Health{m.health()}
	case *fallback:
		list := make([]Health, len(m.models))
		for i, w := range m.models {
			list[i] = w.health()
		}
		return list
	}
	return []Health{{Model: m.Info().Name}}
}

// Monitor is a model whose failures are remembered. It is safe for concurrent use.
type Monitor struct {
	Model

	mu     sync.Mutex // guards what follows
	failed error      // the newest failure; nil after an answer
	times  int        // failures without an answer in between
	until  time.Time  // the end of its rest; zero when it does not rest
}

// Watch returns a model that behaves like m and remembers how its requests went. After a
// failure that concerns the provider it rests: every [Fallback] that it is part of asks
// the other models first. An answer ends the rest.
//
// The rest is as long as the provider's Retry-After says, else some seconds, or some
// minutes if the key, the account or the model's name is wrong. It doubles with each
// failure in a row, and is never longer than an hour. After it, one request tries the
// model again.
func Watch(m Model) *Monitor { return &Monitor{Model: m} }

// The lengths of a rest by kind of failure: after the first failure, and at most.
var rests = []struct {
	kind        error
	first, most time.Duration
}{
	{ErrAuth, 10 * time.Minute, maxRest},
	{ErrBilling, 10 * time.Minute, maxRest},
	{ErrNoModel, 10 * time.Minute, maxRest},
	{ErrRateLimited, 15 * time.Second, 5 * time.Minute},
	{ErrUnavailable, 10 * time.Second, 5 * time.Minute},
}

const (
	maxRest = time.Hour
	// trial is how long other requests still avoid a model that is tried again.
	trial = 30 * time.Second
)

// Stream implements [Model].
func (w *Monitor) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		begun := false
		for e, err := range w.Model.Stream(ctx, req) {
			switch {
			case err != nil && ctx.Err() == nil:
				w.note(err)
			case err == nil && !begun:
				begun = true
				w.note(nil)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// note remembers how a request went.
func (w *Monitor) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed, w.until = err, (time.Time{}); err == nil {
		w.times = 0
		return
	}
	if rest := restAfter(err, w.times); rest > 0 {
		w.times++
		w.until = time.Now().Add(rest)
	}
}

// restAfter is how long a model rests after a failure that follows so many others; 0 if
// the request is to blame.
func restAfter(err error, times int) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return min(e.RetryAfter, maxRest)
	}
	for _, r := range rests {
		if errors.Is(err, r.kind) {
			return min(r.first<<min(times, 10), r.most)
		}
	}
	return 0
}

// take is awake for a request that follows. After a rest it is true once, so that other
// requests do not wait for the one that tries.
func (w *Monitor) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.until.IsZero() {
		return true
	}
	if now.Before(w.until) {
		return false
	}
	w.until = now.Add(trial)
	return true
}

// awake reports whether the model may be asked before others.
func (w *Monitor) awake() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !time.Now().Before(w.until)
}

func (w *Monitor) health() Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := Health{Model: w.Info().Name}
	if w.failed != nil {
		h.Error = w.failed.Error()
	}
	if time.Now().Before(w.until) {
		h.Rests = w.until
	}
	return h
}
