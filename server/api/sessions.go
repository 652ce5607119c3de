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

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
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

// Conversations answers requests about conversations: those of the person that the query names, see
// [route.Belongs], or for operators those of everybody.
type Conversations struct {
	engine *engine.Engine
	all    bool
}

// File answers with a picture or PDF of a message, by its hash, as a [chat.File].
func (c Conversations) File(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok {
		f, err := c.engine.Inbox().File(r.Context(), r.PathValue("sha256"))
		wire.Answer(w, f, err)
	}
}

// List answers with a [SessionPage] of the sessions that the query chooses.
func (c Conversations) List(w http.ResponseWriter, r *http.Request) {
	names := []string{"part", "limit", "after"}
	if c.all {
		names = append(names, "user", "key")
	}
	q, ok := c.query(w, r, names...)
	if !ok {
		return
	}
	limit, err := wire.Limit(q, "sessions")
	f := session.Filter{Key: session.Key(q.Get("key")), Part: q.Get("part"),
		Limit: min(cmp.Or(limit, someSessions), maxSessions)}
	if user := q.Get("user"); user != "" {
		f.Users = c.engine.Agents().Users().Names(user)
	}
	if err == nil {
		f.After, err = parseCursor(q.Get("after"))
	}
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	list, err := c.engine.Store().List(r.Context(), f)
	page := SessionPage{Sessions: []session.Summary{}}
	for _, s := range list {
		if c.all || route.Belongs(s, f.Users) {
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

// Show answers with an [engine.Conversation]: its newest messages, or those after the first skip of
// them. A person does not see what only operators read: see [chat.Message].
func (c Conversations) Show(w http.ResponseWriter, r *http.Request) {
	q, ok := c.query(w, r, "skip", "limit")
	if !ok {
		return
	}
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
	found, err := inspect.New(c.engine).Session(r.Context(), session.Key(r.PathValue("key")), skip,
		min(cmp.Or(limit, someMessages), maxMessages))
	for i := range found.Said {
		if m := &found.Said[i]; !c.all {
			m.Why, m.Tools, m.Spent = nil, nil, nil
			if m.Text != "" { // otherwise the note is the message: the outcome of a call
				m.Note = ""
			}
		}
	}
	wire.Answer(w, found, err)
}

// StoppedTurn says whether a turn of a session was stopped: false means that none ran.
type StoppedTurn struct {
	Stopped bool `json:"stopped"`
}

// Stop stops the turn of a session. The body is {}.
func (c Conversations) Stop(w http.ResponseWriter, r *http.Request) {
	names := []string{"user"}
	if c.all {
		names = nil
	}
	if _, ok := wire.Query(w, r, names...); !ok || !wire.ReadBody(w, r, &struct{}{}) {
		return
	}
	if _, ok := c.query(w, r); !ok {
		return
	}
	stopped, err := c.engine.Sessions().Stop(r.Context(), session.Key(r.PathValue("key")))
	wire.Answer(w, StoppedTurn{stopped}, err)
}

// DeletedSession says which session was deleted.
type DeletedSession struct {
	Deleted session.Key `json:"deleted"`
}

// Delete deletes a session when its running turn has ended.
func (c Conversations) Delete(w http.ResponseWriter, r *http.Request) {
	if _, ok := c.query(w, r); !ok {
		return
	}
	key := session.Key(r.PathValue("key"))
	wire.Answer(w, DeletedSession{key}, c.engine.Sessions().Delete(r.Context(), key))
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
		wire.Fail(w, phrase.Errorf("%w: it may not speak for others, so leave user out", wire.ErrForbidden))
		return nil, false
	case !c.ForOthers:
		q.Set("user", c.User)
	}
	if q.Get("user") == "" {
		wire.Refuse(w, http.StatusBadRequest,
			"say whose conversations: ?user=; operators read all of them under /admin/sessions")
		return nil, false
	}
	return q, true
}

// query reads a query. Unless all conversations are meant, it says whose, and a session that the path
// names must be one of these. When it cannot, it answers why and returns false.
func (c Conversations) query(w http.ResponseWriter, r *http.Request, names ...string) (url.Values, bool) {
	if c.all {
		return wire.Query(w, r, names...)
	}
	q, ok := person(w, r, names...)
	if key := r.PathValue("key"); ok && key != "" {
		ok = c.owns(w, r, session.Key(key), q.Get("user"))
	}
	return q, ok
}

// owns reports whether a session belongs to a person. Otherwise it answers as if there were no such
// session.
func (c Conversations) owns(w http.ResponseWriter, r *http.Request, key session.Key, user string) bool {
	list, err := c.engine.Store().List(r.Context(), session.Filter{Key: key, Limit: 1})
	if err == nil && (len(list) == 0 || !route.Belongs(list[0], c.engine.Agents().Users().Names(user))) {
		err = phrase.Errorf("session %q: %w", key, session.ErrNotFound)
	}
	if err != nil {
		wire.Fail(w, err)
	}
	return err == nil
}
