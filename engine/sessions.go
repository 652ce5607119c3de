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

// look waits until a caller may read a conversation.
func (e *Engine) look(ctx context.Context, who string) (leave func(), err error) {
	leave, err = e.looks.Enter(ctx, "", who, store.People, maxLooking)
	if errors.Is(err, mailbox.ErrCrowded) {
		err = fmt.Errorf("%w to be shown conversations; try again in a moment", ErrBusy)
	}
	return leave, err
}

// Session returns a session with its messages from the one at skip on, at most limit of
// them and [session.MaxLoad] bytes; a negative skip means its newest ones. An unknown key is
// [session.ErrNotFound]. Arguments of calls that are not JSON become a text, and what a provider
// wants back is left out.
func (e *Engine) Session(ctx context.Context, key session.Key, skip, limit int) (Conversation, error) {
	_, owner := route.Owner(key) // who looks, as a rule
	leave, err := e.look(ctx, owner)
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
			calls[j].State = nil
		}
		c.Said[i].Calls, c.Said[i].State, c.Said[i].StateOf = calls, nil, "" // they are for the model's provider alone
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

// Names returns the names under which messages and records of a person are kept: the
// name and the identities of a person of the configuration, or the name of a peer, such as
// telegram:42.
func (e *Engine) Names(user string) []string {
	s := e.users(e.Catalog()).Sender("", user)
	if s.User != nil {
		return append([]string{s.User.Name}, s.User.Identities...)
	}
	return []string{s.Record()}
}

