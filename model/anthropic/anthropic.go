// Package anthropic talks to Anthropic's messages API.
//
// Answers are always streamed. Cache breakpoints follow the tools, the system prompt
// and the two newest messages of the user, so that the next request reads everything
// but its own message from the provider's cache; the older of the two marks where the
// previous request wrote it. Only the breakpoints change within earlier messages, and
// they are not part of the cached content.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/sse"
	"github.com/etui-run/etui/model"
)

// Config names a model. Only Model is required.
type Config struct {
	// Model is Anthropic's name for the model. Required.
	Model string
	// Name is the model's name in logs and errors; empty means "anthropic/" and
	// Model.
	Name string
	// BaseURL is the API's address without the version; empty means
	// https://api.anthropic.com.
	BaseURL string
	// APIKey is sent as x-api-key; empty sends none.
	APIKey string
	// Window is the maximum number of tokens of a request and its answer together; 0
	// means unknown.
	Window int
	// CacheLife is how long the provider caches the beginning of a request; 0 means
	// five minutes, the API's default, and a negative value means no cache.
	CacheLife time.Duration
	// Price is what its tokens cost; zero means unknown, but that writing to the cache costs
	// a quarter more.
	Price model.Price
	// Deferral reports whether the model accepts tools with defer_loading. It is
	// implied for Anthropic's own API with models of the fourth generation and later.
	Deferral bool
	// MaxTokens limits answers to requests without a limit; 0 means 8192, because the
	// API requires one.
	MaxTokens int
	// Blind says that the model takes neither pictures nor PDFs: it reads about them
	// instead.
	Blind bool
	// Headers are sent with every request. Their values are treated as secrets.
	Headers map[string]string
	// Transport sends the requests; nil means [model.Transport] with its defaults.
	Transport http.RoundTripper
}

const (
	defaultBaseURL   = "https://api.anthropic.com"
	defaultMaxTokens = 8192
	// version is the version of the API.
	version = "2023-06-01"
	// maxRefusal limits how much of an error response is read.
	maxRefusal = 64 << 10
)

// old matches the models that do not know defer_loading.
var old = regexp.MustCompile(`^claude-(instant|[123])`)

// Model is one of Anthropic's models. It is safe for concurrent use.
type Model struct {
	config Config
	base   *url.URL
	client *http.Client
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
	cfg.Price.CacheWrite = cmp.Or(cfg.Price.CacheWrite, 1.25)
	cfg.Deferral = cfg.Deferral || base.Hostname() == "api.anthropic.com" && !old.MatchString(cfg.Model)
	return &Model{cfg, base, model.Client(cfg.Transport)}, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: m.config.Name, Window: m.config.Window, Answer: m.config.MaxTokens, CacheLife: max(m.config.CacheLife, 0), Deferral: m.config.Deferral, Price: m.config.Price}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if name := unknown(req.Settings); name != "" {
			yield(model.Event{}, model.Refuse(m.config.Name, name))
			return
		}
		names := model.NewNames(req)
		body, err := m.ask(ctx, req, names)
		if err != nil {
			yield(model.Event{}, m.failure(ctx, err))
			return
		}
		defer body.Close()
		a := answer{names: names}
		for text, err := range a.read(body) {
			if err != nil {
				yield(model.Event{}, m.failure(ctx, err))
				return
			}
			if !yield(model.Event{Text: text}, nil) {
				return
			}
		}
		sse.Drain(body, cancel)
		for _, call := range a.wholeCalls() {
			if !yield(model.Event{Call: call}, nil) {
				return
			}
		}
		yield(model.Event{Stop: a.stop(), Usage: &a.usage}, nil)
	}
}

// ask sends the request and returns the body of the answer.
func (m *Model) ask(ctx context.Context, req model.Request, names model.Names) (io.ReadCloser, error) {
	raw, err := m.request(req, names)
	if err != nil {
		return nil, err
	}
	return m.send(ctx, http.MethodPost, "v1/messages", raw)
}

// send sends a request with the key, and returns the body of the answer. A nil raw
// sends no body.
func (m *Model) send(ctx context.Context, method, path string, raw []byte) (io.ReadCloser, error) {
	asked, err := http.NewRequestWithContext(ctx, method, m.base.JoinPath(path).String(), bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Accept", "application/json") // Anthropic's own clients send it for streams, too
	asked.Header.Set("Anthropic-Version", version)
	if raw != nil {
		asked.Header.Set("Content-Type", "application/json")
	}
	if m.config.APIKey != "" {
		asked.Header.Set("X-Api-Key", m.config.APIKey)
	}
	for name, value := range m.config.Headers {
		asked.Header.Set(name, value)
	}
	resp, err := m.client.Do(asked)
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
	wait, _ := model.RetryAfter(resp, time.Now())
	return nil, &refusal{resp.StatusCode, said, wait}
}
