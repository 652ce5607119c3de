// Package openai talks to servers that implement OpenAI's chat completions: OpenAI
// itself and compatible servers such as llama.cpp, vLLM, Ollama or a gateway.
//
// Answers are always streamed. The package understands servers that leave out parts of
// the protocol: no call IDs, no indexes, no usage, no [DONE], a whole answer in one
// piece, errors of their own form. That is why it implements the protocol with the
// standard library alone: a client library knows OpenAI's own models and streams, and
// misreads the others.
//
// Consecutive requests of a conversation begin with the same bytes: definitions depend
// on the tool and the server alone, and the conversation comes last.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/model/schema"
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
	// KeyFrom says where the key comes from, for the error of one that is refused; empty says nothing.
	KeyFrom string
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
	// instead. A server that refuses pictures is asked again without them in any case.
	Blind bool
	// PDF reads the text of PDFs for a model that takes none; nil leaves the model with their names.
	PDF endpoint.ReadPDF
	// Headers are sent with every request. Their values are treated as secrets.
	Headers map[string]string
	// Schemas names the [schema.Dialect] in which tools are declared; empty means that of the server
	// and the model, as far as they are known.
	Schemas string
	// Verbatim leaves a call that the model writes as text what it is: a text. Otherwise an answer
	// that is nothing but a call of a tool becomes one.
	Verbatim bool
	// Retries is how often an answer is asked for again that broke off before its text; 0 means 2, a
	// negative number never. The Transport repeats requests that get no answer.
	Retries int
	// Log says what was adapted to the server; nil discards it.
	Log *slog.Logger
	// Transport sends the requests; nil means [model.Transport] with its defaults.
	Transport http.RoundTripper
}

// Model is a model on a server. It is safe for concurrent use.
type Model struct {
	config Config
	server *endpoint.Endpoint

	gemini bool // calls of others need a signature
	// What the server has turned out to want or to refuse.
	shortIDs, reasoning, blind, noOptions, otherLimit atomic.Bool
}

var _ model.Model = (*Model)(nil)

// New returns a model. It does not talk to the server yet.
func New(cfg Config) (*Model, error) {
	cfg.BaseURL = cmp.Or(cfg.BaseURL, "https://api.openai.com/v1")
	cfg.CacheLife = cmp.Or(cfg.CacheLife, time.Hour)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	m := &Model{config: cfg}
	dialect, err := dialectOf(cfg)
	if err != nil {
		return nil, err
	}
	m.gemini = dialect.String() == "gemini"
	m.shortIDs.Store(mistral.MatchString(cfg.BaseURL + " " + cfg.Model))
	m.server, err = endpoint.New(endpoint.Config{
		Adapter: "openai", Model: cfg.Model, Name: cfg.Name, BaseURL: cfg.BaseURL, Header: header, Key: cfg.APIKey,
		KeyFrom: cfg.KeyFrom,
		Headers: cfg.Headers, Transport: cfg.Transport, Refusal: m.refusal, Failed: refused,
		Dialect: dialect, Verbatim: cfg.Verbatim, Retries: cfg.Retries, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// dialectOf returns the dialect of the server's schemas.
func dialectOf(cfg Config) (schema.Dialect, error) {
	if cfg.Schemas != "" {
		d, ok := schema.ByName(cfg.Schemas)
		if !ok {
			return d, fmt.Errorf("openai: there are no schemas %q; they are %s", cfg.Schemas,
				strings.Join(schema.Names(), ", "))
		}
		return d, nil
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return schema.Dialect{}, nil //nolint:nilerr // the server is refused later, with the address
	}
	return schema.Of(base.Hostname(), cfg.Model), nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{
		Name: m.server.Name(), Window: m.config.Window, Answer: m.config.MaxTokens,
		CacheLife: max(m.config.CacheLife, 0),
		Price:     m.config.Price,
	}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		notice := ""
		ask := func(ctx context.Context, req model.Request, tools endpoint.Declarations) (body io.ReadCloser,
			err error) {
			body, notice, err = m.ask(ctx, req, tools)
			return body, err
		}
		for e, err := range m.server.Stream(ctx, req, ask, m.read) {
			if e.Text != "" && notice != "" {
				e.Text, notice = notice+"\n\n"+e.Text, ""
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// ask sends the request and returns the body of the answer. A server that refuses a part of the request
// that it can do without is asked again without it. The notice tells the person of files that the
// server has refused.
func (m *Model) ask(
	ctx context.Context, req model.Request, tools endpoint.Declarations,
) (body io.ReadCloser, notice string, err error) {
	if m.config.Blind {
		req, _ = m.textual(ctx, withoutImages)(req)
	}
	whole := req
	if m.blind.Load() {
		req, _ = m.textual(ctx, withoutImages)(req)
	}
	body, err = m.post(ctx, req, tools)
	for _, w := range wants {
		if err != nil && w.asked(err) && !w.of(m).Swap(true) {
			m.warn(ctx, "the server asks for another form of the conversation; it gets it from now on", err)
			body, err = m.post(ctx, req, tools)
		}
	}
	fewer := []func(model.Request) (model.Request, bool){
		without(endpoint.Sound), m.textual(ctx, without(pdf)), m.textual(ctx, withoutImages),
	}
	for _, less := range fewer {
		if !ofContent(err) {
			break
		}
		if told, had := less(req); had {
			refused := err
			if body, err = m.post(ctx, told, tools); err == nil {
				req = told
				if ofPictures(refused) && len(pictures(told)) == 0 && hasPictures(whole) && !m.blind.Swap(true) {
					m.warn(ctx, "the model takes no pictures; it reads about them from now on", refused)
				}
			}
		}
	}
	if !slices.ContainsFunc(pictures(req), pdf) {
		whole = m.config.PDF.Texts(ctx, whole, m.config.Window) // the person misses none that has become text
	}
	return body, missing(whole, req), err
}

// textual returns less for a model that reads the text of the PDFs that less takes away.
func (m *Model) textual(
	ctx context.Context, less func(model.Request) (model.Request, bool),
) func(model.Request) (model.Request, bool) {
	return func(req model.Request) (told model.Request, had bool) {
		if told, had = less(req); had {
			told, _ = less(m.config.PDF.Texts(ctx, req, m.config.Window))
		}
		return told, had
	}
}

// warn says what follows from a refusal.
func (m *Model) warn(ctx context.Context, says string, refused error) {
	about := []any{slog.String("model", m.server.Name()), slog.Any("error", m.server.Describe(ctx, refused))}
	m.config.Log.WarnContext(ctx, says, about...) //nolint:sloglint // the messages of its callers are constant
}

func (m *Model) post(ctx context.Context, req model.Request, names endpoint.Declarations) (io.ReadCloser, error) {
	raw, err := m.request(req, names)
	if err != nil {
		return nil, err
	}
	return m.server.Post(ctx, "chat/completions", raw)
}
