// Package openai talks to servers that implement OpenAI's chat completions: OpenAI
// itself and compatible servers such as llama.cpp, vLLM, Ollama or a gateway.
//
// Answers are always streamed. The package understands servers that leave out parts of
// the protocol: no call IDs, no indexes, no usage, no [DONE], a whole answer in one
// piece, errors of their own form. That is why it implements the protocol with the
// standard library alone: a client library knows OpenAI's own models and streams, and
// misreads the others.
//
// Consecutive requests of a conversation begin with the same bytes: definitions are
// sent exactly as [tool.Definition] gives them, and the conversation comes last.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/sse"
	"github.com/etui-run/etui/model"
)

// Config names a model and its server. Only Model is required.
type Config struct {
	// Model is the server's name for the model. Required.
	Model string
	// Name is the model's name in logs and errors; empty means "openai/" and Model.
	Name string
	// BaseURL is the server's address up to and including the version; empty means
	// https://api.openai.com/v1.
	BaseURL string
	// APIKey is sent as a bearer token; empty sends none, as many local servers
	// expect.
	APIKey string
	// Window is the maximum number of tokens of a request and its answer together; 0
	// means unknown.
	Window int
	// CacheLife is how long the server caches the beginning of a request; 0 means one
	// hour, OpenAI's maximum, and a negative value means no cache.
	CacheLife time.Duration
	// Price is what its tokens cost; the zero value is unknown.
	Price model.Price
	// MaxTokens limits answers to requests without a limit; 0 leaves it to the server.
	MaxTokens int
	// Blind says that the model takes neither pictures nor PDFs: it reads about them
	// instead. A
	// server that refuses pictures is asked again without them in any case.
	Blind bool
	// Headers are sent with every request. Their values are treated as secrets.
	Headers map[string]string
	// Transport sends the requests; nil means [model.Transport] with its defaults.
	Transport http.RoundTripper
}

const (
	defaultBaseURL = "https://api.openai.com/v1"
	// maxRefusal limits how much of an error response is read.
	maxRefusal = 64 << 10
)

// Model is a model on a server. It is safe for concurrent use.
type Model struct {
	config Config
	base   *url.URL
	client *http.Client
}

var _ model.Model = (*Model)(nil)

// New returns a model. It does not talk to the server yet.
func New(cfg Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, errors.New("openai: the model's name is missing")
	}
	if cfg.Name == "" {
		cfg.Name = "openai/" + cfg.Model
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultBaseURL
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("openai: the base URL of %s is not one of http or https", cfg.Name)
	}
	if cfg.CacheLife == 0 {
		cfg.CacheLife = time.Hour
	}
	return &Model{cfg, base, model.Client(cfg.Transport)}, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: m.config.Name, Window: m.config.Window, Answer: m.config.MaxTokens, CacheLife: max(m.config.CacheLife, 0), Price: m.config.Price}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if m.config.Blind {
			req, _ = withoutImages(req)
		}
		body, err := m.ask(ctx, req)
		for _, without := range []func(model.Request) (model.Request, bool){withoutPDFs, withoutImages} {
			if refused := (*refusal)(nil); !errors.As(err, &refused) || !refused.ofContent() {
				break
			}
			if less, had := without(req); had {
				body, err = m.ask(ctx, less)
			}
		}
		if err != nil {
			yield(model.Event{}, m.failure(ctx, err))
			return
		}
		defer body.Close()
		a := newAnswer(req)
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
		yield(model.Event{Stop: a.stop(), Usage: a.usage}, nil)
	}
}

// ask sends the request and returns the body of the answer.
func (m *Model) ask(ctx context.Context, req model.Request) (io.ReadCloser, error) {
	raw, err := m.request(req)
	if err != nil {
		return nil, err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base.JoinPath("chat/completions").String(), bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Content-Type", "application/json")
	asked.Header.Set("Accept", "text/event-stream")
	return m.send(asked)
}

// send sends a request with the key, and returns the body of the answer.
func (m *Model) send(asked *http.Request) (io.ReadCloser, error) {
	if m.config.APIKey != "" {
		asked.Header.Set("Authorization", "Bearer "+m.config.APIKey)
	}
	for name, value := range m.config.Headers {
		asked.Header.Set(name, value)
	}
	resp, err := m.client.Do(asked)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the status is enough
		if len(bytes.TrimSpace(said)) == 0 {
			said = []byte(strings.TrimSpace(http.StatusText(resp.StatusCode) + " " + resp.Header.Get("Location")))
		}
		wait, _ := model.RetryAfter(resp, time.Now())
		return nil, &refusal{resp.StatusCode, said, wait}
	}
	return resp.Body, nil
}
