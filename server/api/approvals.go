package api

import (
	"net/http"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
)

// Approvals are the calls that wait for an answer, and the approvals that count always.
type Approvals struct {
	Waiting []approval.Approval `json:"waiting"`
	Lasting []approval.Grant    `json:"lasting"`
}

// ApprovalAnswer answers what waits. One of Approved, Answer and Withdrawn is needed.
type ApprovalAnswer struct {
	// Approved says whether a call may run.
	Approved *bool `json:"approved,omitempty"`
	// Lasts is empty for one call, session or always.
	Lasts session.Lasts `json:"lasts,omitempty"`
	// Reason says why a call is declined.
	Reason string `json:"reason,omitempty"`
	// Answer answers a question, instead.
	Answer string `json:"answer,omitempty"`
	// Withdrawn takes back a call that the sender has asked for.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// said returns the answer, or refuses a body that decides nothing, or two things at once.
func (a ApprovalAnswer) said(by string) (session.Answer, error) {
	decided := 0
	for _, is := range []bool{a.Approved != nil, a.Answer != "", a.Withdrawn} {
		if is {
			decided++
		}
	}
	if decided != 1 {
		return session.Answer{}, phrase.Errorf(`%w: say what you decide: {"approved": true}, {"approved": false}, {"answer": "TEXT"} for a question, or {"withdrawn": true}`, engine.ErrInvalid)
	}
	yes := a.Answer != "" || a.Approved != nil && *a.Approved
	return session.Answer{Approved: yes, Withdrawn: a.Withdrawn, Lasts: a.Lasts, Reason: a.Reason, Text: a.Answer,
		By: by}, nil
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

// OwnApprovals answers with a list of [approval.Approval]: what a person may answer, and what they asked
// for that only others may answer.
func (a *API) OwnApprovals(w http.ResponseWriter, r *http.Request) {
	q, ok := person(w, r)
	if !ok {
		return
	}
	list, asked, err := a.engine.Answers().Open(r.Context(), engine.Message{User: q.Get("user"), Channel: "api"})
	for _, own := range a.engine.Inquiries().AddAsked(r.Context(), asked) {
		own.Theirs = true
		list = append(list, own)
	}
	wire.Answer(w, list, err)
}

// AnswerOwn answers what waits, as a person, and answers with the [approval.Approval].
func (a *API) AnswerOwn(w http.ResponseWriter, r *http.Request) {
	var in OwnAnswer
	m, ok := read(w, r, &in, &in.Message)
	if !ok {
		return
	}
	a.answer(w, r, m, in.ApprovalAnswer, "", false)
}

// Answer answers what waits, as an operator, whose answer always counts.
func (a *API) Answer(w http.ResponseWriter, r *http.Request) {
	var in ApprovalAnswer
	if !wire.Read(w, r, &in) {
		return
	}
	a.answer(w, r, engine.Message{}, in, wire.CallerOf(r).Name(), true)
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, m engine.Message, in ApprovalAnswer, by string,
	operator bool) {
	said, err := in.said(by)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	found, err := a.engine.Answers().Give(r.Context(), m, r.PathValue("id"), said, operator)
	wire.Answer(w, found, err)
}

// Revoke removes an approval that counts always, and answers with those that are left.
func (a *API) Revoke(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	grants := a.engine.Approvals().Grants
	err := grants.Revoke(r.Context(), r.PathValue("id"))
	var left []approval.Grant
	if err == nil {
		left, err = grants.List(r.Context())
	}
	wire.Answer(w, left, err)
}
