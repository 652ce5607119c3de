package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
)

// TransportConfig says how requests to a provider are sent. Zero values have
// sensible limits.
type TransportConfig struct {
	// Timeout is how long the provider may take to begin an answer; 0 means a
	// minute.
	Timeout time.Duration
	// Idle is how long an answer may pause; 0 means two minutes.
	Idle time.Duration
	// Retries is how often a request is sent again after 429, 5xx or a lost
	// connection; 0 means 2, a negative number none.
	Retries int
	// Wait is the pause before the first retry, doubled for each one after; 0
	// means half a second. A Retry-After header overrides it.
	Wait time.Duration
	// MaxWait is the longest pause; 0 means 30 seconds. A provider that asks for a
	// longer one is not tried again.
	MaxWait time.Duration
	// Base sends the requests; nil means a transport of its own with the system's
	// proxies.
	Base http.RoundTripper
}

// Transport sends requests to a provider, with time-outs and retries. A response
// whose status is not an error is never asked for again. Bodies are written in
// the order in which prompt caches read them.
func Transport(cfg TransportConfig) http.RoundTripper {
	orDefault := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orDefault(&cfg.Timeout, time.Minute)
	orDefault(&cfg.Idle, 2*time.Minute)
	orDefault(&cfg.Wait, 500*time.Millisecond)
	orDefault(&cfg.MaxWait, 30*time.Second)
	switch {
	case cfg.Retries == 0:
		cfg.Retries = 2
	case cfg.Retries < 0:
		cfg.Retries = 0
	}
	if cfg.Base == nil {
		base := http.DefaultTransport.(*http.Transport).Clone()
		base.ResponseHeaderTimeout = cfg.Timeout
		cfg.Base = base
	}
	retry := failsafehttp.NewRetryPolicyBuilder().
		WithMaxRetries(cfg.Retries).
		WithBackoff(cfg.Wait, cfg.MaxWait).
		WithJitterFactor(0.2).
		WithDelayFunc(func(e failsafe.ExecutionAttempt[*http.Response]) time.Duration {
			if wait, ok := retryAfter(e.LastResult(), time.Now()); ok {
				return wait
			}
			return -1 // back off
		}).
		AbortIf(func(resp *http.Response, _ error) bool {
			wait, ok := retryAfter(resp, time.Now())
			return ok && wait > cfg.MaxWait
		}).
		OnRetry(func(e failsafe.ExecutionEvent[*http.Response]) {
			if resp := e.LastResult(); resp != nil {
				_ = resp.Body.Close() // nobody reads it any more
			}
		}).
		ReturnLastFailure().
		Build()
	return ordered{failsafehttp.NewRoundTripper(idle{cfg.Base, cfg.Idle}, retry)}
}

// retryAfter reads the header of that name: seconds or a date (RFC 9110, section
// 10.2.3).
func retryAfter(resp *http.Response, now time.Time) (time.Duration, bool) {
	if resp == nil || resp.StatusCode < http.StatusBadRequest {
		return 0, false
	}
	value := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1<<30)) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// idle ends answers that pause for too long.
type idle struct {
	next  http.RoundTripper
	limit time.Duration
}

func (t idle) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	b := &idleBody{ReadCloser: resp.Body, limit: t.limit}
	b.timer = time.AfterFunc(t.limit, b.expire)
	resp.Body = b
	return resp, nil
}

var errIdle = errors.New("the answer stopped coming")

type idleBody struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer

	mu      sync.Mutex
	expired bool
}

func (b *idleBody) expire() {
	b.mu.Lock()
	b.expired = true
	b.mu.Unlock()
	_ = b.ReadCloser.Close() // makes the pending Read return
}

func (b *idleBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expired {
		return n, fmt.Errorf("%w for %v", errIdle, b.limit)
	}
	b.timer.Reset(b.limit)
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}

// ordered writes the keys of a JSON body in the order in which a provider's
// prompt cache reads the request: what stays the same first, the conversation
// last. Then requests of a session share their beginning byte for byte.
type ordered struct{ next http.RoundTripper }

var late = []string{"tools", "system", "messages"}

func (t ordered) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Header.Get("Content-Type") != "application/json" {
		return t.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = req.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	if sorted, err := order(body); err == nil {
		body = sorted
	}
	req = req.Clone(req.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return t.next.RoundTrip(req)
}

func order(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		if !slices.Contains(late, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range late {
		if _, ok := fields[name]; ok {
			names = append(names, name)
		}
	}
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), fields[name]...)
	}
	return append(out, '}'), nil
}