// Belongs reports whether a session is the own one of a person with some names: nobody
// else wrote in it, and it is neither a group's nor that of all, where people without a name
// may have. Where no message names its author the key decides.
func Belongs(s session.Summary, names []string) bool {
	if route.Group(s.Key) || operators(s.Key) {
		return false
	}
	if len(s.Users) == 0 {
		_, owner := route.Owner(s.Key)
		return owner != "" && slices.Contains(names, owner)
	}
	return len(s.Users) < session.MaxUsers && !slices.ContainsFunc(s.Users, func(user string) bool { return !slices.Contains(names, user) })
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

// Forgotten counts what was removed of a person.
type Forgotten struct {
	User string `json:"user"`
	// Sessions are conversations of their own; Messages are those that they wrote in
	// conversations with others, with the answers to them.
	Sessions int `json:"sessions"`
	Messages int `json:"messages"`
	// Turns are past turns, which vote for tools; Calls are calls of skills.
	Turns int `json:"turns"`
	Calls int `json:"calls"`
	// Memories are what agents remembered of the person, counted by agent and name.
	Memories int `json:"memories"`
	// Tasks and Approvals are what the clock would have said for the person, and approvals
	// that counted always.
	Tasks     int `json:"tasks"`
	Approvals int `json:"approvals"`
	// Decisions are entries of the audit that no longer say whose call it was, nor its
	// arguments.
	Decisions int `json:"decisions"`
	// Chats are what channels kept: that the person was let in, and web chats. The engine
	// counts none.
	Chats int `json:"chats"`
}

// ForgetUser removes what is kept of a person, on all channels: their sessions, what they
// wrote in sessions with others, their past turns with the votes, the history of their
// calls, what agents remember of them, their tasks and lasting approvals, and their name
// and arguments in the audit. See [Engine.Names] for how a person is named. What is running
// in a session ends first. With a [store.Shared], the other processes that are alive remove
// what each keeps by itself; an error says if one did not answer.
func (e *Engine) ForgetUser(ctx context.Context, user string) (Forgotten, error) {
	f := forgetting{engine: e, done: Forgotten{User: user}}
	if user == "" {
		return f.done, errors.New("the name of a person is missing")
	}
	f.names = e.Names(user)
	err := f.sessions(ctx)
	if err == nil {
		err = f.items(ctx)
	}
	for _, name := range f.names {
		if err == nil {
			err = f.own(ctx, name)
		}
		if err == nil {
			err = f.records(ctx, name)
		}
	}
	if err == nil {
		err = f.elsewhere(ctx)
	}
	if s, ok := f.engine.config.Store.(store.Scrubber); ok && err == nil {
		err = s.Scrub(ctx)
	}
	return f.done, err
}

// forgetting is a person who is being forgotten.
type forgetting struct {
	engine *Engine
	names  []string
	done   Forgotten
}

const (
	// page is how many sessions are listed at once.
	page = 200
	// maxPages bounds how long ForgetUser runs after a person who goes on writing.
	maxPages = 1000
)

// sessions removes what all sessions keep of the person.
func (f *forgetting) sessions(ctx context.Context) error {
	for range maxPages {
		wrote, err := f.engine.config.Store.List(ctx, session.Filter{Users: f.names, Limit: page})
		if err != nil {
			return err
		}
		if len(wrote) == 0 {
			break
		}
		for _, s := range wrote {
			if err := f.session(ctx, s); err != nil {
				return err
			}
		}
	}
	// Some sessions have no message with an author, but a key that names their owner.
	for after := (session.Cursor{}); ; {
		list, err := f.engine.config.Store.List(ctx, session.Filter{After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, s := range list {
			if Belongs(s, f.names) {
				if err := f.session(ctx, s); err != nil {
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
func (f *forgetting) session(ctx context.Context, s session.Summary) error {
	if Belongs(s, f.names) {
		err := f.engine.DeleteSession(ctx, s.Key)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		f.done.Sessions++
		return err
	}
	leave, err := f.engine.box.Enter(ctx, s.Key)
	if err != nil {
		return err
	}
	defer leave()
	now, err := f.engine.config.Store.Load(ctx, s.Key, session.Sent)
	if err != nil {
		return err
	}
	state := now.Clone()
	// A turn must not go on without the phases of its workflow, which is removed below.
	if now.Turn.ID != "" && (now.Flow.Runs() || f.is(lastAuthor(now.Messages))) {
		var left []chat.Message
		state, left = turn.Close(now, f.engine.Catalog(), "what is kept of its user was removed", f.engine.config.Now())
		if err := f.engine.config.Store.Append(ctx, s.Key, state, left...); err != nil {
			return err
		}
	}
	// The next request is built anew from what is left.
	state.Sent, state.Summary, state.Front = 0, "", session.Front{}
	state.Awaits = slices.DeleteFunc(state.Awaits, func(a session.Await) bool { return f.is(a.User) })
	state.Granted = slices.DeleteFunc(state.Granted, func(g session.Granted) bool { return f.is(g.User) || f.is(g.By) })
	if state.Flow.Runs() { // as when somebody stops it
		state.Skill = state.Flow.Before
	}
	state.Flow = nil // its input, answers and results do not say whose they are
	for _, name := range f.names {
		n, err := f.engine.config.Store.Erase(ctx, s.Key, state, name)
		f.done.Messages += n
		if err != nil {
			return err
		}
	}
	return nil
}

// items removes the items of the inbox that no session took with it, as those of messages
// that were parked before a turn began.
func (f *forgetting) items(ctx context.Context) error {
	for after := int64(-1); ; { // no ID is so low: the order is that of the IDs
		list, err := f.engine.config.Store.Items(ctx, store.ItemFilter{After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, i := range list {
			after = i.ID
			if i.State == store.Waiting || !f.is(i.User) {
				continue
			}
			now, err := f.engine.config.Store.Load(ctx, i.Session, 1)
			if err != nil {
				return err
			}
			n, err := f.engine.config.Store.Erase(ctx, i.Session, now.State, i.User)
			if f.done.Messages += n; err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// is reports whether a name is one of the person's.
func (f *forgetting) is(name string) bool { return slices.Contains(f.names, name) }

// records removes calls, tasks and lasting approvals, and makes decisions anonymous.
func (f *forgetting) records(ctx context.Context, name string) error {
	if err := f.standing(ctx, name); err != nil {
		return err
	}
	calls, decisions, err := f.engine.config.Calls.Erase(ctx, name)
	f.done.Calls, f.done.Decisions = f.done.Calls+calls, f.done.Decisions+decisions
	return err
}

// standing removes the tasks of a person, and the approvals that count always for them.
func (f *forgetting) standing(ctx context.Context, name string) error {
	list, err := f.engine.Tasks(ctx)
	for _, t := range list {
		if err == nil && f.engine.taskOwner(t) == name {
			_, err = f.engine.RemoveTask(ctx, t.ID)
			f.done.Tasks++
		}
	}
	if err != nil {
		return err
	}
	lasting, err := f.engine.Grants(ctx)
	for _, g := range lasting {
		switch {
		case err != nil:
		case g.User == name:
			err = f.engine.Revoke(ctx, g.ID)
			f.done.Approvals++
		case g.By == name: // it is somebody else's, and counts on
			g.By = ""
			value, _ := json.Marshal(g) // texts and a time
			err = f.engine.config.Store.Put(ctx, grants, g.ID, value)
		}
	}
	return err
}

// lastAuthor returns who wrote the newest message of a user.
func lastAuthor(messages []chat.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == chat.User {
			return m.User
		}
	}
	return ""
}
