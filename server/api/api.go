// Package api is etui's own protocol: small JSON requests for talking to an agent,
// for asking what a message would get and why, and for changing an agent while it
// runs. Each method of [API] reads a request, calls the engine and writes the
// answer.
package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// API has a handler for each request.
type API struct {
	engine *engine.Engine
	config Config
}

// New returns the API of an engine.
func New(e *engine.Engine, cfg Config) *API { return &API{e, cfg} }

// Message is an [engine.Message] as clients send it.
type Message struct {
	engine.Message
	// Strategy and Mode name a [prompt.Strategy] and a [selection.Mode]; empty means
	// the agent's.
	Strategy string `json:"strategy,omitempty"`
	Mode     string `json:"mode,omitempty"`
}

// parse returns the message as the engine takes it.
func (m Message) parse() (engine.Message, error) {
	if m.Strategy != "" {
		strategy, err := prompt.ParseStrategy(m.Strategy)
		if err != nil {
			return m.Message, fmt.Errorf("%w: %w", engine.ErrUnknown, err)
		}
		m.Message.Strategy = &strategy
	}
	var err error
	if m.Message.Mode, err = selection.ParseMode(m.Mode); err != nil {
		return m.Message, fmt.Errorf("%w: %w", engine.ErrUnknown, err)
	}
	return m.Message, nil
}

// read decodes a request and parses the message in it. When it cannot, it answers
// why and returns false.
func read(w http.ResponseWriter, r *http.Request, request any, in *Message) (engine.Message, bool) {
	if !wire.Read(w, r, request) {
		return engine.Message{}, false
	}
	m, err := in.parse()
	if err != nil {
		wire.Fail(w, err)
	}
	return m, err == nil
}

// Event is a [turn.Event] on the wire. Exactly one field is set.
type Event struct {
	Selected *Selected      `json:"selected,omitempty"`
	Text     string         `json:"text,omitempty"`
	Call     *chat.Call     `json:"call,omitempty"`
	Progress *turn.Progress `json:"progress,omitempty"`
	Result   *chat.Result   `json:"result,omitempty"`
	Done     *turn.Done     `json:"done,omitempty"`
	Error    string         `json:"error,omitempty"`
}

// Selected summarizes a selection.
type Selected struct {
	// Usable is how many tools the caller may use; Sent is how many of them the
	// request describes.
	Usable int `json:"usable"`
	Sent   int `json:"sent"`
	// TokensSaved and SavedPercent compare with sending everything that is usable.
	TokensSent   int     `json:"tokens_sent"`
	TokensSaved  int     `json:"tokens_saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Mode is how the tools reach the model.
	Mode selection.Mode `json:"mode"`
}

func eventOf(e turn.Event) Event {
	out := Event{Text: e.Text, Call: e.Call, Progress: e.Progress, Result: e.Result, Done: e.Done}
	if s := e.Selection; s != nil {
		tokens := s.Tokens()
		out.Selected = &Selected{
			Usable: len(s.Usable()), Sent: len(s.Declared) + len(s.Announced), Mode: s.Mode,
			TokensSent: tokens.Sent, TokensSaved: tokens.Saved, SavedPercent: tokens.SavedPercent,
		}
	}
	return out
}

// Chat runs a turn and writes a line of JSON for each event.
func (a *API) Chat(w http.ResponseWriter, r *http.Request) {
	var in Message
	m, ok := read(w, r, &in, &in)
	if !ok {
		return
	}
	flusher := http.NewResponseController(w)
	lines := json.NewEncoder(w)
	begun := false
	for e, err := range a.engine.Send(r.Context(), m) {
		if err != nil && !begun {
			wire.Fail(w, err)
			return
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		out := eventOf(e)
		if err != nil {
			out.Error = err.Error()
		}
		if lines.Encode(out) != nil || flusher.Flush() != nil {
			return // the client has gone, which cancels the turn
		}
	}
}
