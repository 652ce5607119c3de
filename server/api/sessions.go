package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
)

// SessionPage is a part of the list of sessions, most recently changed first.
type SessionPage struct {
	Sessions []session.Summary `json:"sessions"`
	// Next is the value of after for the next part; empty at the end of the list.
	Next string `json:"next,omitempty"`
}

// How many sessions and messages an answer has at most, and if the query does not say.
const (
	maxSessions, someSessions = 500, 50
	maxMessages, someMessages = 1000, 100
)

// OwnSessions answers with the [SessionPage] of the person that the query names: only
// sessions that belong to them, see [engine.Belongs].
func (a *API) OwnSessions(w http.ResponseWriter, r *http.Request) {
	if q, ok := person(w, r, "part", "limit", "after"); ok {
		a.listSessions(w, r, q, a.own(q.Get("user")))
	}
}

// OwnSession answers with an [engine.Conversation] that belongs to a person, without what
// only operators read: see [chat.Message].
func (a *API) OwnSession(w http.ResponseWriter, r *http.Request) {
	if q, ok := person(w, r, "skip", "limit"); ok && a.owns(w, r, q.Get("user")) {
		a.showSession(w, r, q, func(m *chat.Message) {
			m.Why, m.Tools = nil, nil
			if m.Text != "" { // otherwise the note is the message: the outcome of a call
				m.Note = ""
			}
		})
	}
}

// DeleteOwnSession deletes a session that belongs to a person.
func (a *API) DeleteOwnSession(w http.ResponseWriter, r *http.Request) {
	if q, ok := person(w, r); ok && a.owns(w, r, q.Get("user")) {
		a.deleteSession(w, r)
	}
}

// Sessions answers with a [SessionPage] of the sessions that the query chooses.
func (a *API) Sessions(w http.ResponseWriter, r *http.Request) {
	if q, ok := wire.Query(w, r, "user", "part", "key", "limit", "after"); ok {
		a.listSessions(w, r, q, func(session.Summary) bool { return true })
	}
}

// Session answers with an [engine.Conversation]: its newest messages, or those after the
// first skip of them.
func (a *API) Session(w http.ResponseWriter, r *http.Request) {
	if q, ok := wire.Query(w, r, "skip", "limit"); ok {
		a.showSession(w, r, q, func(*chat.Message) {})
	}
}

// DeleteSession deletes a session when its running turn has ended.
func (a *API) DeleteSession(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		a.deleteSession(w, r)
	}
}

// File answers with a picture or PDF of a message, by its hash, as a [chat.File].
func (a *API) File(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		f, err := a.engine.File(r.Context(), r.PathValue("sha256"))
		wire.Answer(w, f, err)
	}
}

func (a *API) listSessions(w http.ResponseWriter, r *http.Request, q url.Values, shown func(session.Summary) bool) {
	limit, err := wire.Limit(q, "sessions")
	f := session.Filter{Key: session.Key(q.Get("key")), Part: q.Get("part"), Limit: min(cmp.Or(limit, someSessions), maxSessions)}
	if user := q.Get("user"); user != "" {
		f.Users = a.engine.Names(user)
	}
	if err == nil {
		f.After, err = parseCursor(q.Get("after"))
	}
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	list, err := a.engine.Sessions(r.Context(), f)
	page := SessionPage{Sessions: []session.Summary{}}
	for _, s := range list {
		if shown(s) {
			page.Sessions = append(page.Sessions, s)
		}
	}
	if len(list) == f.Limit {
		last := list[len(list)-1]
		page.Next = fmt.Sprintf("%d/%s", last.Updated.UnixMilli(), last.Key)
	}
	wire.Answer(w, page, err)
}

// parseCursor reads the place after which a list goes on.
func parseCursor(after string) (session.Cursor, error) {
	if after == "" {
		return session.Cursor{}, nil
	}
	text, key, ok := strings.Cut(after, "/")
	milli, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return session.Cursor{}, fmt.Errorf("after must be the next of an earlier answer, not %q", after)
	}
	return session.Cursor{Updated: time.UnixMilli(milli), Key: session.Key(key)}, nil
}

