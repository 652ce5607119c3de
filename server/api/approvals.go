package api

import (
	"cmp"
	"net/http"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
)

// Approvals are the calls that wait for an answer, and the approvals that count always.
type Approvals struct {
	Waiting []approval.Approval `json:"waiting"`
	Lasting []approval.Grant    `json:"lasting"`
}

// ApprovalAnswer answers what waits.
type ApprovalAnswer struct {
	Approved bool `json:"approved"`
	// Lasts is empty for one call, session or always.
	Lasts session.Lasts `json:"lasts,omitempty"`
	// Reason says why a call is declined.
	Reason string `json:"reason,omitempty"`
	// Answer answers a question, instead.
	Answer string `json:"answer,omitempty"`
}

func (a ApprovalAnswer) said(by string) session.Answer {
	return session.Answer{Approved: a.Approved || a.Answer != "", Lasts: a.Lasts, Reason: a.Reason, Text: a.Answer, By: by}
}

// OwnAnswer is an [ApprovalAnswer] of a person, who sends it like a Message without a
// text.
type OwnAnswer struct {
	Message
	ApprovalAnswer
}

// Approvals answers with the [Approvals] of all people.
func (a *API) Approvals(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	waiting, err := a.engine.Approvals().List(r.Context())
	if err != nil {
		wire.Fail(w, err)
		return
	}
	lasting, err := a.engine.Approvals().Grants.List(r.Context())
	wire.Answer(w, Approvals{waiting, lasting}, err)
}

// OwnApprovals answers with a list of [approval.Approval]: what a person may answer.
func (a *API) OwnApprovals(w http.ResponseWriter, r *http.Request) {
	q, ok := person(w, r)
	if !ok {
		return
	}
	list, err := a.engine.Answers().For(r.Context(), engine.Message{User: q.Get("user"), Channel: "api"})
	wire.Answer(w, list, err)
}

// AnswerOwn answers what waits, as a person, and answers with the [approval.Approval].
func (a *API) AnswerOwn(w http.ResponseWriter, r *http.Request) {
	var in OwnAnswer
	m, ok := read(w, r, &in, &in.Message)
	if !ok {
		return
	}
	found, err := a.engine.Answers().Give(r.Context(), m, r.PathValue("id"), in.said(""), false)
	wire.Answer(w, found, err)
}

// Answer answers what waits, as an operator, whose answer always counts.
func (a *API) Answer(w http.ResponseWriter, r *http.Request) {
	var in ApprovalAnswer
	if !wire.Read(w, r, &in) {
		return
	}
	c := wire.CallerOf(r)
	said := in.said(cmp.Or(c.User, c.Key, "an operator"))
	found, err := a.engine.Answers().Give(r.Context(), engine.Message{}, r.PathValue("id"), said, true)
	wire.Answer(w, found, err)
}

// Revoke removes an approval that counts always, and answers with those that are left.
func (a *API) Revoke(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	err := a.engine.Approvals().Grants.Revoke(r.Context(), r.PathValue("id"))
	if err != nil {
		wire.Fail(w, err)
		return
	}
	left, err := a.engine.Approvals().Grants.List(r.Context())
	wire.Answer(w, left, err)
}
