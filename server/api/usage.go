package api

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/usage"
)

// PastTurns answers with the [learning.Record] that the query chooses.
func (a *API) PastTurns(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "agent", "user", "limit")
	if !ok {
		return
	}
	limit, err := wire.Limit(q, "turns")
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	past, err := a.engine.Learner().Record(r.Context(),
		usage.Filter{Agent: q.Get("agent"), User: q.Get("user"), Limit: limit})
	wire.Answer(w, past, err)
}

// Turns answers with the latest turns of all conversations: a list of [inspect.PastTurn].
func (a *API) Turns(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "limit")
	if !ok {
		return
	}
	limit, err := wire.Limit(q, "turns")
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	turns, err := a.inspector.Turns(r.Context(), min(cmp.Or(limit, someMessages), maxMessages))
	wire.Answer(w, turns, err)
}

// Forgotten says how many turns were erased.
type Forgotten struct {
	Erased int `json:"erased"`
}

// Forget erases the past turns of a user, or of everybody.
func (a *API) Forget(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "user", "everybody")
	if !ok {
		return
	}
	user := q.Get("user")
	everybody, err := wire.Flag(q, "everybody")
	if err == nil && (user == "") != everybody {
		err = errors.New("say whose turns to erase: ?user=, or ?everybody=true")
	}
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	n, err := a.engine.Learner().Forget(r.Context(), user, everybody)
	wire.Answer(w, Forgotten{Erased: n}, err)
}
