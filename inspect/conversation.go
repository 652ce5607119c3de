package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Conversation is a session as people read it.
type Conversation struct {
	session.Summary
	// Phase says whether a turn of it is open, and how far that has come.
	Phase turn.Phase `json:"phase"`
	// Summarised tells the model what was said before the newest Sent messages; empty
	// when it reads all of them.
	Summarised string `json:"summary,omitempty"`
	Sent       int    `json:"sent,omitempty"`
	// Skip is how many messages came before those in Said.
	Skip int `json:"skip"`
	// Said are messages of it, oldest first.
	Said []chat.Message `json:"said"`
	// Waiting are messages that were accepted and are not in Said yet, the first 20 of them.
	// The first one is perhaps being answered.
	Waiting []inbox.Item `json:"waiting,omitempty"`
}

// showWaiting is how many waiting messages a [Conversation] shows.
const showWaiting = 20

// Session returns a session with its messages from the one at skip on, at most limit of
// them and [session.MaxLoad] bytes; a negative skip means its newest ones. An unknown key is
// [session.ErrNotFound]. Arguments of calls that are not JSON become a text, and what a provider
// wants back is left out.
func (i *Inspector) Session(ctx context.Context, key session.Key, skip, limit int) (Conversation, error) {
	_, owner := route.Owner(key) // who looks, as a rule
	leave, err := i.engine.Sessions().Look(ctx, owner)
	if err != nil {
		return Conversation{}, err
	}
	defer leave()
	list, err := i.engine.Store().List(ctx, session.Filter{Key: key, Limit: 1})
	if err != nil {
		return Conversation{}, err
	}
	if len(list) == 0 {
		return Conversation{}, fmt.Errorf("session %q: %w", key, session.ErrNotFound)
	}
	c := Conversation{Summary: list[0], Skip: skip}
	if skip < 0 { // a page from there on could end before the newest ones
		newest, err := i.engine.Store().Load(ctx, key, limit)
		if err != nil {
			return c, err
		}
		c.Said = newest.Messages
		c.Skip = max(0, c.Messages-len(c.Said))
	} else if c.Said, err = i.engine.Store().Messages(ctx, key, c.Skip, limit); err != nil {
		return c, err
	}
	for n := range c.Said {
		calls := slices.Clone(c.Said[n].Calls)
		for j, call := range calls {
			calls[j].State = nil
			if len(call.Arguments) > 0 && !json.Valid(call.Arguments) {
				calls[j].Arguments, _ = json.Marshal(string(call.Arguments)) // a text always marshals
			}
		}
		c.Said[n].Calls, c.Said[n].State, c.Said[n].StateOf = calls, nil, ""
	}
	s, err := i.engine.Store().Load(ctx, key, session.Sent)
	c.Phase = turn.PhaseOf(s)
	if s.Summary != "" {
		c.Summarised, c.Sent = s.Summary, max(0, s.Sent)
	}
	if err == nil {
		c.Waiting, err = i.waiting(ctx, s)
	}
	return c, err
}

// waiting returns what users wrote in a session that is not among its messages yet.
func (i *Inspector) waiting(ctx context.Context, s session.Session) (list []inbox.Item, err error) {
	filter := store.ItemFilter{Session: s.Key, State: store.Waiting, Limit: showWaiting}
	items, err := i.engine.Store().Items(ctx, filter)
	for _, item := range items {
		if shown := inbox.View(item); shown.Text != "" && item.ID != s.Turn.Item {
			list = append(list, shown)
		}
	}
	return list, err
}

// Inbox returns the messages that are parked, then those whose reply is to be delivered, and
// then those that wait, each in the order of their mailboxes and at most limit of them.
func (i *Inspector) Inbox(ctx context.Context, limit int) ([]inbox.Item, error) {
	list := []inbox.Item{}
	for _, state := range []store.State{store.Parked, store.Answered, store.Waiting} {
		found, err := i.engine.Store().Items(ctx, store.ItemFilter{State: state, Limit: limit})
		if err != nil {
			return nil, err
		}
		for _, item := range found {
			shown := inbox.View(item)
			if here, ok := i.engine.Store().(store.Shared); ok && item.Holder != here.Holder() {
				shown.Process = item.Holder
			}
			list = append(list, shown)
		}
	}
	return slices.Clip(list), nil
}
