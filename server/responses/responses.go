// Package responses speaks OpenAI's Responses API, so that any client of that API can talk to an
// agent: the model's name is the agent's. The agent runs its own tools, and calls of functions and
// custom tools that the client brings are handed to the client.
//
// With store, a request whose input is one message begins a conversation that etui keeps, and
// previous_response_id goes on with it; conversation names one. Any other input is the whole
// conversation, and the client keeps it.
package responses

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// API has a handler for each request.
type API struct {
	engine  *engine.Engine
	models  *wire.Models
	runs    runs
	process string // a name for this process
	seal    seal
}

// New returns the API of an engine, whose agents are models.
func New(e *engine.Engine, models *wire.Models) *API {
	return &API{
		engine: e, models: models, runs: runs{of: map[session.Key]*run{}},
		process: rand.Text(), seal: newSeal(),
	}
}

// request is the part of OpenAI's request that an agent can use.
type request struct {
	Model        string          `json:"model"`
	Input        input           `json:"input"`
	Instructions *string         `json:"instructions"`
	Previous     *string         `json:"previous_response_id"`
	Conversation conversation    `json:"conversation"`
	Store        *bool           `json:"store"`
	Stream       bool            `json:"stream"`
	Background   bool            `json:"background"`
	MaxTokens    *int            `json:"max_output_tokens"`
	Temperature  *float64        `json:"temperature"`
	TopP         *float64        `json:"top_p"`
	Metadata     json.RawMessage `json:"metadata"`
	Include      []string        `json:"include"`
	User         string          `json:"user"`
	Text         struct {
		Format json.RawMessage `json:"format"`
	} `json:"text"`
	toolset

	begins bool // a conversation that etui keeps
}

