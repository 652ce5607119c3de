package erase

import (
	"context"
	"errors"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

const (
	// page is how many sessions are listed at once.
	page = 200
	// maxPages bounds how long a person is erased who goes on writing.
	maxPages = 1000
)

// sessions are the conversations and the inbox.
type sessions struct {
	engine Engine
	store  store.Store
}

// Erase implements [Part]: the person's own conversations are removed, and of those with others
// what the person wrote, with the answers.
func (s sessions) Erase(ctx context.Context, names []string) (map[string]int, error) {
	e := erasure{sessions: s, names: names, count: map[string]int{"sessions": 0, "messages": 0}}
	err := e.all(ctx)
	if err == nil {
		err = e.items(ctx)
	}
	return e.count, err
}

// erasure is a person who is being erased.
type erasure struct {
	sessions

	names []string
	count map[string]int
}

// all removes what all sessions keep of the person.
func (e *erasure) all(ctx context.Context) error {
	for range maxPages {
		wrote, err := e.store.List(ctx, session.Filter{Users: e.names, Limit: page})
		if err != nil {
			return err
		}
		if len(wrote) == 0 {
			break
		}
		for _, s := range wrote {
			if err := e.session(ctx, s); err != nil {
				return err
			}
		}
	}
	// Some sessions have no message with an author, but a key that names their owner.
	for after := (session.Cursor{}); ; {
		list, err := e.store.List(ctx, session.Filter{After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, s := range list {
			if route.Belongs(s, e.names) {
				if err := e.session(ctx, s); err != nil {
					return err
				}
			}
		}
		if len(list) < page {
			return nil
		}
		after = list[page-1].Cursor()
	}
}

// session removes what a session keeps of the person.
func (e *erasure) session(ctx context.Context, s session.Summary) error {
	if route.Belongs(s, e.names) {
		err := e.engine.Sessions().Delete(ctx, s.Key)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		e.count["sessions"]++
		return err
	}
	leave, err := e.engine.Sessions().Enter(ctx, s.Key)
	if err != nil {
		return err
	}
	defer leave()
	now, err := e.store.Load(ctx, s.Key, session.Sent)
	if err != nil {
		return err
	}
	state := now.Clone()
	// A turn must not go on without the phases of its workflow, which is removed below.
	if now.Turn.ID != "" && (now.Flow.Runs() || e.is(lastAuthor(now.Messages))) {
		var left []chat.Message
		state, left = turn.Close(now, e.engine.Catalog(), "what is kept of its user was removed", e.engine.Now())
		if err := e.store.Append(ctx, s.Key, state, left...); err != nil {
			return err
		}
	}
	// The next request is built anew from what is left.
	state.Sent, state.Summary, state.Front = 0, "", session.Front{}
	state.Awaits = slices.DeleteFunc(state.Awaits, func(a session.Await) bool { return e.is(a.User) })
	state.Granted = slices.DeleteFunc(state.Granted, func(g session.Grant) bool { return e.is(g.User) || e.is(g.By) })
	if state.Flow.Runs() { // as when somebody stops it
		state.Skill = state.Flow.Before
	}
	state.Flow = nil // its input, answers and results do not say whose they are
	for _, name := range e.names {
		n, err := e.store.Erase(ctx, s.Key, state, name)
		e.count["messages"] += n
		if err != nil {
			return err
		}
	}
	return nil
}

// items removes the items of the inbox that no session took with it, as those of messages
// that were parked before a turn began.
func (e *erasure) items(ctx context.Context) error {
	for after := int64(-1); ; { // no ID is so low: the order is that of the IDs
		list, err := e.store.Items(ctx, store.ItemFilter{After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, i := range list {
			after = i.ID
			if i.State == store.Waiting || !e.is(i.User) {
				continue
			}
			now, err := e.store.Load(ctx, i.Session, 1)
			if err != nil {
				return err
			}
			n, err := e.store.Erase(ctx, i.Session, now.State, i.User)
			if e.count["messages"] += n; err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// is reports whether a name is one of the person's.
func (e *erasure) is(name string) bool { return slices.Contains(e.names, name) }

// lastAuthor returns who wrote the newest message of a user.
func lastAuthor(messages []chat.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == chat.User {
			return m.User
		}
	}
	return ""
}
