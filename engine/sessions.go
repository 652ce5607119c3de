package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
)

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
	subs, err := e.subAgents.Children(ctx, key)
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
		e.subAgents.Stop(ctx, subagent.Of(s.State))
	}
	return err
}
