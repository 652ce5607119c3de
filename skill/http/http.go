// Package http makes skills of HTTP services: a call is POSTed as JSON, and the
// answer must be JSON.
//
//	name: search_logs
//	description: Searches the logs of a Kubernetes pod.
//	provider: http
//	endpoint: http://127.0.0.1:8081/execute
//	timeout: 30
//	headers: {Authorization: "Bearer ${TOKEN}"}
//	risk_level: read
//
// The request's body is the arguments as they are, the result is the answer's
// body: one JSON value in UTF-8 of at most [skill.MaxResult] bytes, under a
// content type that says JSON. A status of 400 or 422 says that the arguments do
// not fit, 429, 502, 503 and 504 that the service is not available, and any other
// but 2xx that the call failed. Redirects are not followed.
//
// A call is sent again, at most twice and within its time, where that is safe:
// when no connection was made, when the service asks for it (429 or 503 with
// Retry-After), and when the file says that calls may be repeated and the answer
// was lost. A service that is down is not asked for a while.
package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Config says how the requests of all skills are sent. The zero value works, and
// reaches public addresses only.
type Config struct {
	// Transport carries the requests. It keeps the connections, and it decides what
	// may be reached: give it one that does. Nil means one that reaches public
	// addresses only.
	Transport http.RoundTripper
	// Inject adds headers that say which trace a call belongs to. Nil adds none.
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

// maxServices is how many services are known at once; of one that was forgotten
// it is learnt again whether it is down.
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
	return &Provider{transport: cfg.Transport, inject: cfg.Inject, retries: newRetries(), services: recent.New[string, *service](maxServices)}, nil
}

// Type is "http".
func (*Provider) Type() string { return "http" }

// defaultPath is called when the endpoint has none.
const defaultPath = "/execute"

// Load makes a skill of a service. An address that may not be reached is a
// warning: the call will fail, and say what to do. One that nothing opens is an
// error.
func (p *Provider) Load(config skill.Config) (skill.Skill, error) {
	if config.Endpoint == "" {
		return nil, problem("endpoint", "is missing; write the URL that is to be called")
	}
	endpoint, err := egress.ParseURL(config.Endpoint)
	if err != nil {
		return nil, problem("endpoint", err.Error())
	}
	if endpoint.Path == "" {
		endpoint.Path = defaultPath
	}
	endpoint.Fragment = ""
	health, err := healthURL(endpoint, config.Health)
	if err != nil {
		return nil, problem("health", err.Error())
	}
	if config.Timeout < 0 || config.Timeout > skill.MaxTimeout {
		return nil, problem("timeout", fmt.Sprintf("is %s, and at most %s are allowed", config.Timeout, skill.MaxTimeout))
	}
	if config.Timeout == 0 {
		config.Timeout = skill.DefaultTimeout
	}
	details := config.Details()
	details.Provider = p.Type()
	if guard, ok := p.transport.(interface {
		CheckURL(string) (*url.URL, error)
	}); ok {
		_, err := guard.CheckURL(endpoint.String())
		if refused := (*egress.Refused)(nil); errors.As(err, &refused) && refused.Never {
			return nil, problem("endpoint", err.Error())
		}
		if err != nil {
			details.Warnings = append(details.Warnings, "endpoint: "+err.Error())
		}
	}
	return &remote{
		provider: p, service: p.service(endpoint, health), endpoint: endpoint,
		name: config.Name, description: config.Description, parameters: config.Parameters, details: details,
		timeout: config.Timeout, replay: replayOf(config), headers: config.Headers, redactor: config.Redactor(),
	}, nil
}

func problem(key, message string) skill.Problem {
	return skill.Problem{Field: key, Message: key + ": " + message}
}

// healthURL reads where a service tells whether it is up; nil means nowhere.
func healthURL(endpoint *url.URL, health string) (*url.URL, error) {
	switch {
	case health == "":
		return nil, nil
	case strings.HasPrefix(health, "/"):
		health = endpoint.Scheme + "://" + endpoint.Host + health
	}
	return egress.ParseURL(health)
}

func replayOf(config skill.Config) tool.Replay {
	switch {
	case config.Replay != "":
		return config.Replay
	case config.RiskLevel == tool.Read:
		return tool.Safe
	}
	return tool.Never
}

// remote is a skill that a service runs.
type remote struct {
	provider *Provider
	service  *service
	endpoint *url.URL

	name, description string
	parameters        skill.ParameterSchema
	details           skill.Details
	timeout           time.Duration
	replay            tool.Replay
	headers           map[string]skill.Secret
	redactor          skill.Redactor
}

var _ skill.Detailed = (*remote)(nil)

func (r *remote) Name() string                      { return r.name }
func (r *remote) Description() string               { return r.description }
func (r *remote) Parameters() skill.ParameterSchema { return r.parameters }
func (r *remote) Details() skill.Details            { return r.details }
