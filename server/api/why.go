package api

import (
	"net/http"

	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// Question asks what a message would get.
type Question struct {
	Message
	// Alternatives asks also what it would get with every other toolset, and with
	// the roles and channels of Try.
	Alternatives bool          `json:"alternatives,omitempty"`
	Try          selection.Try `json:"try,omitzero"`
}

// Answer is what a message would get.
type Answer struct {
	selection.Explanation
	// Refused are the tools among what is sent whose call the policy would refuse.
	Refused []turn.Judgement `json:"refused,omitempty"`
}

// Select answers a [Question] with an [Answer].
func (a *API) Select(w http.ResponseWriter, r *http.Request) {
	var q Question
	m, ok := read(w, r, &q, &q.Message)
	if !ok {
		return
	}
	sel, refused, err := a.engine.Explain(r.Context(), m)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	x := Answer{Explanation: sel.Explain(), Refused: refused}
	if q.Alternatives {
		x.Alternatives = sel.Alternatives(q.Try)
	}
	wire.Reply(w, http.StatusOK, x)
}

// Look asks what earlier messages of a conversation got. The conversation is found
// as for the Message, whose text is not needed.
type Look struct {
	Message
	// Turns is how many messages to look back at; 0 means 1. At most 100 are
	// reported.
	Turns int `json:"turns,omitempty"`
	// Own asks for an answer that the caller may read. Without it the answer is for
	// operators, see [engine.Engine.Why].
	Own bool `json:"own,omitempty"`
}

// Why answers a [Look] with a list of [engine.Turn].
func (a *API) Why(w http.ResponseWriter, r *http.Request) {
	var l Look
	m, ok := read(w, r, &l, &l.Message)
	if !ok {
		return
	}
	turns, err := a.engine.Why(r.Context(), m, l.Turns, l.Own)
	wire.Answer(w, turns, err)
}
