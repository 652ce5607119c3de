package engine

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/secret"
)

// Handler serves the gateway over HTTP:
//
//	GET  /healthz              the process is up
//	GET  /readyz               it can answer: the store can be read
//	GET  /v1/models            the agents, as models
//	POST /v1/chat/completions  OpenAI's chat completions; "model" names the agent
//	POST /api/chat             a Message in, a line of JSON for each Event out
//	POST /api/select           a Question in, an Answer out
//	POST /api/why              a Look back in, the Turns out that it finds
//	GET  /api/status           what runs: agents, cache breaks, the rules in force, the configuration
//	GET  /api/tools            every tool, shadowed ones too
//	POST /api/tools/{name}     a Call of one tool in, its result out
//	POST /api/tools/{name}/judge  a Call in, what would become of it out
//	GET  /api/skills           the toolsets of an agent (?agent=) and which is active
//	PUT  /api/skills           make a toolset active: {"agent": "", "skill": ""}
//	GET  /api/agents           an AgentStatus for each agent
//	PUT  /api/agents/{name}    a Control in, the AgentStatus out
//	GET  /api/usage            what is kept of past turns (?agent= ?user= ?limit=)
//	DELETE /api/usage          forget it: ?user=, or ?everybody=true
//
// Requests from other sites' pages are refused, and so are those that address
// the gateway by a name that is not its own: a page in the user's browser can
// reach a loopback address, and must not talk to the agent.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", g.health)
	mux.HandleFunc("GET /readyz", g.ready)
	mux.HandleFunc("GET /v1/models", g.models)
	mux.HandleFunc("POST /v1/chat/completions", g.completions)
	mux.HandleFunc("POST /api/chat", g.chat)
	mux.HandleFunc("POST /api/select", g.selects)
	mux.HandleFunc("POST /api/why", g.why)
	mux.HandleFunc("GET /api/status", g.status)
	mux.HandleFunc("GET /api/tools", g.tools)
	mux.HandleFunc("POST /api/tools/{name}", g.call)
	mux.HandleFunc("POST /api/tools/{name}/judge", g.judge)
	mux.HandleFunc("GET /api/skills", g.skills)
	mux.HandleFunc("PUT /api/skills", g.setSkill)
	mux.HandleFunc("GET /api/agents", g.listAgents)
	mux.HandleFunc("PUT /api/agents/{name}", g.controlAgent)
	mux.HandleFunc("GET /api/usage", g.pastTurns)
	mux.HandleFunc("DELETE /api/usage", g.forget)
	return g.guard(mux)
}

// guard lets only those requests in that may come in.
func (g *Gateway) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	want := sha256.Sum256([]byte("Bearer " + g.config.Key))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		switch {
		case !g.ownHost(r.Host):
			problem(w, http.StatusMisdirectedRequest, fmt.Sprintf("this gateway does not go by the name %q; add it to api.hosts in etui.yaml", r.Host))
		case cross.Check(r) != nil:
			problem(w, http.StatusForbidden, "requests from other sites' pages are refused")
		case !open && g.config.Key != "" && subtle.ConstantTimeCompare(want[:], got[:]) != 1:
			problem(w, http.StatusUnauthorized, "a valid API key is needed as bearer token")
		default:
			// The longest message, as JSON escapes it, and the history with it.
			r.Body = http.MaxBytesReader(w, r.Body, int64(8*g.config.MaxMessage+8<<20))
			next.ServeHTTP(&answer{w, g.config.Turn.Secrets}, r)
		}
	})
}

// answer hides secrets in whatever is answered, errors and the state of skills among
// it: each piece of JSON is written at once.
type answer struct {
	http.ResponseWriter
	secrets *secret.Known
}

func (a *answer) Write(p []byte) (int, error) {
	if _, err := a.ResponseWriter.Write(a.secrets.Redactor().JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap lets [http.ResponseController] flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (g *Gateway) ownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return host == "" || host == "localhost" || net.ParseIP(host) != nil || slices.Contains(g.config.Hosts, host)
}

// Health is what /healthz and /readyz answer.
type Health struct {
	Status  string `json:"status"`
	Service string `json:"service"`
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools"`
	Error   string `json:"error,omitempty"`
}

func (g *Gateway) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, Health{Status: "ok", Service: "etui", Version: g.config.Version, Tools: g.Catalog().Len()})
}

func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	h := Health{Status: "ready", Service: "etui", Version: g.config.Version, Tools: g.Catalog().Len()}
	if _, err := g.config.Store.List(ctx, 1); err != nil {
		h.Status, h.Error = "not ready", "the store cannot be read"
		g.config.Log.ErrorContext(ctx, "not ready", "error", err)
		reply(w, http.StatusServiceUnavailable, h)
		return
	}
	reply(w, http.StatusOK, h)
}

// statuses says which HTTP status each kind of failure has.
var statuses = []struct {
	kind   error
	status int
}{
	{ErrTooLong, http.StatusRequestEntityTooLarge},
	{ErrEmpty, http.StatusBadRequest},
	{ErrBusy, http.StatusTooManyRequests},
	{ErrUnknown, http.StatusNotFound},
	{model.ErrTooLong, http.StatusRequestEntityTooLarge},
	{model.ErrRateLimited, http.StatusTooManyRequests},
	{model.ErrAuth, http.StatusBadGateway},
	{model.ErrRequest, http.StatusBadGateway},
	{model.ErrUnavailable, http.StatusBadGateway},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
}

func statusOf(err error) int {
	for _, s := range statuses {
		if errors.Is(err, s.kind) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// Problem is what a refused request is answered with, in OpenAI's form.
type Problem struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
	} `json:"error"`
}

func problem(w http.ResponseWriter, status int, message string) {
	var p Problem
	p.Error.Message, p.Error.Type = message, "invalid_request_error"
	if status >= http.StatusInternalServerError {
		p.Error.Type = "server_error"
	}
	reply(w, status, p)
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone cannot be told.
	_ = json.NewEncoder(w).Encode(value)
}

// read decodes a request's body, or answers why it cannot.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	err := d.Decode(into)
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		return true
	case errors.As(err, &tooLong):
		problem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d bytes", tooLong.Limit))
	default:
		problem(w, http.StatusBadRequest, "the request is not the JSON that is expected here: "+err.Error())
	}
	return false
}
