// Package openai speaks OpenAI's chat completions, so that any client of that API
// can talk to an agent: the model's name is the agent's. The agent brings its own
// tools, which it runs itself; calls of tools that the client brings are handed to the client.
//
// A conversation is what the client sends, unless the header X-Etui-Session names
// a stored one. X-Etui-User, X-Etui-Roles, X-Etui-Channel, X-Etui-Chat and
// X-Etui-Skill describe the message, as far as the client's key lets it: see
// [wire.Sender].
package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// API has a handler for each request.
type API struct {
	engine   *engine.Engine
	models   *wire.Models
	pictures *wire.Pictures
}

// New returns the API of an engine, whose agents are models.
func New(e *engine.Engine, models *wire.Models) *API { return &API{e, models, wire.NewPictures(e)} }

// completionRequest is the part of OpenAI's request that an agent can use.
type completionRequest struct {
	Model         string              `json:"model"`
	Messages      []completionMessage `json:"messages"`
	Stream        bool                `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User string `json:"user"`
	offer
	settings
	// More are the fields that are not above; see [completionRequest.refuseMore].
	More map[string]jsontext.Value `json:",unknown"`
}

type completionMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// message turns the request into a message of the engine. The last message is the question, or what
// the model goes on with: results of calls, or the beginning of its answer.
func (c completionRequest) message(r *http.Request) (engine.Message, error) {
	var m engine.Message
	if err := c.read(&m.Offer); err != nil {
		return m, err
	}
	if err := wire.Sender(r, &m); err != nil {
		return m, err
	}
	if wire.CallerOf(r).ForOthers { // other clients name their user here for OpenAI
		m.User = cmp.Or(m.User, c.User)
	}
	if len(c.Messages) == 0 {
		return m, &refusal{"messages", "invalid_request", "messages must not be empty"}
	}
	if err := c.refuseMore(); err != nil {
		return m, err
	}
	var err error
	if m.Settings, err = c.forModel(); err != nil {
		return m, err
	}
	history, instructions := []chat.Message{}, []string{}
	made := map[string]string{} // the names of the calls, by their IDs
	for i, said := range c.Messages {
		one, err := said.read(made)
		if err != nil {
			field := cmp.Or(err.field, "content")
			return m, &refusal{
				fmt.Sprintf("messages[%d].%s", i, field), cmp.Or(err.code, "invalid_request"),
				fmt.Sprintf("messages[%d]: %v", i, err),
			}
		}
		if one.Role == system {
			instructions = append(instructions, strings.TrimSpace(one.Text))
			continue
		}
		history = append(history, one)
	}
	m.Instructions = strings.TrimSpace(strings.Join(instructions, "\n"))
	return m, wire.Said(&m, history)
}

// completion is OpenAI's answer, or a piece of it.
type completion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	// Fingerprint never changes: an agent has no other one.
	Fingerprint string           `json:"system_fingerprint"`
	Choices     []choice         `json:"choices"`
	Usage       *completionUsage `json:"usage,omitempty"`
}

const fingerprint = "fp_etui"

type choice struct {
	Index        int      `json:"index"`
	Message      *content `json:"message,omitempty"`
	Delta        *content `json:"delta,omitempty"`
	Logprobs     *int     `json:"logprobs"` // always null
	FinishReason *string  `json:"finish_reason"`
}

// content is what an answer, or a piece of one, says.
type content struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

type completionUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func usageOf(u model.Tokens) *completionUsage {
	out := &completionUsage{PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Input + u.Output}
	out.PromptDetails.CachedTokens = u.CacheRead
	return out
}

func finishReason(done *turn.Done) *string {
	reason := "stop"
	switch {
	case len(done.Handed) > 0:
		reason = "tool_calls"
	case done.Stop == model.Length:
		reason = "length"
	case done.Stop == model.Refused:
		reason = "content_filter"
	}
	return &reason
}

// Completions runs a turn and answers with its reply, whole or streamed.
func (a *API) Completions(w http.ResponseWriter, r *http.Request) {
	m, out := a.asked(w, r)
	if m == nil {
		return
	}
	defer out.close()
	wire.Run(r, a.engine, *m, out)
}

// asked reads a request; the message is nil when it was refused.
func (a *API) asked(w http.ResponseWriter, r *http.Request) (*engine.Message, *completionWriter) {
	var req completionRequest
	if !wire.ReadForeign(w, r, &req) {
		return nil, nil
	}
	m, err := req.message(r)
	var refused *refusal
	switch {
	case errors.Is(err, wire.ErrForbidden):
		wire.Fail(w, err)
		return nil, nil
	case errors.As(err, &refused):
		wire.RefuseField(w, http.StatusBadRequest, refused.code, refused.field, refused.says)
		return nil, nil
	case err != nil:
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return nil, nil
	}
	if m.Agent, err = a.models.Agent(req.Model); err != nil {
		wire.RefuseField(w, http.StatusNotFound, "model_not_found", "model", err.Error())
		return nil, nil
	}
	var unseen *wire.FetchError
	switch err = a.pictures.Fetch(r.Context(), &m); {
	case errors.As(err, &unseen):
		wire.RefuseField(w, http.StatusBadRequest, "invalid_image_url", "messages", err.Error())
		return nil, nil
	case err != nil:
		wire.Fail(w, err)
		return nil, nil
	}
	return &m, newWriter(w, req, completion{
		ID: "chatcmpl-" + rand.Text(), Created: a.engine.Now().Unix(), Model: req.Model, Fingerprint: fingerprint,
	})
}

// entry is an agent as a model.
type entry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (a *API) entry(agent string) entry {
	return entry{ID: agent, Object: "model", Created: a.models.Created.Unix(), OwnedBy: "etui"}
}

// Models lists the agents.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}{Object: "list"}
	for _, name := range a.models.Names() {
		list.Data = append(list.Data, a.entry(name))
	}
	wire.Reply(w, http.StatusOK, list)
}

// Model answers with one agent: {id} in the path.
func (a *API) Model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	if _, err := a.models.Agent(name); err != nil {
		wire.RefuseField(w, http.StatusNotFound, "model_not_found", "model", err.Error())
		return
	}
	wire.Reply(w, http.StatusOK, a.entry(name))
}
