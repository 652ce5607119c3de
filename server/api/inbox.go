package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/server/wire"
)

// Inbox answers with an [inbox.Item] for each message that is parked or waits.
func (a *API) Inbox(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "limit")
	if !ok {
		return
	}
	limit, err := wire.Limit(q, "messages")
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	list, err := a.inspector.Inbox(r.Context(), min(cmp.Or(limit, someMessages), maxMessages))
	wire.Answer(w, list, err)
}

// RunningTurns answers with a [live.Turn] for each turn that runs in this process.
func (a *API) RunningTurns(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		wire.Reply(w, http.StatusOK, a.engine.RunningTurns())
	}
}

// InboxItem answers with one [inbox.Item].
func (a *API) InboxItem(w http.ResponseWriter, r *http.Request) {
	a.ofItem(w, r, func(context.Context, int64) error { return nil })
}

// RetryItem takes a parked message up again, and answers with it. The body is {}.
func (a *API) RetryItem(w http.ResponseWriter, r *http.Request) {
	if !wire.Read(w, r, &struct{}{}) {
		return
	}
	a.ofItem(w, r, a.engine.Inbox().Retry)
}

// DropItem ends a parked message, and answers with what it was.
func (a *API) DropItem(w http.ResponseWriter, r *http.Request) {
	a.ofItem(w, r, a.engine.Inbox().Drop)
}

// ofItem does something with the message that the path names, and answers with what it
// was before.
func (a *API) ofItem(w http.ResponseWriter, r *http.Request, do func(ctx context.Context, id int64) error) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		wire.Fail(w, fmt.Errorf("%q: %w", r.PathValue("id"), inbox.ErrNoItem))
		return
	}
	item, err := a.engine.Inbox().Item(r.Context(), id)
	if err == nil {
		err = do(r.Context(), id)
	}
	wire.Answer(w, item, err)
}
