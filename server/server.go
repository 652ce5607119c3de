// Package server serves an engine over HTTP: OpenAI's chat completions, etui's
// own API for clients, and the administration of skills for operators, each from
// a package below this one.
//
// The table in routes.go names every route with who may use it; the guard
// enforces it. Requests from other sites' pages are refused, and so are requests
// that address the server by a name that is not its own: a page in the user's
// browser can reach a loopback address and must not talk to the agent. No answer
// contains a secret that the engine knows.
package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/health"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/server/a2a"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/agui"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/mcp"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/responses"
	"github.com/etui-run/etui/server/token"
	"github.com/etui-run/etui/server/wire"
)

// Config is what the server adds to the engine. The zero value works: without a
// key, for programs on this machine and clients that use an IP address.
type Config struct {
	// Key, when not empty, is an operator's key, which may also speak for others.
	// Clients present it, or one of Keys, as a bearer token.
	Key string
	// Local, when not empty, is one more key of operators, for commands on this machine.
	Local string
	// Keys are the other keys; nil means none. While there are some and Key is empty,
	// only programs on this machine need no key: they are operators.
	Keys *identity.Keys
	// Tokens verifies access tokens; nil means that there are none. The user with the identity
	// oauth:SUBJECT comes in with one. While there are tokens, clients need a key or a token.
	Tokens *token.Verifier
	// URL is the address by which clients reach the server, as in https://etui.example.com. Only
	// tokens need it.
	URL string
	// Users returns the people to whom keys belong; nil means none.
	Users func() *identity.Users
	// Hosts are names under which clients may address the server, beside localhost
	// and IP addresses.
	Hosts []string
	// Origins are the sites whose pages may use the routes of [Person], always with a key, as browsers
	// send them: https://app.example.com. Pages of other sites are refused.
	Origins []string
	// A2A are the agents that other agents can reach by the A2A protocol, with what they are for; none
	// means that it is off. AGUI switches the AG-UI protocol on.
	A2A  map[string]string
	AGUI bool
	// Models are further names of agents for clients that ask for a model, by these names.
	Models map[string]string
	// Embeddings passes requests for vectors on; nil means that they are refused.
	Embeddings *openai.Embeddings
	// Status is what the server reports beside the status of the engine.
	Status api.Config
	// Skills is what operators see and change. Its Log is set from this Config's.
	Skills admin.Config
	// Eraser removes what is kept of people; nil means that requests for that are refused.
	Eraser *erase.Eraser
	// Channels are where people talk; nil means nowhere. The caller runs them.
	Channels *channel.Host
	// Logins serves [oauth.BackPath] and [oauth.DocumentPath]; nil means that nobody logs in to
	// MCP servers.
	Logins http.Handler
	// Console lets people sign in to the console from other machines; its zero value lets nobody in there.
	Console Elsewhere
	// File is the configuration, which owners edit in the console; nil means that there is none.
	File *console.File
	// Preview says what another text of File would have meant for past turns; nil means that it cannot
	// be said.
	Preview func(ctx context.Context, text string, past []inspect.PastTurn) (preview.Result, error)
	// Log receives what operators should know; nil discards.
	Log *slog.Logger
}

// Gateway is what Handler serves; *etui.Gateway is one.
type Gateway interface {
	Engine() *engine.Engine
	Channels() *channel.Host
	Eraser() *erase.Eraser
}

// Handler returns the HTTP API of a gateway, with the webhooks of its channels, for programs on
// this machine. New takes keys for others.
func Handler(g Gateway) http.Handler {
	return New(g.Engine(), Config{Channels: g.Channels(), Eraser: g.Eraser()})
}

// Server is the HTTP handler of all routes. It is safe for concurrent use.
type Server struct {
	engine *engine.Engine
	config Config
	routes []Route
	all    http.Handler
	wrong  wrongKeys
	// console keeps which browsers operators signed in.
	console  *console.Console
	entrance *entrance
	editor   editor
	larges   larges
	trial    trial
}

// New returns a server for an engine.
func New(e *engine.Engine, cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Keys == nil {
		cfg.Keys = &identity.Keys{}
	}
	cfg.Skills.Log = cfg.Log
	if cfg.Logins == nil {
		cfg.Logins = http.NotFoundHandler()
	}
	if cfg.Channels == nil {
		cfg.Channels, _ = channel.New(channel.Config{Engine: e}) // without accounts nothing can be wrong
	}
	s := &Server{engine: e, config: cfg, console: console.New(nil), editor: editor{cfg.File, cfg.Log}}
	if cfg.File != nil {
		s.console.Schema = cfg.File.Schema
	}
	s.console.Public, s.console.Counts = cfg.Console.URL, s.operates
	s.entrance = &entrance{s.console, cfg.Console, s}
	models := wire.NewModels(e, cfg.Models)
	s.routes = table(s, doors{
		openai.New(e, models), anthropic.New(e, models), responses.New(e, models),
		mcp.New(e, cfg.Status.Version, cfg.Log),
		a2a.New(e, a2a.Config{
			Agents: cfg.A2A, URL: cfg.URL, Version: cfg.Status.Version, Log: cfg.Log,
			Keyed: func() bool { return cfg.Key != "" || s.needed() },
		}),
		agui.New(e, cfg.AGUI),
	},
		api.New(e, cfg.Status), admin.New(cfg.Skills))
	s.all = s.serve(func(Access) bool { return true })
	return s
}

// ServeHTTP implements [http.Handler] with all routes.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.all.ServeHTTP(w, r) }

// Public returns a handler without the routes of operators, for an address that
// other machines can reach. Those exist there for people who signed in to the console at its public
// address, and for nobody else.
func (s *Server) Public() http.Handler {
	public := s.serve(func(a Access) bool { return a != Operator })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, signedIn := s.console.Who(r); signedIn && presented(r) == "" && s.console.Elsewhere(r) {
			s.all.ServeHTTP(w, r)
			return
		}
		public.ServeHTTP(w, r)
	})
}

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status  string `json:"status"`
	Service string `json:"service"`
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools"`
	Error   string `json:"error,omitempty"`
}

func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	wire.Reply(w, http.StatusOK, s.health("ok"))
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if refused := s.engine.Refusals(ctx); len(refused) > 0 { // the log has said it
		h := s.health(cmp.Or(map[string]string{health.Stopping: "stopping", health.Busy: "busy"}[refused[0].Name],
			"not ready"))
		h.Error = map[string]string{health.Store: "the store cannot be read or written",
			health.Busy: "too many messages run or wait"}[refused[0].Name]
		wire.Reply(w, http.StatusServiceUnavailable, h)
		return
	}
	if name := r.URL.Query().Get("channel"); name != "" && !s.config.Channels.Up(name) {
		h := s.health("not ready")
		h.Error = "this channel does not run in this etui"
		wire.Reply(w, http.StatusServiceUnavailable, h)
		return
	}
	wire.Reply(w, http.StatusOK, s.health("ready"))
}

// metrics answers in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if s.engine.Metrics(r.Context(), w) == nil { // the client may have gone
		_ = s.config.Channels.Metrics(w)
	}
}

func (s *Server) health(status string) Health {
	return Health{Status: status, Service: "etui", Version: s.config.Status.Version, Tools: s.engine.Catalog().Len()}
}
