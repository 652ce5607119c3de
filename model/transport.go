package model

import (
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
)

// TransportConfig sets up a [Transport]. The zero value works.
type TransportConfig struct {
	// Timeout is how long the provider may take to begin an answer; 0 means one
	// minute. A request that timed out is not retried: the provider may still process
	// and bill it.
	Timeout time.Duration
	// Retries is the number of retries after status 429, 5xx or a failed connection; 0
	// means 2, a negative number none.
	Retries int
	// Wait is the delay before the first retry; 0 means half a second. It doubles for
	// each further retry, up to MaxWait, plus up to a fifth at random. A Retry-After
	// header, in seconds or as a date, takes precedence.
	Wait time.Duration
	// MaxWait is the longest delay; 0 means 30 seconds. If a provider asks for a
	// longer one, its refusal is returned at once.
	MaxWait time.Duration
	// Base sends the requests; nil means a new transport that uses the system's
	// proxies.
	Base http.RoundTripper
}

// Transport returns the round tripper of the HTTP adapters: it retries and enforces time
// limits (see [TransportConfig]).
//
// A response with a status below 400 is never retried, however it ends. A final
// failure is returned as the provider sent it. The transport is safe for concurrent
// use.
func Transport(cfg TransportConfig) http.RoundTripper {
	cfg = cfg.withDefaults()
	return withoutBody{failsafehttp.NewRoundTripper(withBody{timeLimits{cfg.Base, cfg.Timeout}}, retryPolicy(cfg))}
}

// withoutBody and withBody keep failsafe from copying the body of a request that can give
// it more than once: each attempt reads the same bytes.
type (
	withoutBody struct{ next http.RoundTripper }
	withBody    struct{ next http.RoundTripper }
)

func (t withoutBody) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.GetBody != nil {
		if err := req.Body.Close(); err != nil {
			return nil, err
		}
		req = req.WithContext(req.Context()) // a copy
		req.Body = nil
	}
	return t.next.RoundTrip(req)
}

func (t withBody) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil && req.GetBody != nil {
		req = req.WithContext(req.Context()) // a copy
		var err error
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(req)
}

func (cfg TransportConfig) withDefaults() TransportConfig {
	orDefault := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orDefault(&cfg.Timeout, time.Minute)
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
		base.MaxIdleConnsPerHost = base.MaxIdleConns             // all of them, because an adapter has one host
		base.ReadBufferSize, base.WriteBufferSize = 2<<10, 2<<10 // of each request that waits for its answer
		cfg.Base = base
	}
	return cfg
}
