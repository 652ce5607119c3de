package api

import (
	"net/http"
	"slices"

	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// Question asks what a message would get.
type Question struct {
	Message
	// Alternatives asks also what it would get with every other toolset, and with
	// the roles and channels of Try. Only operators get an answer.
	Alternatives bool          `json:"alternatives,omitempty"`
	Try          selection.Try `json:"try,omitzero"`
	// Configuration is the text of another configuration, whose rules count in place of those in
	// effect. Only operators may give one.
	Configuration string `json:"configuration,omitempty"`
	// Judge asks which of all tools that the sender may see the policy would refuse, not only of those sent.
	Judge bool `json:"judge,omitempty"`
}

// Answer is what a message would get.
type Answer struct {
	selection.Explanation
	// Refused are the tools among what is sent whose call the policy would refuse, or leave to a person.
	Refused []turn.Judgement `json:"refused,omitempty"`
}

// Select answers a [Question] with an [Answer].
func (a *API) Select(w http.ResponseWriter, r *http.Request) {
	var q Question
	m, ok := read(w, r, &q, &q.Message)
	if !ok {
		return
	}
	sel, refused, err := a.inspector.Explain(r.Context(), m, q.Judge)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	if q.Configuration != "" {
		if sel, refused, ok = a.otherwise(w, r, q.Configuration, sel); !ok {
			return
		}
	}
	x := Answer{Explanation: sel.Explain(), Refused: refused}
	switch {
	case !wire.CallerOf(r).Operator:
		x.own(sel.HiddenSkills)
	case q.Alternatives:
		x.Alternatives = sel.Alternatives(q.Try)
	}
	wire.Reply(w, http.StatusOK, x)
}

// otherwise makes a selection again by the rules of another configuration. When it cannot, it answers why.
func (a *API) otherwise(w http.ResponseWriter, r *http.Request, text string,
	sel *selection.Selection) (*selection.Selection, []turn.Judgement, bool) {
	if !wire.CallerOf(r).Operator || a.config.Otherwise == nil {
		wire.Refuse(w, http.StatusForbidden, "only operators of a gateway with a configuration may try other rules")
		return nil, nil, false
	}
	book, err := a.config.Otherwise(text)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return nil, nil, false
	}
	sel = selection.New(book.Catalog, a.config.Selection).Select(sel.Request)
	var refused []turn.Judgement
	for _, e := range slices.Concat(sel.Declared, sel.Announced, sel.Named) {
		entry, ok := book.Catalog.Get(e.Definition.Name)
		if !ok {
			continue // one of etui's own
		}
		d := book.Decide(r.Context(), rules.Attempt{Facts: sel.Request.Facts, Catalog: book.Catalog, Now: book.Catalog,
			Entry: entry})
		if d.Effect != rules.Allow {
			refused = append(refused, turn.Judgement{Tool: e.Definition.Name, Effect: d.Effect, Stage: turn.StagePolicy,
				Rule: d.Rule, Reason: d.Reason, Depends: d.Depends})
		}
	}
	return sel, refused, true
}

// own leaves in the answer what the sender of the message may read: no tool or skill
// that is hidden, no count of them, and no rule.
func (x *Answer) own(hidden []string) {
	x.Funnel, x.Advice = []selection.Step{}, ""
	if slices.Contains(hidden, x.Facts.Skill) { // the agent's, or that of another member of a chat
		x.Facts.Skill = ""
	}
	x.Tools = slices.DeleteFunc(x.Tools, func(v selection.Verdict) bool { return !v.Stage.Usable() })
	x.Skills = slices.DeleteFunc(x.Skills, func(s selection.SkillVerdict) bool { return !s.Stage.Usable() })
	for i, j := range x.Refused {
		x.Refused[i] = own(j)
	}
}

// own leaves in a judgement what the sender of the message may read: no rule, and one
// answer for tools that do not exist and tools that the sender may not use.
func own(j turn.Judgement) turn.Judgement {
	switch j.Stage {
	case turn.StageArguments: // what is wrong with them
	case "", turn.StagePolicy:
		j.Rule, j.Reason = "", ""
	default:
		j = turn.Judgement{Tool: j.Tool, Effect: j.Effect, Stage: turn.StageUnknown}
	}
	return j
}

// Look asks what earlier messages of a conversation got. The conversation is found
// as for the Message, whose text is not needed.
type Look struct {
	Message
	// Turns is how many messages to look back at; 0 means 1. At most 100 are
	// reported.
	Turns int `json:"turns,omitempty"`
	// Own asks for an answer that the caller may read. Without it the answer is for
	// operators, see [inspect.Inspector.Why].
	Own bool `json:"own,omitempty"`
}

// Why answers a [Look] with a list of [inspect.Turn].
func (a *API) Why(w http.ResponseWriter, r *http.Request) {
	var l Look
	m, ok := read(w, r, &l, &l.Message)
	if !ok {
		return
	}
	turns, err := a.inspector.Why(r.Context(), m, l.Turns, l.Own || !wire.CallerOf(r).Operator)
	wire.Answer(w, turns, err)
}