func (a *API) showSession(w http.ResponseWriter, r *http.Request, q url.Values, clean func(*chat.Message)) {
	limit, err := wire.Limit(q, "messages")
	skip := -1
	if text := q.Get("skip"); err == nil && text != "" {
		if skip, err = strconv.Atoi(text); err != nil || skip < 0 {
			err = errors.New("skip must be a number of messages")
		}
	}
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	c, err := a.engine.Session(r.Context(), session.Key(r.PathValue("key")), skip, min(cmp.Or(limit, someMessages), maxMessages))
	for i := range c.Said {
		clean(&c.Said[i])
	}
	wire.Answer(w, c, err)
}

// StoppedTurn says whether a turn of a session was stopped: false means that none ran.
type StoppedTurn struct {
	Stopped bool `json:"stopped"`
}

// StopOwnTurn stops the turn of a session that belongs to a person. The body is {}.
func (a *API) StopOwnTurn(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r, "user"); !ok || !wire.ReadBody(w, r, &struct{}{}) {
		return
	}
	if q, ok := person(w, r); ok && a.owns(w, r, q.Get("user")) {
		a.stopTurn(w, r)
	}
}

// StopTurn stops the turn of any session. The body is {}.
func (a *API) StopTurn(w http.ResponseWriter, r *http.Request) {
	if !wire.Read(w, r, &struct{}{}) {
		return
	}
	if _, ok := wire.Query(w, r); ok {
		a.stopTurn(w, r)
	}
}

func (a *API) stopTurn(w http.ResponseWriter, r *http.Request) {
	stopped, err := a.engine.StopTurn(r.Context(), session.Key(r.PathValue("key")))
	wire.Answer(w, StoppedTurn{stopped}, err)
}

// DeletedSession says which session was deleted.
type DeletedSession struct {
	Deleted session.Key `json:"deleted"`
}

func (a *API) deleteSession(w http.ResponseWriter, r *http.Request) {
	key := session.Key(r.PathValue("key"))
	wire.Answer(w, DeletedSession{key}, a.engine.DeleteSession(r.Context(), key))
}

// person reads a query that says whose sessions are meant, with parameters beside that.
// For a client that may not speak for others, that is the person to whom its key belongs.
// When it cannot, it answers why and returns false.
func person(w http.ResponseWriter, r *http.Request, names ...string) (url.Values, bool) {
	q, ok := wire.Query(w, r, append(names, "user")...)
	if !ok {
		return nil, false
	}
	c := wire.CallerOf(r)
	switch user := q.Get("user"); {
	case !c.ForOthers && user != "" && user != c.User:
		wire.Fail(w, fmt.Errorf("%w: it may not speak for others, so leave user out", wire.ErrForbidden))
		return nil, false
	case !c.ForOthers:
		q.Set("user", c.User)
	}
	if q.Get("user") == "" {
		wire.Refuse(w, http.StatusBadRequest, "say whose conversations: ?user=; operators read all of them under /admin/sessions")
		return nil, false
	}
	return q, true
}

// own returns what tells the sessions of a person from those of others.
func (a *API) own(user string) func(session.Summary) bool {
	names := a.engine.Names(user)
	return func(s session.Summary) bool { return engine.Belongs(s, names) }
}

// owns reports whether the session of a request belongs to a person. Otherwise it answers
// as if there were no such session.
func (a *API) owns(w http.ResponseWriter, r *http.Request, user string) bool {
	key := session.Key(r.PathValue("key"))
	list, err := a.engine.Sessions(r.Context(), session.Filter{Key: key, Limit: 1})
	if err == nil && (len(list) == 0 || !a.own(user)(list[0])) {
		err = fmt.Errorf("session %q: %w", key, session.ErrNotFound)
	}
	if err != nil {
		wire.Fail(w, err)
	}
	return err == nil
}
