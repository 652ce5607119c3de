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
	"slices"
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
	engine *engine.Engine
	models *wire.Models
}

// New returns the API of an engine, whose agents are models.
func New(e *engine.Engine, models *wire.Models) *API { return &API{e, models} }

// completionRequest is the part of OpenAI's request that an agent can use.
type completionRequest struct {
	Model         string              `json:"model"`
	Messages      []completionMessage `json:"messages"`
	Stream        bool                `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User string `json:"user"`
	// N is how many answers there are to be; nil means one.
	N *int `json:"n"`
	offer
	settings

	legacy bool // it came as a request of the older API
	// More are the fields that are not above; see [completionRequest.refuseMore].
	More map[string]jsontext.Value `json:",unknown"`
}

type completionMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	// FunctionCall and Name are those of the older form of calls, of which an answer has one.
	FunctionCall *function `json:"function_call"`
	Name         string    `json:"name"`
	// Refusal is what a model said that declined to answer, in place of a content.
	Refusal string `json:"refusal"`
}

// messages returns the message of the request, once for each answer.
func (c completionRequest) messages(r *http.Request) ([]engine.Message, error) {
	n := 1
	if c.N != nil {
		n = *c.N
	}
	if n < 1 || n > maxAnswers {
		return nil, &refusal{"n", "invalid_request", fmt.Sprintf("n must be from 1 to %d", maxAnswers)}
	}
	m, err := c.message(r)
	return slices.Repeat([]engine.Message{m}, n), err
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
	return m, wire.Complete(&m, history)
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
	Etui        *wire.Extension  `json:"etui,omitempty"`
}

const fingerprint = "fp_etui"

type choice struct {
	Text         *string  `json:"text,omitempty"` // in place of a message, in the older API
	Index        int      `json:"index"`
	Message      *content `json:"message,omitempty"`
	Delta        *content `json:"delta,omitempty"`
	Logprobs     *tokens  `json:"logprobs"`
	FinishReason *string  `json:"finish_reason"`
}

// tokens are what the provider says of each token of an answer.
type tokens struct {
	Content []json.RawMessage `json:"content"`
	Refusal *int              `json:"refusal"` // always null
}

// tokensOf returns what is known of the tokens of the last answer of a turn; nil if nobody asked.
func (c completionRequest) tokensOf(done *turn.End) *tokens {
	if len(done.Logprobs) == 0 || string(c.More["logprobs"]) != "true" || c.legacy {
		return nil
	}
	return &tokens{Content: done.Logprobs}
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

func finishReason(done *turn.End) *string {
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
	var req completionRequest
	if !wire.ReadForeign(w, r, &req) {
		return
	}
	a.answer(w, r, req, func() ([]engine.Message, error) { return req.messages(r) }, func(int) string { return "" })
}

// answer runs the turns of a request, one after the other, and answers with their replies. Before is what the
// reply to a message begins with.
func (a *API) answer(
	w http.ResponseWriter, r *http.Request, req completionRequest,
	messages func() ([]engine.Message, error), before func(i int) string,
) {
	list, err := messages()
	switch {
	case err != nil:
		refuse(w, err)
		return
	case len(list) > maxAnswers:
		says := fmt.Sprintf("the request asks for %d answers, at most %d are given", len(list), maxAnswers)
		wire.RefuseField(w, http.StatusBadRequest, "invalid_request", "n", says)
		return
	case len(list) > 1 && list[0].Session != "":
		says := "a conversation that etui keeps gets one answer: leave n out, or X-Etui-Session"
		wire.RefuseField(w, http.StatusBadRequest, "invalid_request", "n", says)
		return
	}
	agent, err := a.models.Agent(req.Model)
	if err != nil {
		wire.RefuseField(w, http.StatusNotFound, "model_not_found", "model", err.Error())
		return
	}
	for i := range list {
		list[i].Agent = agent
		if err = a.models.Pictures.Fetch(r.Context(), &list[i]); err != nil {
			refuse(w, err)
			return
		}
	}
	id := "chatcmpl-"
	if req.legacy {
		id = "cmpl-"
	}
	out := newWriter(w, req, completion{
		ID: id + rand.Text(), Created: a.engine.Now().Unix(), Model: req.Model, Fingerprint: fingerprint,
	}, len(list))
	defer out.close()
	for i, m := range list {
		one := &answer{completionWriter: out, index: i}
		if text := before(i); text != "" && one.say(text) != nil {
			return
		}
		named := m.Session
		if i > 0 { // a turn that waits belongs to one of the answers
			named = fmt.Sprintf("answer %d", i+1)
		}
		if wire.RunIn(r, a.engine, m, named, one); out.failed || len(out.finished) <= i {
			return // the client has gone
		}
	}
}

// maxAnswers bounds how many answers a request gets: each is a turn.
const maxAnswers = 16

// refuse answers that a request cannot be followed.
func refuse(w http.ResponseWriter, err error) {
	var refused *refusal
	var unseen *wire.FetchError
	switch {
	case errors.As(err, &refused):
		wire.RefuseField(w, http.StatusBadRequest, refused.code, refused.field, refused.says)
	case errors.As(err, &unseen):
		wire.RefuseField(w, http.StatusBadRequest, "invalid_image_url", "messages", err.Error())
	default:
		wire.Fail(w, err)
	}
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
