package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// Tool is a tool as operators see it.
type Tool struct {
	Name         string            `json:"name"`
	Original     string            `json:"original,omitempty"`
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
	Parameters   json.RawMessage   `json:"parameters,omitempty"`
	// Filtered says that a filter of the program guards the tool, whatever the rules
	// say; Shadowed that a later tool of the same name is in effect.
	Filtered bool `json:"filtered,omitempty"`
	Shadowed bool `json:"shadowed,omitempty"`
	// Disabled is what of tools.disabled in the configuration switches the tool off.
	Disabled []string `json:"disabled,omitempty"`
	// Calls are the latest ones that ended in this process, the oldest first, for operators who ask by name.
	Calls []live.Call `json:"calls,omitempty"`
}

func describe(e *catalog.Entry) Tool {
	d := e.Definition
	return Tool{
		Name: d.Name, Original: d.Original, Description: d.Description, Translations: d.Translations,
		Aliases: d.Aliases, Examples: d.Examples,
		Groups: d.Groups, Channels: d.Channels, Risk: d.Risk,
		Source: d.Source, Version: d.Version, Tokens: e.Tokens, Parameters: d.Schema(),
		Filtered: e.Filter() != 0, Shadowed: e.Position() < 0,
	}
}

// Tools lists every tool, the shadowed ones last. Callers that are no operators get those that
// the sender, whom the headers name, may see. With a name they are those of that name, and brief
// ones are without parameters, examples and texts in other languages.
func (a *API) Tools(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "name", "brief")
	if !ok {
		return
	}
	brief, err := wire.Flag(q, "brief")
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	seen, ok := a.seen(w, r, "")
	if !ok {
		return
	}
	c := a.engine.Catalog()
	if seen != nil {
		c = seen.Catalog()
	}
	list, off := []Tool{}, c.DisabledBy()
	add := func(e *catalog.Entry) {
		if name := q.Get("name"); name != "" && name != e.Definition.Name {
			return
		}
		t := describe(e)
		t.Disabled = off[e]
		if seen == nil && q.Get("name") != "" {
			t.Calls = a.engine.Calls(t.Name)
		}
		t.Description = cmp.Or(t.Translations[wire.LanguageOf(w)], t.Description)
		if brief {
			t.Translations, t.Examples, t.Parameters = nil, nil, nil
		}
		list = append(list, t)
	}
	for e := range c.All() {
		if seen == nil || seen.Visible(e) {
			add(e)
		}
	}
	if seen == nil {
		for _, e := range c.Shadowed() {
			add(e)
		}
	}
	wire.Reply(w, http.StatusOK, list)
}

// seen returns what the sender of a request without a body may see of an agent; nil means
// everything, since the client is an operator. When that cannot be known, it answers why
// and returns false.
func (a *API) seen(w http.ResponseWriter, r *http.Request, agent string) (*selection.Selection, bool) {
	if wire.CallerOf(r).Operator {
		return nil, true
	}
	m := engine.Message{Agent: agent}
	err := wire.Sender(r, &m)
	var sel *selection.Selection
	if err == nil {
		sel, err = a.inspector.SeenBy(r.Context(), m)
	}
	if err != nil {
		wire.Fail(w, err)
	}
	return sel, err == nil
}

// CallRequest asks for a call of one tool, without a model. The call is judged as
// in a turn of the message, whose text is not needed.
type CallRequest struct {
	Message
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Asks says that the caller answers questions of the tool. Answer is the answer to the last one.
	Asks   bool            `json:"asks,omitempty"`
	Answer *QuestionAnswer `json:"answer,omitempty"`
}

// QuestionAnswer is a person's answer to the question of a call.
type QuestionAnswer struct {
	Resume string `json:"resume"`
	Text   string `json:"text"`
	// Given is false where the person does not answer.
	Given bool `json:"given,omitempty"`
}

// CallReply is the result of a call, or its question: then it has no result yet, and goes on when it is
// made again with the answer.
type CallReply struct {
	chat.Result
	Question *CallQuestion `json:"question,omitempty"`
}

// CallQuestion is what a tool asks a person.
type CallQuestion struct {
	Text    string   `json:"text"`
	Choices []string `json:"choices,omitempty"`
	Resume  string   `json:"resume"`
}

// Call runs the tool {name} and answers with its result, or its question. A failure of the tool is
// a result, too.
func (a *API) Call(w http.ResponseWriter, r *http.Request) {
	var c CallRequest
	m, ok := read(w, r, &c, &c.Message)
	if !ok {
		return
	}
	host := tool.Host{Asks: c.Asks}
	if c.Asks && c.Answer != nil {
		host.Reply = &tool.Reply{Resume: c.Answer.Resume, Text: c.Answer.Text, Given: c.Answer.Given}
	}
	result, err := a.engine.Call(tool.WithHost(r.Context(), host), m, r.PathValue("name"), c.Arguments)
	var mismatch *tool.Mismatch
	var refused *rules.Refusal
	var question *tool.Question
	switch {
	case c.Asks && errors.As(err, &question):
		wire.Reply(w, http.StatusOK, CallReply{Question: &CallQuestion{question.Text, question.Choices,
			question.Resume}})
	case errors.Is(err, turn.ErrNoTool):
		wire.Refuse(w, http.StatusNotFound, result.Text)
	case errors.As(err, &mismatch):
		wire.Refuse(w, http.StatusBadRequest, result.Text)
	case errors.As(err, &refused):
		wire.Refuse(w, http.StatusForbidden, result.Text)
	case skill.Kind(err) != "":
		wire.Refuse(w, skill.Status(err), result.Text)
	case err != nil && !result.Failed:
		wire.Fail(w, err)
	default:
		wire.Reply(w, http.StatusOK, result)
	}
}

// Judge answers what would become of a call of the tool {name}. Nothing runs. Only
// operators read which rule decides, and which tools exist that the sender may not use.
func (a *API) Judge(w http.ResponseWriter, r *http.Request) {
	var c CallRequest
	m, ok := read(w, r, &c, &c.Message)
	if !ok {
		return
	}
	judgement, err := a.inspector.Judge(r.Context(), m, r.PathValue("name"), c.Arguments)
	if !wire.CallerOf(r).Operator {
		judgement = own(judgement)
	}
	wire.Answer(w, judgement, err)
}
