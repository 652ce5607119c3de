// Package endpoint is the part of a model adapter that every provider's HTTP API needs. It
// sends requests with the key, reads refusals, and turns the events of an answer into those
// of package model. An adapter adds the words of its protocol: how it writes a request, what
// an event means, and how an error reads.
//
// An [Endpoint] follows no redirects, because the key must not reach another server. Its
// errors contain neither the key nor the values of the configured headers.
package endpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/schema"
)

const (
	// maxRefusal limits how much of an error response is read, in bytes.
	maxRefusal = 64 << 10
	// maxInfo limits an answer to [Endpoint.Get], in bytes.
	maxInfo = 4 << 20
)

// Config describes a provider's API and one of its models.
type Config struct {
	// Adapter is the adapter's name, as "openai". Errors of [New] begin with it.
	Adapter string
	// Model is the provider's name for the model. Required.
	Model string
	// Name is the model's name in errors; empty means Adapter, "/" and Model.
	Name string
	// BaseURL is the API's address. Required.
	BaseURL string
	// Header is sent with every request; Key is the secret that it contains, if any.
	Header http.Header
	Key    string
	// KeyFrom says where the key comes from, for the error of one that is refused; empty says nothing.
	KeyFrom string
	// Headers are those of the user. They replace others of the same name, and their
	// values are secrets.
	Headers map[string]string
	// Transport sends the requests; nil means [model.Transport] with its defaults.
	Transport http.RoundTripper
	// Refusal reads the error that the provider sends with an HTTP status other than 200: its
	// Status, Kind and Detail. Required.
	Refusal func(status int, body []byte) *model.Error
	// Failed reports whether a JSON document that came with status 200 in place of an answer is a
	// refusal; nil means that none is.
	Failed func(body []byte) bool
	// Dialect is how the provider wants the parameters of tools.
	Dialect schema.Dialect
	// Retries is how often an answer is asked for again that broke off before its text; 0 means 2, a
	// negative number never.
	Retries int
	// Verbatim leaves a call that the model writes as text what it is.
	Verbatim bool
	// Log says what was adapted to the provider; nil discards it.
	Log *slog.Logger
}

// Endpoint is a provider's API. It is safe for concurrent use.
type Endpoint struct {
	config Config
	base   *url.URL
	client *http.Client
	habit  atomic.Int32 // of its model, about thoughts
	writes atomic.Bool  // its model writes calls as text

	schemas  schemas
	toolless atomic.Bool // its model has refused tools
}

// New checks a configuration. It does not talk to the API yet.
func New(cfg Config) (*Endpoint, error) {
	if cfg.Model == "" {
		return nil, fmt.Errorf("%s: the model's name is missing", cfg.Adapter)
	}
	cfg.Name = cmp.Or(cfg.Name, cfg.Adapter+"/"+cfg.Model)
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%s: the base URL of %s is not one of http or https", cfg.Adapter, cfg.Name)
	}
	if cfg.Transport == nil {
		cfg.Transport = model.Transport(model.TransportConfig{})
	}
	cfg.Retries = cmp.Or(cfg.Retries, 2)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Endpoint{
		config: cfg, base: base, client: &http.Client{Transport: cfg.Transport, CheckRedirect: stay},
		schemas: schemas{dialect: cfg.Dialect, known: map[string]schema.Adaptation{}},
	}, nil
}

// Name returns the model's name in errors.
func (e *Endpoint) Name() string { return e.config.Name }

// URL returns the API's address.
func (e *Endpoint) URL() *url.URL { return e.base }

// Post sends a request, and returns the body of the answer or the provider's refusal as a
// [*model.Error] whose detail may still contain secrets.
func (e *Endpoint) Post(ctx context.Context, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := e.send(req)
	if err != nil || e.config.Failed == nil {
		return answer, err
	}
	r := bufio.NewReaderSize(answer, 512) // for a look at its beginning: thousands of streams may be open
	if c := first(r); c != '{' && c != '[' {
		return readCloser{r, answer}, nil
	}
	whole, err := io.ReadAll(io.LimitReader(r, maxRefusal)) // a longer document is an answer
	if err == nil && len(whole) < maxRefusal && e.config.Failed(whole) {
		_ = answer.Close() // it was read
		return nil, e.config.Refusal(http.StatusOK, whole)
	}
	return readCloser{io.MultiReader(bytes.NewReader(whole), r), answer}, nil
}

// readCloser reads a body of which the beginning was read before.
type readCloser struct {
	io.Reader
	io.Closer
}

// Get reads a JSON document of the API. If the answer is something else, the error says
// what otherwise says. Errors are described as those of [Endpoint.Stream] are.
func (e *Endpoint) Get(ctx context.Context, path string, into any, otherwise string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	body, err := e.send(req)
	if err != nil {
		return e.Describe(ctx, err)
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxInfo)).Decode(into); err != nil {
		return e.Describe(ctx, errors.New(otherwise))
	}
	return nil
}

// send sends a request with the headers.
func (e *Endpoint) send(req *http.Request) (io.ReadCloser, error) {
	maps.Copy(req.Header, e.config.Header)
	if req.Method == http.MethodGet {
		req.Header.Set("Accept", "application/json")
	}
	for name, value := range e.config.Headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the status is enough
	if len(bytes.TrimSpace(said)) == 0 {
		said = []byte(strings.TrimSpace(http.StatusText(resp.StatusCode) + " " + resp.Header.Get("Location")))
	}
	refusal := e.config.Refusal(resp.StatusCode, said)
	refusal.RetryAfter, _ = model.RetryAfter(resp, time.Now())
	return nil, refusal
}

// Describe describes an error in the terms of package model, without secrets.
func (e *Endpoint) Describe(ctx context.Context, err error) error {
	described := model.Error{}
	if refusal := (*model.Error)(nil); errors.As(err, &refusal) {
		described = *refusal
	}
	described.Model = e.config.Name
	failure := Failure(ctx, err, described, e.config.Key, e.config.Headers)
	if refused := (*model.Error)(nil); e.config.KeyFrom != "" && errors.As(failure, &refused) &&
		errors.Is(refused.Kind, model.ErrAuth) {
		refused.Detail = strings.TrimRight(refused.Detail, ". ") + model.Advice + e.config.KeyFrom
	}
	return failure
}
