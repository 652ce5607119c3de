// Package openai speaks OpenAI's chat completions, so that any client of that API
// can talk to an agent: the model's name is the agent's. The agent brings its own
// tools; those of the client are refused.
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
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
)

// API has a handler for each request.
type API struct{ engine *engine.Engine }

// New returns the API of an engine.
func New(e *engine.Engine) *API { return &API{e} }

// completionRequest is the part of OpenAI's request that an agent can use.
type completionRequest struct {
	Model         string              `json:"model"`
	Messages      []completionMessage `json:"messages"`
	Stream        bool                `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User  string            `json:"user"`
	Tools []json.RawMessage `json:"tools"`
	settings
	// More are the fields that are not above; see [completionRequest.refuseMore].
	More map[string]jsontext.Value `json:",unknown"`
}

type completionMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// message turns the request into a message of the engine. The last message is the
// question.
func (c completionRequest) message(r *http.Request) (engine.Message, error) {
	m := engine.Message{Agent: c.Model}
	if err := wire.Sender(r, &m); err != nil {
		return m, err
	}
	if wire.CallerOf(r).ForOthers { // other clients name their user here for OpenAI
		m.User = cmp.Or(m.User, c.User)
	}
	switch {
	case len(c.Tools) > 0:
		return m, unsupported("tools", "tools of the client are not supported: the agent brings its own; leave \"tools\" out")
	case len(c.Messages) == 0:
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
	for i, said := range c.Messages {
		text, pictures, err := said.read()
		if err != nil {
			return m, &refusal{fmt.Sprintf("messages[%d].content", i), "invalid_request", fmt.Sprintf("messages[%d]: %v", i, err)}
		}
		last := i == len(c.Messages)-1
		switch {
		case said.Role == "system" || said.Role == "developer":
			instructions = append(instructions, strings.TrimSpace(text))
		case said.Role == "user" && last:
			m.Text, m.Files = text, pictures
		case said.Role == "user" || said.Role == "assistant":
			history = append(history, chat.Message{Role: chat.Role(said.Role), Text: text, Files: pictures})
		default:
			return m, unsupported(fmt.Sprintf("messages[%d].role", i), fmt.Sprintf("messages[%d]: role %q is not supported", i, said.Role))
		}
		if last && said.Role != "user" {
			return m, &refusal{"messages", "invalid_request", "the last message must be the user's"}
		}
	}
	m.Instructions = strings.TrimSpace(strings.Join(instructions, "\n"))
	if m.Session == "" {
		m.History = history
	}
	return m, nil
}

// completion is OpenAI's answer, or a piece of it.
type completion struct {
	ID      string           `json:"id"`
	Object  string           `json:"object"`
	Created int64            `json:"created"`
	Model   string           `json:"model"`
	Choices []choice         `json:"choices"`
	Usage   *completionUsage `json:"usage,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *content `json:"message,omitempty"`
	Delta        *content `json:"delta,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

type content struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
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

func finishReason(s model.Stop) *string {
	reason := "stop"
	switch s {
	case model.Length:
		reason = "length"
	case model.Refused:
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
	sent := wire.Joins(r, m)
	for e, err := range a.engine.Send(r.Context(), *m) {
		if err != nil {
			out.fail(err)
			return
		}
		if out.event(e) != nil {
			return // the client has gone, which ends the turn unless it comes back
		}
		if e.Done != nil {
			sent()
		}
	}
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
	case !slices.Contains(a.engine.Agents().Roster.Names(), cmp.Or(req.Model, a.engine.Agents().Roster.Names()[0])):
		a.noModel(w, req.Model)
		return nil, nil
	case err != nil:
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return nil, nil
	}
	out := newWriter(w, req, completion{ID: "chatcmpl-" + rand.Text(), Created: a.engine.Now().Unix(), Model: req.Model})
	return &m, out
}

// entry is an agent as a model.
type entry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func entryOf(agent string) entry { return entry{ID: agent, Object: "model", OwnedBy: "etui"} }

// Models lists the agents.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}{Object: "list"}
	for _, name := range a.engine.Agents().Roster.Names() {
		list.Data = append(list.Data, entryOf(name))
	}
	wire.Reply(w, http.StatusOK, list)
}

// Model answers with one agent: {id} in the path.
func (a *API) Model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	if !slices.Contains(a.engine.Agents().Roster.Names(), name) {
		a.noModel(w, name)
		return
	}
	wire.Reply(w, http.StatusOK, entryOf(name))
}

func (a *API) noModel(w http.ResponseWriter, name string) {
	wire.RefuseField(w, http.StatusNotFound, "model_not_found", "model",
		fmt.Sprintf("agent %q: %v%s", name, engine.ErrUnknown, nearest.Hint(name, slices.Values(a.engine.Agents().Roster.Names()))))
}
