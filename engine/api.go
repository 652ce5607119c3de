package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

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

// Selected sums a selection up.
type Selected struct {
	// Usable is how many tools the caller may use, Sent how many of them stand in
	// the request.
	Usable int `json:"usable"`
	Sent   int `json:"sent"`
	// TokensSaved and SavedPercent compare with sending all that is usable.
	TokensSent   int     `json:"tokens_sent"`
	TokensSaved  int     `json:"tokens_saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Mode is how the tools reach the model.
	Mode selection.Mode `json:"mode"`
}

func wire(e turn.Event) Event {
	out := Event{Text: e.Text, Call: e.Call, Progress: e.Progress, Result: e.Result, Done: e.Done}
	if s := e.Selection; s != nil {
		tokens := s.Tokens()
		out.Selected = &Selected{Mode: s.Mode, TokensSent: tokens.Sent, TokensSaved: tokens.Saved, SavedPercent: tokens.SavedPercent}
		for entry := range s.Catalog().All() {
			if stage := s.Stage(entry); stage.Usable() {
				out.Selected.Usable++
			}
		}
		out.Selected.Sent = len(s.Declared) + len(s.Announced)
	}
	return out
}

func (g *Gateway) chat(w http.ResponseWriter, r *http.Request) {
	var m Message
	if !read(w, r, &m) {
		return
	}
	flusher := http.NewResponseController(w)
	lines := json.NewEncoder(w)
	begun := false
	for e, err := range g.Send(r.Context(), m) {
		if err != nil && !begun {
			problem(w, statusOf(err), err.Error())
			return
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		out := wire(e)
		if err != nil {
			out.Error = err.Error()
		}
		if lines.Encode(out) != nil || flusher.Flush() != nil {
			return // the client has gone; that cancels the turn
		}
	}
}

// Tool is a tool as operators see it.
type Tool struct {
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Translations map[string]string `json:"translations,omitempty"`
	Aliases      []string          `json:"aliases,omitempty"`
	Examples     []string          `json:"examples,omitempty"`
	Groups       []string          `json:"groups,omitempty"`
	Channels     []string          `json:"channels,omitempty"`
	Risk         tool.Risk         `json:"risk"`
	Source       string            `json:"source,omitempty"`
	Version      string            `json:"version,omitempty"`
	Tokens       int               `json:"tokens"`
	Parameters   json.RawMessage   `json:"parameters"`
	// Filtered says that a filter of the program guards the tool, whatever rules
	// say; Shadowed that a later one of the same name is in force.
	Filtered bool `json:"filtered,omitempty"`
	Shadowed bool `json:"shadowed,omitempty"`
}

func describe(e *catalog.Entry) Tool {
	d := e.Definition
	return Tool{
		Name: d.Name, Description: d.Description, Translations: d.Translations, Aliases: d.Aliases, Examples: d.Examples,
		Groups: d.Groups, Channels: d.Channels, Risk: d.Risk,
		Source: d.Source, Version: d.Version, Tokens: e.Tokens, Parameters: d.Schema(),
		Filtered: e.Filter() != 0, Shadowed: e.Position() < 0,
	}
}

func (g *Gateway) tools(w http.ResponseWriter, _ *http.Request) {
	c := g.Catalog()
	list := make([]Tool, 0, c.Len())
	for e := range c.All() {
		list = append(list, describe(e))
	}
	for _, e := range c.Shadowed() {
		list = append(list, describe(e))
	}
	reply(w, http.StatusOK, list)
}

// Call asks for one tool, without a model. It is judged as a call in a turn of
// the message would be; the message's text is not needed.
type Call struct {
	Message
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Call runs one tool for a caller. Text that the caller reads is in the result,
// that of a failure, too; the error beside it says what failed. A tool that does
// not exist, or that this caller may not use, is [turn.ErrNoTool].
func (g *Gateway) Call(ctx context.Context, name string, c Call) (chat.Result, error) {
	a, in, err := g.caller(ctx, c.Message)
	if err != nil {
		return chat.Result{}, err
	}
	return a.runner.Call(ctx, in, name, c.Arguments)
}

// Judge tells what would become of a call; nothing runs. Without arguments it tells
// what does not depend on them.
func (g *Gateway) Judge(ctx context.Context, name string, c Call) (turn.Judgement, error) {
	a, in, err := g.caller(ctx, c.Message)
	if err != nil {
		return turn.Judgement{}, err
	}
	if c.Arguments != nil {
		return a.runner.JudgeCall(ctx, in, name, c.Arguments), nil
	}
	return a.runner.Judge(ctx, in, name)[0], nil
}

// caller finds the agent of a message and what a turn may know of it, without its
// text.
func (g *Gateway) caller(ctx context.Context, m Message) (*agent, turn.Input, error) {
	m.Text = "call"
	a, err := g.check(m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	s, err := g.load(ctx, a, m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	return a, g.input(a, m, s), nil
}

func (g *Gateway) judge(w http.ResponseWriter, r *http.Request) {
	var c Call
	if !read(w, r, &c) {
		return
	}
	j, err := g.Judge(r.Context(), r.PathValue("name"), c)
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	reply(w, http.StatusOK, j)
}

func (g *Gateway) call(w http.ResponseWriter, r *http.Request) {
	var c Call
	if !read(w, r, &c) {
		return
	}
	result, err := g.Call(r.Context(), r.PathValue("name"), c)
	var mismatch *tool.Mismatch
	var refused *rules.Refused
	switch {
	case errors.Is(err, turn.ErrNoTool):
		g.noTool(w, r.PathValue("name"), result.Text)
	case errors.As(err, &mismatch):
		problem(w, http.StatusBadRequest, result.Text)
	case errors.As(err, &refused):
		problem(w, http.StatusForbidden, result.Text)
	case skill.Kind(err) != "":
		problem(w, skill.Status(err), result.Text)
	case err != nil && !result.Failed:
		problem(w, statusOf(err), err.Error())
	default: // a tool's failure is a result
		reply(w, http.StatusOK, result)
	}
}

// Skills are the toolsets, and which one of an agent is active.
type Skills struct {
	Agent  string `json:"agent"`
	Active string `json:"active"`
	// Tools is how many tools the active one has.
	Tools  int             `json:"tools"`
	Skills []catalog.Skill `json:"skills"`
	// Counts is how many tools each skill has.
	Counts map[string]int `json:"counts"`
}

func (g *Gateway) skills(w http.ResponseWriter, r *http.Request) {
	g.replySkills(w, r.URL.Query().Get("agent"))
}

func (g *Gateway) replySkills(w http.ResponseWriter, agent string) {
	name, tools, err := g.Skill(agent)
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	if agent == "" {
		agent = g.config.Agents[0].Name
	}
	c := g.Catalog()
	s := Skills{Agent: agent, Active: name, Tools: tools, Skills: c.Skills(), Counts: map[string]int{}}
	for _, t := range s.Skills {
		members, _ := c.Members(t)
		s.Counts[t.Name] = len(members)
	}
	reply(w, http.StatusOK, s)
}

func (g *Gateway) setSkill(w http.ResponseWriter, r *http.Request) {
	var change struct{ Agent, Skill string }
	if !read(w, r, &change) {
		return
	}
	if err := g.SetSkill(change.Agent, change.Skill); err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	g.replySkills(w, change.Agent)
}
