// Package api is etui's own protocol: small JSON requests for talking to an agent,
// for asking what a message would get and why, and for changing an agent while it
// runs. Each method of [API] reads a request, calls the engine and writes the
// answer.
package api

import (
	"encoding/json"
	"net/http"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/recall"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// API has a handler for each request.
type API struct {
	// Conversations are the handlers about those of one person, All about those of everybody.
	Conversations, All Conversations
	// Ranker are the handlers about the ranking.
	Ranker Ranker

	engine    *engine.Engine
	tasks     *schedule.Tasks
	inspector *inspect.Inspector
	memory    *recall.Service
	config    Config
}

// New returns the API of an engine.
func New(e *engine.Engine, cfg Config) *API {
	return &API{Conversations{e, false}, Conversations{e, true}, Ranker{e, cfg}, e, schedule.NewTasks(e),
		inspect.New(e), recall.New(e), cfg}
}

// Message is an [engine.Message] as clients send it.
type Message struct {
	engine.Message
	// Strategy and Mode name a [prompt.Strategy] and a [selection.Mode]; empty means
	// the agent's.
	Strategy string `json:"strategy,omitempty"`
	Mode     string `json:"mode,omitempty"`
	// StopWithConnection ends the turn as soon as the client has gone: the client is a person's,
	// who stops it like that, and does not send the message again by itself.
	StopWithConnection bool `json:"stop_with_connection,omitempty"`
}

// parse returns the message as the engine takes it.
func (m Message) parse() (engine.Message, error) {
	if m.Strategy != "" {
		strategy, err := prompt.ParseStrategy(m.Strategy)
		if err != nil {
			return m.Message, err
		}
		m.Message.Strategy = &strategy
	}
	var err error
	m.Message.Mode, err = selection.ParseMode(m.Mode)
	return m.Message, err
}

// read decodes a request and parses the message in it. When it cannot, it answers
// why and returns false.
func read(w http.ResponseWriter, r *http.Request, request any, in *Message) (engine.Message, bool) {
	if !wire.Read(w, r, request) {
		return engine.Message{}, false
	}
	m, err := in.parse()
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return m, false
	}
	if err = wire.Sender(r, &m); err != nil {
		wire.Fail(w, err)
	}
	return m, err == nil
}

// Event is a [turn.Event] on the wire. Exactly one field is set.
type Event struct {
	Selected *SelectionSummary `json:"selected,omitempty"`
	Text     string            `json:"text,omitempty"`
	Call     *chat.Call        `json:"call,omitempty"`
	Progress *turn.Progress    `json:"progress,omitempty"`
	Result   *chat.Result      `json:"result,omitempty"`
	// Phase is how far a workflow has come.
	Phase *turn.PhaseEvent `json:"phase,omitempty"`
	// Await is a call for which the turn waits; its done comes next.
	Await *session.Await `json:"await,omitempty"`
	Done  *turn.End      `json:"done,omitempty"`
	Error string         `json:"error,omitempty"`
	// Code says for programs what went wrong, if Error is set.
	Code string `json:"code,omitempty"`
}

// SelectionSummary summarizes a selection.
type SelectionSummary struct {
	// Skill is the active toolset.
	Skill string `json:"skill"`
	// All is how many tools the caller may see, Usable how many of them the toolset and
	// the request leave, and Sent how many the request describes. Meta tools do not count.
	All    int `json:"all"`
	Usable int `json:"usable"`
	Sent   int `json:"sent"`
	// TokensAll is what sending All would cost. TokensSaved is what is left of it after
	// TokensSent, the cost of Sent, and TokensMeta, that of the meta tools.
	TokensAll    int     `json:"tokens_all"`
	TokensSent   int     `json:"tokens_sent"`
	TokensMeta   int     `json:"tokens_meta"`
	TokensSaved  int     `json:"tokens_saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Mode is how the tools reach the model.
	Mode selection.Mode `json:"mode"`
}

func eventOf(e turn.Event) Event {
	out := Event{Text: e.Text, Call: e.Call, Progress: e.Progress, Result: e.Result, Phase: e.Phase, Await: e.Await,
		Done: e.Done}
	if s := e.Selection; s != nil {
		t, n := s.Tokens(), s.Counts()
		out.Selected = &SelectionSummary{
			Skill: s.ActiveSkill(), All: n.All, Usable: n.Usable, Sent: n.Sent, Mode: s.Mode,
			TokensAll: t.All, TokensSent: t.Sent, TokensMeta: t.Meta, TokensSaved: t.Saved,
			SavedPercent: t.SavedPercent,
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
	begun, sent := false, func() {}
	if !in.StopWithConnection {
		sent = wire.Joins(r, &m)
	}
	for e, err := range a.engine.Send(r.Context(), m) {
		if err != nil && !begun {
			wire.Fail(w, err)
			return
		}
		if e.Thought != nil { // no person reads it
			continue
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		out := eventOf(e)
		if err != nil {
			_, p := wire.ProblemFor(w, err)
			out.Error, out.Code = p.Error.Message, p.Error.Code
		}
		if lines.Encode(out) != nil || flusher.Flush() != nil {
			return // the client has gone, which ends the turn unless it comes back
		}
		if e.Done != nil {
			sent()
		}
	}
}
