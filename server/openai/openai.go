// Package openai speaks OpenAI's chat completions, so that any client of that API
// can talk to an agent: the model's name is the agent's. The agent brings its own
// tools; those of the client are refused.
//
// A conversation is what the client sends, unless the header X-Etui-Session names
// a stored one. X-Etui-User, X-Etui-Roles, X-Etui-Channel, X-Etui-Chat and
// X-Etui-Skill describe the caller: anyone who may use the API may set them.
package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// API has a handler for each request.
type API struct{ engine *engine.Engine }

// New returns the API of an engine.
func New(e *engine.Engine) *API { return &API{e} }

// completionRequest is the part of OpenAI's request that an agent can use.
// Temperature and other settings of a model belong to the configuration and are
// ignored.
type completionRequest struct {
	Model         string              `json:"model"`
	Messages      []completionMessage `json:"messages"`
	Stream        bool                `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User  string            `json:"user"`
	N     int               `json:"n"`
	Tools []json.RawMessage `json:"tools"`
}

type completionMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text reads a message's content: a string, or a list of parts of text.
func (m completionMessage) text() (string, error) {
	var text string
	if len(m.Content) == 0 || string(m.Content) == "null" || json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", errors.New("a message's content must be a text or a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("parts of type %q are not supported, only text", p.Type)
		}
		text += p.Text
	}
	return text, nil
}

// message turns the request into a message of the engine. The last message is the
// question.
func (c completionRequest) message(h http.Header) (engine.Message, error) {
	m := engine.Message{
		Agent: c.Model, User: cmp.Or(h.Get("X-Etui-User"), c.User), Channel: cmp.Or(h.Get("X-Etui-Channel"), "api"),
		Session: h.Get("X-Etui-Session"), Chat: h.Get("X-Etui-Chat"), Skill: h.Get("X-Etui-Skill"),
	}
	for role := range strings.SplitSeq(h.Get("X-Etui-Roles"), ",") {
		if role = strings.TrimSpace(role); role != "" {
			m.Roles = append(m.Roles, role)
		}
	}
	switch {
	case len(c.Tools) > 0:
		return m, errors.New("tools of the client are not supported: the agent brings its own; leave \"tools\" out")
	case c.N > 1:
		return m, errors.New("only one choice is given: leave \"n\" out")
	case len(c.Messages) == 0:
		return m, errors.New("messages must not be empty")
	}
	history := []chat.Message{}
	for i, said := range c.Messages {
		text, err := said.text()
		if err != nil {
			return m, fmt.Errorf("messages[%d]: %w", i, err)
		}
		last := i == len(c.Messages)-1
		switch {
		case said.Role == "system" || said.Role == "developer":
			m.Instructions = strings.TrimSpace(m.Instructions + "\n" + text)
		case said.Role == "user" && last:
			m.Text = text
		case said.Role == "user" || said.Role == "assistant":
			history = append(history, chat.Message{Role: chat.Role(said.Role), Text: text})
		default:
			return m, fmt.Errorf("messages[%d]: role %q is not supported", i, said.Role)
		}
		if last && said.Role != "user" {
			return m, errors.New("the last message must be the user's")
		}
	}
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
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
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
	var req completionRequest
	if !wire.Read(w, r, &req) {
		return
	}
	m, err := req.message(r.Header)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	out := completionWriter{
		w: w, flush: http.NewResponseController(w), request: req,
		head: completion{ID: "chatcmpl-" + rand.Text(), Created: a.engine.Now().Unix(), Model: req.Model},
	}
	for e, err := range a.engine.Send(r.Context(), m) {
		if err != nil {
			out.fail(err)
			return
		}
		if out.event(e) != nil {
			return // the client has gone, which cancels the turn
		}
	}
}

// completionWriter writes the events of a turn as OpenAI's clients expect them.
type completionWriter struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	request completionRequest
	head    completion
	text    strings.Builder
	begun   bool
	gap     bool // calls ran since the last text
}

func (c *completionWriter) event(e turn.Event) error {
	switch {
	case e.Call != nil:
		c.gap = c.text.Len() > 0
	case e.Text != "":
		text := e.Text
		if c.gap {
			c.gap, text = false, "\n\n"+text
		}
		c.text.WriteString(text)
		if c.request.Stream {
			return c.chunk(choice{Delta: &content{Role: "assistant", Content: text}}, nil)
		}
	case e.Done != nil && c.request.Stream:
		if err := c.chunk(choice{Delta: &content{}, FinishReason: finishReason(e.Done.Stop)}, nil); err != nil {
			return err
		}
		if c.request.StreamOptions.IncludeUsage {
			if err := c.chunk(choice{Index: -1}, usageOf(e.Done.Usage)); err != nil {
				return err
			}
		}
		return c.line([]byte("[DONE]"))
	case e.Done != nil:
		c.head.Object = "chat.completion"
		c.head.Choices = []choice{{Message: &content{Role: "assistant", Content: c.text.String()}, FinishReason: finishReason(e.Done.Stop)}}
		c.head.Usage = usageOf(e.Done.Usage)
		wire.Reply(c.w, http.StatusOK, c.head)
	}
	return nil
}

// chunk writes a piece of a streamed answer; one with index -1 has no choices.
func (c *completionWriter) chunk(ch choice, usage *completionUsage) error {
	piece := c.head
	piece.Object, piece.Usage, piece.Choices = "chat.completion.chunk", usage, []choice{}
	if ch.Index >= 0 {
		piece.Choices = append(piece.Choices, ch)
	}
	data, err := json.Marshal(piece)
	if err != nil {
		return err
	}
	return c.line(data)
}

func (c *completionWriter) line(data []byte) error {
	if !c.begun {
		c.begun = true
		c.w.Header().Set("Content-Type", "text/event-stream")
		c.w.Header().Set("Cache-Control", "no-cache")
	}
	if _, err := fmt.Fprintf(c.w, "data: %s\n\n", data); err != nil {
		return err
	}
	return c.flush.Flush()
}

// fail reports that a turn failed: with a status as long as nothing was sent, else
// with an error in the stream, as OpenAI does.
func (c *completionWriter) fail(err error) {
	if !c.begun {
		wire.Fail(c.w, err)
		return
	}
	var p wire.Problem
	p.Error.Message, p.Error.Type = err.Error(), "server_error"
	data, _ := json.Marshal(p) // a struct of strings always marshals
	_ = c.line(data)           // the client may have gone
}

// Models lists the agents.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}{Object: "list"}
	for _, name := range a.engine.Agents() {
		list.Data = append(list.Data, entry{ID: name, Object: "model", OwnedBy: "etui"})
	}
	wire.Reply(w, http.StatusOK, list)
}
