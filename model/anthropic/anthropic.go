// Package anthropic talks to Anthropic's messages API.
//
// Answers are always streamed. Cache breakpoints follow the tools, the system prompt
// and the two newest messages of the user, so that the next request reads everything
// but its own message from the provider's cache; the older of the two marks where the
// previous request wrote it. Only the breakpoints change within earlier messages, and
// they are not part of the cached content.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/model/schema"
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
	// KeyFrom says where the key comes from, for the error of one that is refused; empty says nothing.
	KeyFrom string
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
	// PDF reads the text of PDFs for a model that takes none; nil leaves the model with their names.
	PDF endpoint.ReadPDF
	// Headers are sent with every request. Their values are treated as secrets.
	Headers map[string]string
	// Verbatim leaves a call that the model writes as text what it is: a text. Otherwise an answer
	// that is nothing but a call of a tool becomes one.
	Verbatim bool
	// Retries is how often an answer is asked for again that broke off before its text; 0 means 2, a
	// negative number never. The Transport repeats requests that get no answer.
	Retries int
	// Log says what was adapted to the API; nil discards it.
	Log *slog.Logger
	// Transport sends the requests; nil means [model.Transport] with its defaults.
	Transport http.RoundTripper
}

// old matches the models that do not know defer_loading.
var old = regexp.MustCompile(`^claude-(instant|[123])`)

// Model is one of Anthropic's models. It is safe for concurrent use.
type Model struct {
	config   Config
	api      *endpoint.Endpoint
	formless atomic.Bool // it refused to be held to a schema
}

var _ model.Model = (*Model)(nil)

// New returns a model. It does not talk to the API yet.
func New(cfg Config) (*Model, error) {
	// Anthropic's own clients accept application/json for streams, too.
	header := http.Header{"Accept": {"application/json"}, "Anthropic-Version": {"2023-06-01"}}
	if cfg.APIKey != "" {
		header.Set("X-Api-Key", cfg.APIKey)
	}
	dialect, _ := schema.ByName("anthropic")
	api, err := endpoint.New(endpoint.Config{
		Adapter: "anthropic", Model: cfg.Model, Name: cfg.Name,
		BaseURL: cmp.Or(cfg.BaseURL, "https://api.anthropic.com"),
		Header:  header, Key: cfg.APIKey, KeyFrom: cfg.KeyFrom, Headers: cfg.Headers, Transport: cfg.Transport,
		Refusal: refusal,
		Dialect: dialect, Verbatim: cfg.Verbatim, Retries: cfg.Retries, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, 8192)
	cfg.CacheLife = cmp.Or(cfg.CacheLife, 5*time.Minute)
	cfg.Price.CacheWrite = cmp.Or(cfg.Price.CacheWrite, 1.25)
	cfg.Deferral = cfg.Deferral || api.URL().Hostname() == "api.anthropic.com" && !old.MatchString(cfg.Model)
	return &Model{config: cfg, api: api}, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{
		Name: m.api.Name(), Window: m.config.Window, Answer: m.config.MaxTokens, CacheLife: max(m.config.CacheLife, 0),
		Deferral: m.config.Deferral, Price: m.config.Price,
	}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return m.api.Stream(ctx, req, m.ask, new(reader).read)
}

// ask sends the request and returns the body of the answer.
func (m *Model) ask(ctx context.Context, req model.Request, names endpoint.Declarations) (io.ReadCloser, error) {
	if req.Seed != nil {
		return nil, model.Refuse(m.api.Name(), "seed")
	}
	if m.config.Blind {
		req = m.config.PDF.Texts(ctx, req, m.config.Window)
	}
	raw, native, err := m.request(req, names)
	if err != nil {
		return nil, err
	}
	body, err := m.api.Post(ctx, "v1/messages", raw)
	if native && m.knowsNoFormat(err) {
		if raw, _, err = m.request(req, names); err == nil {
			body, err = m.api.Post(ctx, "v1/messages", raw)
		}
	}
	return body, err
}

// Models returns the names of the models that the API lists, the newest first.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	return m.api.Models(ctx, "v1/models", "something answers, but not with a list of models as Anthropic's API does")
}

// Check reports whether the API can be reached, takes the key and knows the model. It
// asks no model, so it costs nothing. The text describes what it found.
func (m *Model) Check(ctx context.Context) (says string, err error) {
	var info struct{}
	err = m.api.Get(ctx, "v1/models/"+url.PathEscape(m.config.Model), &info,
		"something answers, but not about the model as Anthropic's API does")
	switch {
	case errors.Is(err, model.ErrNoModel):
		if names, err := m.Models(ctx); err == nil && len(names) > 0 {
			return endpoint.Offers(names, m.config.Model)
		}
		return fmt.Sprintf("the server answers, but does not know the model %s", m.config.Model), nil
	case err != nil:
		return "", err
	}
	return "the server answers and has the model", nil
}
