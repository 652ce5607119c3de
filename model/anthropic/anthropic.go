// Package anthropic talks to Anthropic's messages API.
//
// Answers are always streamed. Cache breakpoints stand after the tools, after
// the system prompt and after the two newest messages of the user, so that the
// next request reads everything but its own message from the provider's cache:
// the older of the two is where the request before wrote it. The breakpoints are
// the only bytes of a message that change later, and they are not part of what
// is cached.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/etui-run/etui/model"
)

// Config says which model. Only Model must be set.
type Config struct {
	// Model is what Anthropic calls it. Required.
	Model string
	// Name is the model's name in logs and errors; empty means "anthropic/" and
	// Model.
	Name string
	// BaseURL is where the API is, without its version; empty means
	// https://api.anthropic.com.
	BaseURL string
	// APIKey is sent as x-api-key; empty sends none.
	APIKey string
	// Window is how many tokens a request and its answer may have together; 0
	// means unknown.
	Window int
	// CacheLife is how long the provider keeps the beginning of a request; 0 means
	// five minutes, as the API does, and a negative one that it keeps nothing.
	CacheLife time.Duration
	// Deferral says that the model takes tools with defer_loading. It goes without
	// saying for Anthropic's own API and models of the fourth generation and later.
	Deferral bool
	// MaxTokens bounds answers whose request does not; 0 means 8192: the API wants
	// a bound.
	MaxTokens int
	// Headers are sent with every request. Their values count as secrets.
	Headers map[string]string
	// Transport sends the requests; nil means [model.Transport] with its defaults.
	Transport http.RoundTripper
}

const (
	defaultBaseURL   = "https://api.anthropic.com"
	defaultMaxTokens = 8192
)

// old matches the models that do not know defer_loading.
var old = regexp.MustCompile(`^claude-(instant|[123])`)

// Model is one of Anthropic's models. It is safe for concurrent use.
type Model struct {
	config Config
	client anthropic.Client
}

var _ model.Model = (*Model)(nil)

// New returns a model. It does not talk to the API yet.
func New(cfg Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, errors.New("anthropic: the model's name is missing")
	}
	if cfg.Name == "" {
		cfg.Name = "anthropic/" + cfg.Model
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultBaseURL
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("anthropic: the base URL of %s is not one of http or https", cfg.Name)
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = defaultMaxTokens
	}
	if cfg.CacheLife == 0 {
		cfg.CacheLife = 5 * time.Minute
	}
	cfg.Deferral = cfg.Deferral || base.Hostname() == "api.anthropic.com" && !old.MatchString(cfg.Model)
	if cfg.Transport == nil {
		cfg.Transport = model.Transport(model.TransportConfig{})
	}
	return &Model{cfg, anthropic.NewClient(cfg.options()...)}, nil
}

func (cfg Config) options() []option.RequestOption {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(cfg.BaseURL),
		option.WithMaxRetries(0), // the transport retries
		option.WithHTTPClient(&http.Client{
			Transport: cfg.Transport,
			// The key is for this server only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	for name, value := range cfg.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	return options
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: m.config.Name, Window: m.config.Window, CacheLife: max(m.config.CacheLife, 0), Deferral: m.config.Deferral}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		names := model.NewNames(req)
		stream := m.client.Messages.NewStreaming(ctx, m.request(req, names))
		defer func() { _ = stream.Close() }()
		a := answer{names: names}
		for !a.ended && stream.Next() {
			e := stream.Current()
			if text := a.take(&e); text != "" && !yield(model.Event{Text: text}, nil) {
				return
			}
		}
		if err := stream.Err(); err != nil || !a.ended {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			yield(model.Event{}, m.failure(ctx, err))
			return
		}
		for _, call := range a.wholeCalls() {
			if !yield(model.Event{Call: call}, nil) {
				return
			}
		}
		yield(model.Event{Stop: a.stop(), Usage: &a.usage}, nil)
	}
}
