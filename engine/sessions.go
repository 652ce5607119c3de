package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Sessions returns the sessions that a filter chooses, most recently changed first.
func (e *Engine) Sessions(ctx context.Context, f session.Filter) ([]session.Summary, error) {
	return e.config.Store.List(ctx, f)
}

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
	Waiting []InboxItem `json:"waiting,omitempty"`
}

// showWaiting is how many waiting messages a [Conversation] shows.
const showWaiting = 20

// The bounds of looking at conversations: how many callers read one at a time, and how many
// more wait, of all and of one; the next one gets [ErrBusy].
const looking, maxLooking, eachLooking = 4, 64, 8

// Look waits until a caller may read a conversation: a few do at a time, until leave is called.
func (e *Engine) Look(ctx context.Context, who string) (leave func(), err error) {
	leave, err = e.looks.Enter(ctx, "", who, store.People, maxLooking)
	if errors.Is(err, mailbox.ErrCrowded) {
		err = fmt.Errorf("%w to be shown conversations; try again in a moment", ErrBusy)
	}
	return leave, err
}

// Session returns a session with its messages from the one at skip on, at most limit of
// them and [session.MaxLoad] bytes; a negative skip means its newest ones. An unknown key is
// [session.ErrNotFound]. Arguments of calls that are not JSON become a text.
func (e *Engine) Session(ctx context.Context, key session.Key, skip, limit int) (Conversation, error) {
	_, owner := route.Owner(key) // who looks, as a rule
	leave, err := e.Look(ctx, owner)
	if err != nil {
		return Conversation{}, err
	}
	defer leave()
	list, err := e.config.Store.List(ctx, session.Filter{Key: key, Limit: 1})
	if err != nil {
		return Conversation{}, err
	}
	if len(list) == 0 {
		return Conversation{}, fmt.Errorf("session %q: %w", key, session.ErrNotFound)
	}
	c := Conversation{Summary: list[0], Skip: skip}
	if skip < 0 { // a page from there on could end before the newest ones
		newest, err := e.config.Store.Load(ctx, key, limit)
		if err != nil {
			return c, err
		}
		c.Said = newest.Messages
		c.Skip = max(0, c.Messages-len(c.Said))
	} else if c.Said, err = e.config.Store.Messages(ctx, key, c.Skip, limit); err != nil {
		return c, err
	}
	for i := range c.Said {
		calls := slices.Clone(c.Said[i].Calls)
		for j, call := range calls {
			if len(call.Arguments) > 0 && !json.Valid(call.Arguments) {
				calls[j].Arguments, _ = json.Marshal(string(call.Arguments)) // a text always marshals
			}
		}
		c.Said[i].Calls = calls
	}
	s, err := e.config.Store.Load(ctx, key, session.Sent)
	c.Phase = turn.PhaseOf(s)
	if s.Summary != "" {
		c.Summarised, c.Sent = s.Summary, max(0, s.Sent)
	}
	if err == nil {
		c.Waiting, err = e.waiting(ctx, s)
	}
	return c, err
}

// waiting returns what users wrote in a session that is not among its messages yet.
func (e *Engine) waiting(ctx context.Context, s session.Session) (list []InboxItem, err error) {
	items, err := e.config.Store.Items(ctx, store.ItemFilter{Session: s.Key, State: store.Waiting, Limit: showWaiting})
	for _, i := range items {
		if shown := e.shown(i); shown.Text != "" && i.ID != s.Turn.Item {
			list = append(list, shown)
		}
	}
	return list, err
}

// Enter waits until nothing runs in a session, and keeps it so until leave is called.
func (e *Engine) Enter(ctx context.Context, key session.Key) (leave func(), err error) {
	return e.box.Enter(ctx, key)
}

// Erase removes what this engine keeps of a person under some names beside the conversations: what
// its agents remember, past turns, and answers that were lost on their way.
func (e *Engine) Erase(ctx context.Context, names []string) (map[string]int, error) {
	e.box.Answers.Clear() // of everybody: an answer to others may name the person
	count, err := e.learner.Erase(ctx, names)
	if err != nil {
		return count, err
	}
	count["memories"] = 0
	for _, a := range e.config.Agents {
		if a.Memory == nil {
			continue
		}
		found, err := a.Memory.Erase(ctx, names)
		if count["memories"] += found["memories"]; err != nil {
			return count, err
		}
	}
	return count, nil
}

// DeleteSession removes a session with all its messages, and those of its sub-agents, when
// its running turn and those that wait have ended. An unknown key is [session.ErrNotFound].
func (e *Engine) DeleteSession(ctx context.Context, key session.Key) error {
	if err := e.deleteAlone(ctx, key); err != nil {
		return fmt.Errorf("session %q: %w", key, err)
	}
	subs, err := e.children(ctx, key)
	for _, sub := range subs {
		if failed := e.DeleteSession(ctx, sub); failed != nil && !errors.Is(failed, session.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (e *Engine) deleteAlone(ctx context.Context, key session.Key) error {
	defer e.box.Answers.Clear() // of this session and, which costs little, of others
	leave, err := e.box.Enter(ctx, key)
	if err != nil {
		return err
	}
	defer leave()
	s, err := e.config.Store.Load(ctx, key, 1)
	if err == nil {
		err = e.config.Store.Delete(ctx, key)
	}
	if err == nil {
		e.stopAll(ctx, subAgents(s.State))
	}
	return err
}

// maxSwept is how many sessions Sweep removes in one transaction, so that no turn waits
// long to store a step.
const maxSwept = 100

// Sweep removes sessions that have not changed since a time and have nothing left to do.
// It returns how many, and stops when ctx ends.
func (e *Engine) Sweep(ctx context.Context, before time.Time) (int, error) {
	for n := 0; ; {
		swept, err := e.config.Store.Sweep(ctx, before, maxSwept)
		n += swept
		if err != nil || swept < maxSwept {
			return n, err
		}
	}
}
