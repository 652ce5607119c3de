// Package bare answers the chores of a chat client, as a title: by a model of their own, without tools,
// memory and a session.
package bare

import (
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

const instructions = "Do exactly what the message asks, and answer with the result alone."

// Runner returns what runs the turns of chores.
func Runner(m model.Model, cfg turn.Config) *turn.Runner {
	none := selection.New(catalog.NewRegistry(nil).Catalog(), selection.Config{})
	short := prompt.New(prompt.Config{Instructions: instructions, ToolFree: true})
	return turn.New(m, func() *selection.Selector { return none }, short, cfg)
}

// OfProgram reports whether a message can be a chore: a program sends it over an API. On a channel a person
// writes, and etui sends itself what sub-agents, tasks and workflows are asked.
func OfProgram(m message.Mail) bool {
	return m.Kind == message.KindQuestion && len(m.Reply) == 0 && m.Account == "" && m.Origin == nil &&
		m.Workflow == "" && !m.Background && !m.Operator
}

// Message returns a chore without what only the messages of people need. Nothing of it is stored. The client's
// tools stay if one of them must be called: some clients read the answer from its arguments.
func Message(m message.Mail) message.Mail {
	lite := prompt.Lite
	m.Skill, m.Strategy, m.NoMemory, m.NoRuntime, m.Include, m.IncludeSkills = catalog.Full, &lite, true, true, nil, nil
	if m.History == nil {
		m.History = []chat.Message{}
	}
	if !m.Offer.Required && m.Offer.Only == "" {
		m.Offer = clienttool.Offer{}
	}
	return m
}
