package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/etui-run/etui/skill"
)

const (
	maxRetries  = 2
	firstWait   = 100 * time.Millisecond // before the first retry; doubled for the next
	maxWait     = 10 * time.Second       // a call whose service asks for more is not repeated
	healthEvery = 5 * time.Second        // between two health checks of a service
	healthTime  = 3 * time.Second        // of a health check

	failuresToOpen = 5                // in a row; then the service is not called
	openTime       = 10 * time.Second // until one call tries it again
)

// newRetries returns the policy that repeats calls whose failure allows it.
func newRetries() retrypolicy.RetryPolicy[any] {
	return retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool {
			var f *failure
			return errors.As(err, &f) && f.again
		}).
		WithMaxRetries(maxRetries).
		WithDelayFunc(func(e failsafe.ExecutionAttempt[any]) time.Duration {
			wait := firstWait << e.Retries()
			var f *failure
			if errors.As(e.LastError(), &f) {
				wait = max(wait, f.wait)
			}
			return wait + time.Duration(rand.Float64()*float64(wait)/5)
		}).
		ReturnLastFailure().
		Build()
}

// service is the state of an endpoint. All skills that call it share one.
type service struct {
	breaker circuitbreaker.CircuitBreaker[any]
	last    atomic.Pointer[string] // its last failure, without secrets

	health *url.URL      // nil if it has no health check
	asking chan struct{} // full during a health check
	known  atomic.Pointer[health]
}

// health is the result of a health check.
type health struct {
	at  time.Time
	err error
}

// service returns the service at an endpoint.
func (p *Provider) service(endpoint, healthURL *url.URL) *service {
	key := endpoint.String()
	if healthURL != nil {
		key += " " + healthURL.String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.services.Get(key); ok {
		return s
	}
	s := &service{breaker: newBreaker(), health: healthURL, asking: make(chan struct{}, 1)}
	p.services.Put(key, s)
	return s
}

func newBreaker() circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool {
			var f *failure
			return errors.As(err, &f) && f.down
		}).
		WithFailureThreshold(failuresToOpen).
		WithDelay(openTime).
		Build()
}

func (s *service) lastFailure() string {
	if last := s.last.Load(); last != nil {
		return *last
	}
	return "failed"
}

// isUp records that the service has answered.
func (s *service) isUp() {
	if s.health != nil {
		s.known.Store(&health{at: time.Now()})
	}
}

// healthy checks the service's health unless a fresh result is known. One of several
// callers checks, and the others wait for its result.
func (s *service) healthy(ctx context.Context, r *remote) error {
	if s.health == nil {
		return nil
	}
	if known, ok := s.fresh(); ok {
		return known
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if known, ok := s.fresh(); ok {
		return known
	}
	err := s.ask(ctx, r)
	if ctx.Err() == nil {
		s.known.Store(&health{time.Now(), err})
	}
	return err
}

func (s *service) fresh() (error, bool) {
	known := s.known.Load()
	if known == nil || time.Since(known.at) >= healthEvery {
		return nil, false
	}
	return known.err, true
}

// ask sends the health check. The skill's headers go to its own service only.
func (s *service) ask(ctx context.Context, r *remote) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req := r.plainRequest(ctx, http.MethodGet, s.health)
	if s.health.Scheme == r.endpoint.Scheme && s.health.Host == r.endpoint.Host {
		r.addHeaders(req)
	}
	resp, err := r.provider.transport.RoundTrip(req)
	if err != nil {
		return r.unwell(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
	if resp.StatusCode != http.StatusOK {
		return notSent(fmt.Sprintf("is not well: %s answers %d %s", s.health.Path, resp.StatusCode,
			http.StatusText(resp.StatusCode)))
	}
	return nil
}

// unwell classifies an error of the transport during a health check.
func (r *remote) unwell(ctx context.Context, err error) error {
	var f *failure
	switch {
	case ctx.Err() != nil:
		return notSent(fmt.Sprintf("does not tell its health within %s", healthTime))
	case errors.As(r.unreached(ctx, err), &f):
		return notSent(f.text)
	}
	return err
}

// notSent is the failure of a call to a service that is known to be down.
func notSent(text string) *failure {
	return &failure{kind: skill.ErrProviderUnavailable, text: text + "; the call was not sent"}
}
