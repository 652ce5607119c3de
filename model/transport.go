package model

import (
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
)

// TransportConfig says how requests to a provider are sent. The zero value
// works.
type TransportConfig struct {
	// Timeout is how long the provider may take to begin an answer; 0 means a
	// minute. A request that took too long is not sent again: it may still be
	// worked on, and billed.
	Timeout time.Duration
	// Idle is how long an answer may pause between two of its bytes; 0 means two
	// minutes. The time that the reader takes does not count.
	Idle time.Duration
	// Retries is how often a request is sent again after 429, 5xx or a failed
	// connection; 0 means 2, a negative number none.
	Retries int
	// Wait is the pause before the first retry; 0 means half a second. It is
	// doubled for each one after, up to MaxWait, and up to a fifth of it is added
	// by chance. A Retry-After header, in seconds or as a date, is heeded instead.
	Wait time.Duration
	// MaxWait is the longest pause; 0 means 30 seconds. When a provider asks for a
	// longer one, its refusal stands at once.
	MaxWait time.Duration
	// Base sends the requests; nil means a transport of its own that uses the
	// system's proxies.
	Base http.RoundTripper
}

// Transport returns what both HTTP adapters send their requests through: it
// retries, keeps time limits, and writes JSON bodies in the order in which
// prompt caches read them (see [TransportConfig]).
//
// A response whose status is below 400 is never asked for again, however it
// ends. What fails for good is returned as the provider said it. The transport
// is safe for concurrent use.
func Transport(cfg TransportConfig) http.RoundTripper {
	cfg = cfg.withDefaults()
	return orderedBody{failsafehttp.NewRoundTripper(timeLimits{cfg.Base, cfg.Timeout, cfg.Idle}, retryPolicy(cfg))}
}

func (cfg TransportConfig) withDefaults() TransportConfig {
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
		cfg.Base = http.DefaultTransport.(*http.Transport).Clone()
	}
	return cfg
}
