package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// The bounds of looking at conversations: how many callers read one at a time, and how many
// more wait, of all and of one; the next one gets [ErrBusy].
const looking, maxLooking, eachLooking = 4, 64, 8

// Sessions are the conversations of an engine, for those who look at them, stop and delete them.
type Sessions struct {
	store     store.Store
	box       *mailbox.Box
	subAgents *subagent.Supervisor
	inquiries *inquiry.Inquiries
	catalog   func() *catalog.Catalog
	now       func() time.Time
	looks     mailbox.Lines // callers who look at conversations, under one key
}

// Look waits until a caller may read a conversation: a few do at a time, until leave is called.
func (c *Sessions) Look(ctx context.Context, who string) (leave func(), err error) {
	leave, err = c.looks.Enter(ctx, "", who, store.People, maxLooking)
	if errors.Is(err, mailbox.ErrCrowded) {
		err = fmt.Errorf("%w to be shown conversations; try again in a moment", ErrBusy)
	}
	return leave, err
}

// Enter waits until nothing runs in a session, and keeps it so until leave is called.
func (c *Sessions) Enter(ctx context.Context, key session.Key) (leave func(), err error) {
	return c.box.Enter(ctx, key)
}

// Delete removes a session with all its messages, and those of its sub-agents, when
// its running turn and those that wait have ended. An unknown key is [session.ErrNotFound].
func (c *Sessions) Delete(ctx context.Context, key session.Key) error {
	if err := c.deleteAlone(ctx, key); err != nil {
		return fmt.Errorf("session %q: %w", key, err)
	}
	subs, err := c.subAgents.Children(ctx, key)
	for _, sub := range subs {
		if failed := c.Delete(ctx, sub); failed != nil && !errors.Is(failed, session.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (c *Sessions) deleteAlone(ctx context.Context, key session.Key) error {
	defer c.box.Answers.Clear() // of this session and, which costs little, of others
	leave, err := c.box.Enter(ctx, key)
	if err != nil {
		return err
	}
	defer leave()
	s, err := c.store.Load(ctx, key, 1)
	if err == nil {
		err = c.store.Delete(ctx, key)
	}
	if err == nil {
		c.subAgents.Stop(ctx, subagent.Of(s.State))
		c.inquiries.Look() // what waited there does so no more
	}
	return err
}

// Stop ends the turn of a session that runs, or waits for an approval. It returns
// when the turn has ended, and false if there was none.
func (c *Sessions) Stop(ctx context.Context, key session.Key) (bool, error) {
	if stopped, err := c.box.Stops.Interrupt(ctx, key); stopped || err != nil {
		return stopped, err
	}
	leave, err := c.box.Enter(ctx, key)
	if err != nil {
		return false, err
	}
	defer leave()
	s, err := c.store.Load(ctx, key, session.Sent)
	if err != nil || turn.PhaseOf(s) != turn.Waiting || s.Turn.ID == "" && len(subagent.Of(s.State)) == 0 {
		return false, err
	}
	_, err = c.halt(ctx, s, "", s.Turn.Item, false)
	return err == nil, err
}

// halt ends the turn of a session that waits, if there is one, its sub-agents, and an item
// of the inbox with them.
func (c *Sessions) halt(
	ctx context.Context, s session.Session, lang string, item int64, deliver bool,
) (turn.End, error) {
	done := turn.End{Stopped: true}
	state, told, stopped := turn.StopSubAgents(s.State, c.now())
	if len(stopped) > 0 {
		done.Reply = phrase.In(lang, "Sub-agents that were stopped: %d.", len(stopped))
	}
	if s.State = state; s.Turn.ID != "" {
		for _, a := range s.Awaits {
			if a.For == session.Approval && a.Apart == nil {
				if err := c.inquiries.End(ctx, approval.Of(s, a),
					approval.Ending{How: approval.Withdrawn}); err != nil {
					return done, err
				}
			}
		}
		var left []chat.Message
		var reply string
		state, left, reply = turn.Halt(s, c.catalog(), lang, c.now())
		told, done.Reply = append(left, told...), strings.TrimSpace(reply+" "+done.Reply)
	}
	if state.Flow.Runs() {
		state.Flow, state.Skill = state.Flow.Clone(), state.Flow.Before
		workflow.End(state.Flow, workflow.Stopped, "a person stopped it")
		done.Flow = state.Flow.Brief()
		done.Reply = strings.TrimSpace(done.Reply + " " +
			phrase.In(lang, "The workflow %s is stopped.", state.Flow.Workflow))
	}
	err := c.box.Write(ctx, store.End{
		ID: item, Result: message.Result(&done, nil), Deliver: deliver, Session: s.Key, State: state, Messages: told,
	})
	if err == nil {
		c.subAgents.Stop(ctx, stopped)
	}
	c.inquiries.Look()
	return done, err
}
