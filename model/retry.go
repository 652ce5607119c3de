package model

import (
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/etui-run/etui/internal/sleep"
)

// retryPolicy uses failsafe's loop and its rules for what may be retried. The delays
// are our own: failsafe's Retry-After does not understand dates, and its jitter may
// undercut the delay that a provider asks for.
func retryPolicy(cfg TransportConfig) retrypolicy.RetryPolicy[*http.Response] {
	return failsafehttp.NewRetryPolicyBuilder().
		WithMaxRetries(cfg.Retries).
		WithDelayFunc(func(e failsafe.ExecutionAttempt[*http.Response]) time.Duration {
			if wait, ok := RetryAfter(e.LastResult(), time.Now()); ok {
				return wait
			}
			return cfg.backoff(e.Retries())
		}).
		AbortIf(func(resp *http.Response, err error) bool {
			var untrusted *tls.CertificateVerificationError
			wait, ok := RetryAfter(resp, time.Now())
			return ok && wait > cfg.MaxWait || limited(resp) || errors.Is(err, errSlow) || errors.As(err, &untrusted)
		}).
		OnRetryScheduled(func(e failsafe.ExecutionScheduledEvent[*http.Response]) {
			if resp := e.LastResult(); resp != nil {
				// The body is no longer needed. Draining it lets the connection be reused.
				_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
				_ = resp.Body.Close()
			}
		}).
		ReturnLastFailure().
		Build()
}

// backoff is the delay after the given number of retries.
func (cfg TransportConfig) backoff(retries int) time.Duration {
	wait := min(cfg.Wait<<min(retries, 16), cfg.MaxWait)
	return wait + time.Duration(rand.Float64()*float64(wait)/5)
}

// limited reports whether a rate limit refused a request that another model can answer.
func limited(resp *http.Response) bool {
	return resp != nil && resp.StatusCode == http.StatusTooManyRequests && resp.Request != nil &&
		resp.Request.Context().Value(hasOthers{}) != nil
}

// RetryAfter reads the Retry-After header of a failure: seconds or a date (RFC 9110,
// section 10.2.3).
func RetryAfter(resp *http.Response, now time.Time) (time.Duration, bool) {
	if resp == nil || resp.StatusCode < http.StatusBadRequest {
		return 0, false
	}
	return sleep.RetryAfter(resp.Header.Get("Retry-After"), now)
}
