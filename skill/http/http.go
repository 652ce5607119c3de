// Package http makes skills of HTTP services: a call is sent as JSON with POST, and the
// answer must be JSON. A file may also describe the requests of a service that exists already.
//
//	name: search_logs
//	description: Searches the logs of a Kubernetes pod.
//	provider: http
//	endpoint: http://127.0.0.1:8081/execute
//	timeout: 30
//	headers: {Authorization: "Bearer ${TOKEN}"}
//	risk_level: read
//
// With the keys method, send, body and paging, or with a name in braces in the endpoint's path,
// arguments go to the path, the query, headers or a form, a list is fetched page by page, and an answer may be
// text or empty, too. No argument changes what the file says itself, leads to another path or
// host, or sets a header that says who etui is.
//
//	endpoint: https://tickets.example.com/v2/projects/{project}/tickets
//	method: GET
//	send: {labels: query label comma}
//	paging: {items: data, next: meta.next}
//
// Without them the request's body is the arguments, the result is the answer's body: one JSON value
// in UTF-8 of at most [skill.MaxResult] bytes with a JSON content type. A status of 400
// or 422 means that the arguments are invalid, 429, 502, 503 and 504 that the service is
// unavailable, and any other status but 2xx that the call failed. Redirects are not
// followed.
//
// A call is repeated at most twice, within its time, if that is safe: when no connection
// was made, when the service asks for it (429 or 503 with Retry-After), and when the
// answer was lost and the file says that calls may be repeated. Each attempt carries the
// idempotency key of the call as Idempotency-Key, if there is one. A service that is
// down is not called for a while.
package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Config says how the requests of all skills are sent. The zero value works and reaches
// public addresses only.
type Config struct {
	// Transport sends the requests, keeps the connections and decides which addresses
	// may be reached. Nil reaches public addresses only.
	Transport http.RoundTripper
	// Inject adds headers that name the trace of a call. Nil adds none.
	Inject func(ctx context.Context, header http.Header)
}

// Provider makes skills of HTTP services. It is safe for concurrent use.
type Provider struct {
	transport http.RoundTripper
	inject    func(context.Context, http.Header)
	retries   retrypolicy.RetryPolicy[any]

	mu       sync.Mutex
	services *recent.Cache[string, *service]
}

var _ skill.Provider = (*Provider)(nil)

// maxServices is how many services are remembered at once.
const maxServices = 1024

// New returns a provider.
func New(cfg Config) (*Provider, error) {
	if cfg.Transport == nil {
		guard, err := egress.New(egress.Config{})
		if err != nil {
			return nil, err
		}
		cfg.Transport = guard
	}
	if cfg.Inject == nil {
		cfg.Inject = func(context.Context, http.Header) {}
	}
	return &Provider{transport: cfg.Transport, inject: cfg.Inject, retries: newRetries(),
		services: recent.New[string, *service](maxServices)}, nil
}

// Type is "http".
func (*Provider) Type() string { return "http" }

// defaultPath is the path of an endpoint without one.
const defaultPath = "/execute"

// Load makes a skill of a service. An address that may not be reached is a warning: the
// call fails and says what to do. An address that nothing opens is an error.
func (p *Provider) Load(config skill.Config) (skill.Skill, error) {
	if config.Endpoint == "" {
		return nil, problem("endpoint", "is missing; write the URL of the service")
	}
	endpoint, err := egress.ParseURL(config.URL())
	if err != nil {
		return nil, problem("endpoint", err.Error())
	}
	endpoint.Fragment = ""
	shape, err := newShape(&config, endpoint)
	if err != nil {
		return nil, err
	}
	if endpoint.Path == "" {
		endpoint.Path = "/"
		if shape.plain {
			endpoint.Path = defaultPath
		}
	}
	health, err := healthURL(endpoint, config.Health)
	if err != nil {
		return nil, problem("health", err.Error())
	}
	if config.Timeout < 0 || config.Timeout > skill.MaxTimeout {
		return nil, problem("timeout",
			fmt.Sprintf("is %s, and at most %s are allowed", config.Timeout, skill.MaxTimeout))
	}
	described := config.Describe(p.Type())
	if guard, ok := p.transport.(interface {
		CheckURL(string) (*url.URL, error)
	}); ok {
		_, err := guard.CheckURL(endpoint.String())
		if refused := (*egress.RefusedError)(nil); errors.As(err, &refused) && refused.Never {
			return nil, problem("endpoint", config.Redactor().Text(err.Error()))
		}
		if err != nil {
			described.More.Warnings = append(described.More.Warnings, "endpoint: "+config.Redactor().Text(err.Error()))
		}
	}
	return &remote{
		Described: described, provider: p, service: p.service(endpoint, health), endpoint: endpoint,
		headers: config.Headers,
		shape:   shape, paging: config.Paging,
		replay: tool.Definition{Replay: config.Replay, Risk: config.RiskLevel}.Repeats(),
	}, nil
}

func problem(key, message string) skill.Problem {
	return skill.Problem{Field: key, Message: key + ": " + message}
}

// healthURL parses the URL of a service's health check; nil means none.
func healthURL(endpoint *url.URL, health string) (*url.URL, error) {
	switch {
	case health == "":
		return nil, nil
	case strings.HasPrefix(health, "/"):
		health = endpoint.Scheme + "://" + endpoint.Host + health
	}
	return egress.ParseURL(health)
}

// remote is the skill of a service.
type remote struct {
	skill.Described
	provider *Provider
	service  *service
	endpoint *url.URL
	headers  map[string]skill.Secret
	shape    *shape
	paging   skill.Paging
	replay   tool.Replay
}

var _ skill.DetailedSkill = (*remote)(nil)
