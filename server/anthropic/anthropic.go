// Package anthropic speaks Anthropic's messages API, so that any client of that API can talk to an
// agent: the model's name is the agent's. The agent runs its own tools, and calls of tools that the
// client brings are handed to the client.
//
// A conversation is what the client sends, unless the header X-Etui-Session names a stored one. The
// headers X-Etui-… describe the message as in package openai.
package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/server/wire"
)

// API has a handler for each request.
type API struct {
	engine *engine.Engine
	models *wire.Models
}

// New returns the API of an engine, whose agents are models.
func New(e *engine.Engine, models *wire.Models) *API { return &API{e, models} }

// Asks reports whether a request is one of Anthropic's API.
func Asks(r *http.Request) bool {
	return r.Header.Get("Anthropic-Version") != "" || strings.HasPrefix(r.URL.Path, "/v1/messages")
}

// request is the part of Anthropic's request that an agent can use.
type request struct {
	Model       string          `json:"model"`
	System      blocks          `json:"system"`
	Messages    []clientMessage `json:"messages"`
	MaxTokens   int             `json:"max_tokens"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	Stop        []string        `json:"stop_sequences"`
	Stream      bool            `json:"stream"`
	Tools       []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Choice struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Serial bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking *thinking `json:"thinking"`
	Output   struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// thinking says whether and how the model thinks before it answers.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

// thinks reports whether the client wants to read what the model thinks.
func (c request) thinks() bool { return c.Thinking != nil && c.Thinking.Type != "disabled" }

// billing begins a text that Claude Code puts before the instructions, and that differs each time.
const billing = "x-anthropic-billing-header:"

// message turns the request into a message of the engine.
func (c request) message(r *http.Request, secrets secret.Redactor) (engine.Message, error) {
	var m engine.Message
	if err := c.offer(&m.Offer); err != nil {
		return m, err
	}
	if err := wire.Sender(r, &m); err != nil {
		return m, err
	}
	m.Settings = model.Settings{MaxTokens: c.MaxTokens, Temperature: c.Temperature, TopP: c.TopP, Stop: c.Stop}
	if c.Thinking != nil {
		m.Settings.Thinking, _ = json.Marshal(c.Thinking) // texts and a number
	}
	if f := c.Output.Format; f != nil && f.Type == "json_schema" {
		m.Settings.Format, _ = json.Marshal(map[string]any{ // it was read from JSON
			"type": f.Type, "json_schema": map[string]any{"name": "answer", "schema": f.Schema},
		})
	}
	var instructions []string
	for _, b := range c.System {
		if text := strings.TrimSpace(b.Text); text != "" && !strings.HasPrefix(text, billing) {
			instructions = append(instructions, text)
		}
	}
	history, err := c.read(&instructions)
	if err != nil {
		return m, err
	}
	for i, said := range history {
		if secrets.Text(string(said.State)) != string(said.State) {
			history[i].State = nil // its signature holds for the whole text alone
		}
	}
	m.Instructions = strings.Join(instructions, "\n\n")
	return m, wire.Complete(&m, history)
}

// offer reads the tools. Those with a type of Anthropic's own are skipped: the agent has its own.
func (c request) offer(into *clienttool.Offer) error {
	for _, t := range c.Tools {
		if t.Type == "" || t.Type == "custom" {
			into.Tools = append(into.Tools,
				clienttool.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema})
		}
	}
	if len(into.Tools) == 0 {
		return nil
	}
	into.Serial = c.Choice.Serial
	switch c.Choice.Type {
	case "", "auto":
	case "none":
		into.None = true
	case "any":
		into.Required = true
	case "tool":
		into.Only = c.Choice.Name
	default:
		return invalid("tool_choice: the type %q is not auto, any, tool or none", c.Choice.Type)
	}
	if err := into.Check(); err != nil {
		return invalid("tools: %v", err)
	}
	return nil
}

// asked reads a request. It answers itself, and returns false, when the request is refused.
func (a *API) asked(w http.ResponseWriter, r *http.Request) (c request, m engine.Message, ok bool) {
	if !wire.ReadForeign(w, r, &c) {
		return c, m, false
	}
	m, err := c.message(r, a.engine.Agents().Secrets().Redactor())
	if err == nil {
		m.Agent, err = a.models.Agent(c.Model)
	}
	if err != nil {
		wire.Fail(w, err)
	}
	return c, m, err == nil
}

// Messages runs a turn and answers with its reply, whole or streamed.
func (a *API) Messages(w http.ResponseWriter, r *http.Request) {
	w = &errorWriter{w}
	c, m, ok := a.asked(w, r)
	if !ok {
		return
	}
	if err := a.models.Pictures.Fetch(r.Context(), &m); err != nil {
		wire.Fail(w, err)
		return
	}
	out := newWriter(w, c)
	defer out.close()
	wire.Run(r, a.engine, m, out)
}

// CountTokens answers with about how many tokens a request has.
func (a *API) CountTokens(w http.ResponseWriter, r *http.Request) {
	w = &errorWriter{w}
	_, m, ok := a.asked(w, r)
	if !ok {
		return
	}
	asked := chat.Message{Role: chat.User, Text: m.Text, Note: m.Instructions, Files: m.Files}
	n := prompt.Size(append(m.History, asked)...)
	for _, t := range m.Offer.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	wire.Reply(w, http.StatusOK, struct {
		InputTokens int `json:"input_tokens"`
	}{n/prompt.BytesPerToken + 1})
}

// entry is an agent as a model.
type entry struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Name    string    `json:"display_name"`
	Created time.Time `json:"created_at"`
}

func (a *API) entry(name string) entry {
	return entry{"model", name, name, a.models.Created.UTC().Truncate(time.Second)}
}

// Model answers with one agent, {id} in the path, as Anthropic's API answers with a model.
func (a *API) Model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	if _, err := a.models.Agent(name); err != nil {
		wire.Fail(&errorWriter{w}, err)
		return
	}
	wire.Reply(w, http.StatusOK, a.entry(name))
}

// Models lists the agents as Anthropic's API lists models.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Data  []entry `json:"data"`
		More  bool    `json:"has_more"`
		First string  `json:"first_id"`
		Last  string  `json:"last_id"`
	}{}
	for _, name := range a.models.Names() {
		list.Data = append(list.Data, a.entry(name))
	}
	list.First, list.Last = list.Data[0].ID, list.Data[len(list.Data)-1].ID
	wire.Reply(w, http.StatusOK, list)
}

// errorWriter writes refusals in the form of Anthropic's API.
type errorWriter struct{ http.ResponseWriter }

// Unwrap lets [http.ResponseController] flush.
func (s *errorWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Whole implements [wire.Whole].
func (s *errorWriter) Whole() bool {
	to, ok := s.ResponseWriter.(wire.Whole)
	return !ok || to.Whole()
}

// Shape implements [wire.Shaper].
func (s *errorWriter) Shape(status int, p wire.Problem) any { return Problem(status, p) }

// problem is how Anthropic's API refuses a request.
type problem struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// kinds are the types of errors by status.
var kinds = map[int]string{
	http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error",
	http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
	http.StatusServiceUnavailable: "overloaded_error", http.StatusGatewayTimeout: "timeout_error",
}

// Problem returns a refusal in the form of Anthropic's API.
func Problem(status int, p wire.Problem) any {
	out := problem{Type: "error"}
	out.Error.Type, out.Error.Message = kinds[status], p.Error.Message
	switch {
	case p.Error.Code == "context_length_exceeded": // clients shorten the conversation at these words
		out.Error.Message = "prompt is too long: " + out.Error.Message
	case out.Error.Type == "" && status >= http.StatusInternalServerError:
		out.Error.Type = "api_error"
	case out.Error.Type == "":
		out.Error.Type = "invalid_request_error"
	}
	return out
}