// conversation is a name, alone or in an object.
type conversation struct {
	ID string `json:"id"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *conversation) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.ID) == nil {
		return nil
	}
	var object struct {
		ID string `json:"id"`
	}
	err := json.Unmarshal(raw, &object)
	c.ID = object.ID
	return err
}

// Converse begins a conversation that etui keeps: it is a name for the requests to come.
func (a *API) Converse(w http.ResponseWriter, r *http.Request) {
	var c struct {
		Items    []json.RawMessage `json:"items"`
		Metadata json.RawMessage   `json:"metadata"`
	}
	if !wire.ReadForeign(w, r, &c) {
		return
	}
	if len(c.Items) > 0 {
		wire.RefuseField(w, http.StatusBadRequest, "unsupported_parameter", "items",
			"a conversation begins empty here: send the items with the first response")
		return
	}
	if len(c.Metadata) == 0 {
		c.Metadata = json.RawMessage("{}")
	}
	wire.Reply(w, http.StatusOK, struct {
		ID       string          `json:"id"`
		Object   string          `json:"object"`
		Created  int64           `json:"created_at"`
		Metadata json.RawMessage `json:"metadata"`
	}{"conv_" + rand.Text(), "conversation", a.engine.Now().Unix(), c.Metadata})
}

// refusal says which field of a request cannot be used.
type refusal struct{ field, code, says string }

func (r *refusal) Error() string { return r.says }

func refuse(field, format string, args ...any) error {
	return &refusal{field, "invalid_request", fmt.Sprintf(format, args...)}
}

const (
	idPrefix    = "resp_"
	tokenLength = 16
)

// tokenOf returns the part of a response's ID that names its conversation; empty if it is none.
func tokenOf(id string) string {
	if rest, ok := strings.CutPrefix(id, idPrefix); ok && len(rest) > tokenLength {
		return rest[:tokenLength]
	}
	return ""
}

// keeps reports whether the response is stored.
func (c *request) keeps() bool { return c.Store == nil || *c.Store }

// message turns the request into a message of the engine. The token names the conversation that etui
// keeps; empty if the client does.
func (c *request) message(r *http.Request, s seal) (m engine.Message, token string, err error) {
	if c.Background && !c.keeps() {
		return m, "", refuse("background", "background needs store: leave store out, or set it to true")
	}
	if err := c.read(&m.Offer); err != nil {
		return m, "", err
	}
	if err := wire.Sender(r, &m); err != nil {
		return m, "", err
	}
	if wire.CallerOf(r).ForOthers && m.User == "" {
		m.User = c.User
	}
	m.Settings = model.Settings{Temperature: c.Temperature, TopP: c.TopP, Format: c.format()}
	if c.MaxTokens != nil {
		m.Settings.MaxTokens = *c.MaxTokens
	}
	var instructions []string
	if c.Instructions != nil {
		instructions = append(instructions, *c.Instructions)
	}
	previous := ""
	if c.Previous != nil {
		previous = *c.Previous
	}
	goesOn := previous != "" || c.Conversation.ID != "" || m.Session != ""
	history, err := c.Input.read(&instructions, goesOn, func(content string) *reasoning { return s.open(&m, content) })
	if err != nil {
		return m, "", err
	}
	switch {
	case previous != "":
		if token = tokenOf(previous); token == "" {
			return m, "", noPrevious(previous)
		}
		m.Session = idPrefix + token
	case c.Conversation.ID != "":
		m.Session = "conv-" + c.Conversation.ID
	case m.Session == "" && c.keeps() && len(history) == 1 && history[0].Role == chat.User:
		token = rand.Text()[:tokenLength]
		m.Session, c.begins = idPrefix+token, true
	}
	m.Instructions = strings.TrimSpace(strings.Join(instructions, "\n\n"))
	return m, token, wire.Complete(&m, history)
}

func noPrevious(id string) error {
	return &refusal{
		"previous_response_id", "previous_response_not_found",
		fmt.Sprintf("there is no response %q that can be gone on with", id),
	}
}

// format returns text.format as chat completions have it; nil for plain text.
func (c *request) format() json.RawMessage {
	var f struct {
		Type   string          `json:"type"`
		Name   string          `json:"name,omitempty"`
		Schema json.RawMessage `json:"schema,omitempty"`
		Strict *bool           `json:"strict,omitempty"`
	}
	if len(c.Text.Format) == 0 || json.Unmarshal(c.Text.Format, &f) != nil || f.Type == "text" || f.Type == "" {
		return nil
	}
	if f.Type != "json_schema" {
		return c.Text.Format
	}
	kind := f.Type
	f.Type = ""
	raw, _ := json.Marshal(map[string]any{"type": kind, "json_schema": map[string]any{ // it was read from JSON
		"name": f.Name, "schema": f.Schema, "strict": f.Strict,
	}})
	return raw
}

// Create runs a turn and answers with its reply, whole or streamed.
func (a *API) Create(w http.ResponseWriter, r *http.Request) {
	c := &request{}
	if !wire.ReadForeign(w, r, c) {
		return
	}
	m, token, err := c.message(r, a.seal)
	agent, unknown := a.models.Agent(c.Model)
	m.Agent = agent
	if err == nil && unknown == nil && c.Previous != nil && *c.Previous != "" {
		err = a.there(r, m, *c.Previous)
	}
	if err == nil && unknown == nil {
		err = a.models.Pictures.Fetch(r.Context(), &m)
	}
	var refused *refusal
	var unseen *wire.FetchError
	switch {
	case errors.As(err, &refused):
		wire.RefuseField(w, http.StatusBadRequest, refused.code, refused.field, refused.says)
		return
	case errors.As(err, &unseen):
		wire.RefuseField(w, http.StatusBadRequest, "invalid_image_url", "input", err.Error())
		return
	case err != nil:
		wire.Fail(w, err)
		return
	case unknown != nil:
		wire.RefuseField(w, http.StatusNotFound, "model_not_found", "model", unknown.Error())
		return
	}
	named := m.Session
	if c.begins {
		named = ""
	}
	if token == "" {
		token = rand.Text()[:tokenLength]
	}
	out := newWriter(w, c, idPrefix+token+rand.Text()[:tokenLength], a.engine.Now().Unix())
	defer out.close()
	if c.includes() {
		out.reasoning = func(done *turn.End) *reasoningItem { return a.seal.item(&m, done) }
	}
	if c.Background {
		a.background(w, r, m, out)
		return
	}
	if c.keeps() {
		out.keep = func(ended response) {
			rec := out.record(&m)
			rec.Response = ended
			key, err := a.keyOf(m, ended.ID)
			if err == nil {
				err = a.save(r.Context(), key, m, rec)
			}
			if out.head.Store = err == nil; err != nil {
				a.engine.Log().WarnContext(r.Context(), "a response is not stored", "error", err)
			}
		}
	}
	wire.RunIn(r, a.engine, m, named, out)
}

// there returns an error when the conversation of an earlier response is not kept for its client.
func (a *API) there(r *http.Request, m message.Message, id string) error {
	who, err := a.engine.Agents().Whoami(m)
	if err != nil {
		return err
	}
	s, err := a.engine.Store().Load(r.Context(), who.Session, 1)
	if err != nil {
		return fmt.Errorf("loading the conversation: %w: %w", engine.ErrStore, err)
	}
	if len(s.Messages) == 0 && !s.Open() {
		return noPrevious(id)
	}
	switch _, _, err = a.load(r, m, id); {
	case errors.As(err, new(errOther)):
		return noPrevious(id)
	case errors.As(err, new(errNone)): // it was deleted, or too long to be stored
		return nil
	}
	return err
}
