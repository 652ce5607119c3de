package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine/internal/follow"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
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

	keyed, repeated bool        // it has an idempotency key; it was in the inbox before
	left            bool        // its turn is open, but no process ended in it
	unheard         atomic.Bool // the sender has gone, see linger

	given   []chat.File // by tools, for the user; without bytes
	resumed *turn.Done  // how the open turn ended that the sender of Run followed
	replies bool        // the answer goes to where the message came from, whoever waits for it
}

// turnRequest is an item that needs a turn, with its session.
type turnRequest struct {
	mail    message.Mail
	session session.Session
}

// answer does what an item asks for. The caller has the session to itself.
func (j *job) answer(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	q, ok := j.work(ctx, m, yield)
	if q == nil {
		return ok
	}
	return j.run(ctx, q, yield)
}

// work does what an item of its kind asks for, but for the turn that it needs, which it returns. It
// is apart from answer to keep its large variables off the stack of a turn that waits for its model.
func (j *job) work(ctx context.Context, said *message.Mail, yield func(turn.Event, error) bool) (needs *turnRequest, ok bool) {
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
func (j *job) open(ctx context.Context, m message.Mail, yield func(turn.Event, error) bool) (s session.Session, ended bool, err error) {
	s, err = j.engine.agents.Load(ctx, j.agent, m)
	if err != nil || s.Turn.ID == "" || turn.PhaseOf(s) == turn.Waiting {
		return s, false, err
	}
	if err = j.engine.finish(ctx, j.key, false, j.following(m, cmp.Or(j.by, follow.New(yield)))); err == nil {
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

// run runs one turn, and reports whether it ended well and the caller still ranges.
func (j *job) run(ctx context.Context, q *turnRequest, yield func(turn.Event, error) bool) bool {
	m, s := &q.mail, &q.session
	if j.engine.box.Stopping() { // the turn of another message ran before
		return j.refuse(ctx, turn.ErrSuspended, yield)
	}
	if len(m.Reply) > 0 {
		s.Reply = m.Reply
	} else if m.Background || m.Operator || m.Outcome != nil {
		m.Reply = s.Reply
	}
	j.replies = len(m.Reply) > 0 && m.History == nil
	if m.NoHistory && s.Turn.ID == "" {
		s.Messages, s.Sent, s.Summary, s.Front = nil, session.None, "", session.Front{}
	}
	j.goOnWith(q)
	defer j.ticket.Working(s.Key)()
	if m.Origin != nil {
		s.Parent = m.Origin.Parent()
	}
	if s.Turn.ID != "" {
		j.given = message.Give(j.given, message.GivenBefore(s.Messages))
	}
	in := j.asks(ctx, q)
	in.Left = j.left
	s.Messages = nil // they are in the input
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o := m.Origin; o != nil {
		defer time.AfterFunc(o.Time, func() { cancel(subagent.ErrTime) }).Stop()
	}
	var failed error
	open := s.Turn // as it was stored last
	ended := false // the item, or there is none
	watched := j.engine.meter.Begin(j.agent.Name, j.engine.config.Now)
	ctx, traced := j.traced(ctx, m)
	defer func() {
		watched.End(failed)
		if errors.Is(context.Cause(ctx), turn.ErrSuspended) { // another process goes on with it
			failed = nil
		}
		traced(failed)
	}()
	for e, err := range j.agent.Runner.Run(ctx, *in) {
		failed = err
		watched.See(e)
		j.tell(e)
		switch {
		case err != nil:
			j.engine.config.Log.InfoContext(ctx, "turn failed", "agent", j.agent.Name, "session", s.Key, "error", err)
			switch {
			case errors.Is(context.Cause(ctx), turn.ErrSuspended):
				if j.kept, err = turn.ErrSuspended, errLeft; m.History != nil {
					err = ErrStopping
				}
			case !ended && errors.Is(err, memory.ErrAway): // the turn has not begun, or is as it was stored
				j.kept = fmt.Errorf("%w: %w", ErrStore, err)
				err = j.kept
			case !ended && m.History == nil && m.Origin != nil:
				if j.kept = j.engine.subAgents.Report(ctx, m.Origin, s.Key, nil, err); j.kept != nil {
					break
				}
				fallthrough
			case !ended && m.History == nil:
				j.kept = j.engine.box.Finish(ctx, store.End{ID: j.item.ID, Result: message.Result(nil, err), Deliver: j.replies}, open)
			}
			return !j.gone && !errors.Is(j.kept, store.ErrLost) && yield(turn.Event{}, err) && false
		case e.Step == nil:
			if e.Done != nil && len(e.Done.Awaits) > 0 && !j.gone && !yield(turn.Event{Text: e.Done.Reply}, nil) {
				j.gone = true
			}
			if e.Result != nil && e.Result.Pending {
				if e.Result.Session != "" {
					j.ticket.ExpectFrom(session.Key(e.Result.Session))
				} else {
					j.engine.pending.Store(pending{j.key, e.Result.CallID}, nil)
					j.ticket.Expect()
				}
			}
			if e.Done != nil {
				j.engine.learn(j.agent.Name, *m, in.Session, e.Done)
			}
			if !j.gone && !yield(e, nil) {
				if j.gone = true; m.IdempotencyKey == "" && !m.Joins() {
					cancel(nil)
				}
			}
		case m.History == nil:
			messages, given := message.Storable(e.Step.Messages)
			j.given = message.Give(j.given, given)
			end := store.End{Session: s.Key, State: e.Step.State, Messages: messages}
			var stopped []session.Await
			write := j.engine.box.Write
			if e.Step.Done != nil && len(e.Step.Done.Awaits) > 0 {
				e.Step.Done.Reply = approval.Text(e.Step.Done.Awaits)
			}
			if ended = e.Step.Done != nil || e.Step.Failed != nil; ended {
				var err error
				if stopped, err = j.engine.subAgents.Settle(ctx, *m, &end, e.Step); err != nil {
					j.kept = err
					return !j.gone && yield(turn.Event{}, err) && false
				}
				end.ID, end.Result = j.item.ID, message.Result(e.Step.Done, e.Step.Failed, j.given...)
				end.Deliver = j.replies && (e.Step.Done == nil || len(j.given) > 0 || e.Step.Done.Reply != "" && !j.posted(ctx, e.Step.Done))
				write = func(ctx context.Context, end store.End) error { return j.engine.box.Finish(ctx, end, open) }
			} else if e.Step.Taken != 0 {
				end.ID, end.Result, write = e.Step.Taken, message.Result(taken(), nil), j.engine.box.Put
			}
			for i, a := range end.State.Awaits {
				if a.For == session.Outcome && a.Holder == "" {
					end.State.Awaits = slices.Clone(end.State.Awaits)
					end.State.Awaits[i].Holder = j.engine.holder
				}
			}
			if err := write(ctx, end); err != nil {
				j.kept = err
				return !j.gone && !errors.Is(err, store.ErrLost) && yield(turn.Event{}, err) && false
			}
			j.engine.subAgents.Stop(ctx, stopped)
			if m.Origin != nil && !ended {
				if gone, err := j.engine.subAgents.Orphan(ctx, m.Origin, s.Key); err == nil && gone {
					cancel(turn.ErrStopped)
				}
			}
			open = e.Step.State.Turn
			if e.Step.Taken != 0 {
				j.engine.box.Tell(e.Step.Taken, errTaken)
			}
		}
	}
	return !j.gone
}

// asks returns what the turn of a message gets.
func (j *job) asks(ctx context.Context, q *turnRequest) *turn.Input {
	in := j.engine.agents.Input(j.agent, q.mail, q.session)
	in.Item, in.Crashed = j.item.ID, j.item.Tries > 0
	if q.mail.History == nil {
		in.Late = func(call chat.Call, result chat.Result) {
			j.receiveOutcome(q.mail, turn.Outcome{Call: call, Result: result})
		}
		if (j.agent.Steer || in.Plan != nil) && q.mail.Outcome == nil {
			in.Steer = func() []turn.Steered { return j.steering(ctx, q.mail, q.session) }
		}
	}
	return &in
}

// posted reports whether a reply only repeats what the turn has posted.
func (j *job) posted(ctx context.Context, done *turn.Done) bool {
	return slices.ContainsFunc(done.Used, func(u turn.Used) bool { return u.Tool == outbox.PostTool }) &&
		j.engine.outbox.Posted(ctx, store.Item{ID: j.item.ID, Session: j.key}, done.Reply)
}
