package engine

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine/internal/follow"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// job is a message under way in its session.
type job struct {
	engine *Engine
	agent  *agent.Agent
	key    session.Key
	ticket *mailbox.Ticket
	by     *follow.Follower // whoever waits for the answer; nil when nobody does
	item   store.Item       // in the inbox; its ID is 0 for a message that is not stored
	kept   error            // why the item still waits; nil when it has ended
	gone   bool             // the caller

	left    bool        // its turn is open, but no process ended in it
	unheard atomic.Bool // the sender has gone, see linger

	given   []chat.File // by tools, for the user; without bytes
	resumed *turn.End   // how the open turn ended that the sender of Run followed
	replies bool        // the answer goes to where the message came from, whoever waits for it
}

// answer does what an item asks for. The caller has the session to itself.
func (j *job) answer(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	q, ok := j.work(ctx, m, yield)
	if q == nil {
		return ok
	}
	return q.run(ctx, yield)
}

// work does what an item of its kind asks for, but for the turn that it needs, which it returns. It
// is apart from answer to keep its large variables off the stack of a turn that waits for its model.
func (j *job) work(
	ctx context.Context, said *message.Mail, yield func(turn.Event, error) bool,
) (needs *turnRun, ok bool) {
	m := *said
	j.replies = len(m.Reply) > 0
	s, ended, err := j.open(ctx, m, yield)
	switch {
	case err != nil:
		return nil, j.refuse(ctx, err, yield)
	case ended:
		return nil, j.elsewhere(ctx, cmp.Or(j.by, follow.New(yield)))
	}
	switch m.Kind {
	case message.KindAnswer:
		return j.takeAnswer(ctx, m, s, yield)
	case message.KindOutcome:
		return j.takeOutcome(ctx, m, s, yield)
	case message.KindResult:
		return j.takeResult(ctx, m, s, yield)
	case message.KindNotice:
		return nil, j.showNotice(ctx, m, s, yield)
	case message.KindStop:
		return nil, j.stopWaiting(ctx, m, s, yield)
	}
	return j.takeQuestion(ctx, m, s, yield)
}

// open loads the session of an item. Where the process that ran a turn in it has ended, and nobody
// has taken the turn up, it runs to its end first. It may be the item's own: then the item has ended.
func (j *job) open(
	ctx context.Context, m message.Mail, yield func(turn.Event, error) bool,
) (s session.Session, ended bool, err error) {
	s, err = j.engine.agents.Load(ctx, j.agent, m)
	if err != nil || s.Turn.ID == "" || turn.PhaseOf(s) == turn.Waiting {
		return s, false, err
	}
	if err = (worker{j.engine}).finish(ctx, j.key, false, j.following(m, cmp.Or(j.by, follow.New(yield)))); err == nil {
		s, err = j.engine.agents.Load(ctx, j.agent, m)
	}
	if err == nil && j.item.ID != 0 {
		now, gone := j.engine.box.Item(ctx, j.item.ID)
		ended = errors.Is(gone, store.ErrEnded) || gone == nil && now.State != store.Waiting
	}
	return s, ended, err
}

// refuse ends a message with an error, unless the store failed: then it waits.
func (j *job) refuse(ctx context.Context, err error, yield func(turn.Event, error) bool) bool {
	if errors.Is(context.Cause(ctx), turn.ErrStopped) && !errors.Is(err, store.ErrLost) {
		err = turn.ErrStopped // which may have kept the store from answering
	}
	if errors.Is(err, ErrStore) || errors.Is(err, turn.ErrSuspended) || errors.Is(err, store.ErrLost) {
		j.kept, err = err, stopped(err)
	} else if j.item.ID != 0 {
		j.kept = j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: message.Result(nil, err), Deliver: j.replies})
	}
	return !errors.Is(j.kept, store.ErrLost) && yield(turn.Event{}, err) && false
}
