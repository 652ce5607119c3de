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
	"github.com/etui-run/etui/learning"
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

	left    bool        // its turn is open, but no process ended in it
	unheard atomic.Bool // the sender has gone, see linger

	given   []chat.File // by tools, for the user; without bytes
	resumed *turn.Done  // how the open turn ended that the sender of Run followed
	replies bool        // the answer goes to where the message came from, whoever waits for it
}

// turnRun is the turn that an item needs, with its session.
type turnRun struct {
	job     *job
	mail    message.Mail
	session session.Session
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
func (j *job) work(ctx context.Context, said *message.Mail, yield func(turn.Event, error) bool) (needs *turnRun, ok bool) {
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

// run runs one turn, and reports whether it ended well and the caller still ranges.
func (r *turnRun) run(ctx context.Context, yield func(turn.Event, error) bool) bool {
	m, s := &r.mail, &r.session
	if r.job.engine.box.Stopping() { // the turn of another message ran before
		return r.job.refuse(ctx, turn.ErrSuspended, yield)
	}
	if len(m.Reply) > 0 {
		s.Reply = m.Reply
	} else if m.Background || m.Operator || m.Outcome != nil {
		m.Reply = s.Reply
	}
	r.job.replies = len(m.Reply) > 0 && m.History == nil
	if m.NoHistory && s.Turn.ID == "" {
		s.Messages, s.Sent, s.Summary, s.Front = nil, session.None, "", session.Front{}
	}
	r.goOnWith()
	defer r.job.ticket.Working(s.Key)()
	if m.Origin != nil {
		s.Parent = m.Origin.Parent()
	}
	if s.Turn.ID != "" {
		r.job.given = message.Give(r.job.given, message.GivenBefore(s.Messages))
	}
	in := r.asks(ctx)
	in.Left = r.job.left
	s.Messages = nil // they are in the input
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o := m.Origin; o != nil {
		defer time.AfterFunc(o.Time, func() { cancel(subagent.ErrTime) }).Stop()
	}
	var failed error
	open := s.Turn // as it was stored last
	ended := false // the item, or there is none
	watched := r.job.engine.meter.Begin(r.job.agent.Name, r.job.engine.config.Now)
	ctx, traced := r.traced(ctx, m)
	defer func() {
		watched.End(failed)
		if errors.Is(context.Cause(ctx), turn.ErrSuspended) { // another process goes on with it
			failed = nil
		}
		traced(failed)
	}()
	for e, err := range r.job.agent.Runner.Run(ctx, *in) {
		failed = err
		watched.See(e)
		r.tell(e)
		switch {
		case err != nil:
			r.job.engine.config.Log.InfoContext(ctx, "turn failed", "agent", r.job.agent.Name, "session", s.Key, "error", err)
			switch {
			case errors.Is(context.Cause(ctx), turn.ErrSuspended):
				if r.job.kept, err = turn.ErrSuspended, errLeft; m.History != nil {
					err = ErrStopping
				}
			case !ended && errors.Is(err, memory.ErrAway): // the turn has not begun, or is as it was stored
				r.job.kept = fmt.Errorf("%w: %w", ErrStore, err)
				err = r.job.kept
			case !ended && m.History == nil && m.Origin != nil:
				if r.job.kept = r.job.engine.subAgents.Report(ctx, m.Origin, s.Key, nil, err); r.job.kept != nil {
					break
				}
				fallthrough
			case !ended && m.History == nil:
				r.job.kept = r.job.engine.box.Finish(ctx, store.End{ID: r.job.item.ID, Result: message.Result(nil, err), Deliver: r.job.replies}, open)
			}
			return !r.job.gone && !errors.Is(r.job.kept, store.ErrLost) && yield(turn.Event{}, err) && false
		case e.Step == nil:
			if e.Done != nil && len(e.Done.Awaits) > 0 && !r.job.gone && !yield(turn.Event{Text: e.Done.Reply}, nil) {
				r.job.gone = true
			}
			if e.Result != nil && e.Result.Pending {
				if e.Result.Session != "" {
					r.job.ticket.ExpectFrom(session.Key(e.Result.Session))
				} else {
					r.job.engine.outcomes.expect(r.job.key, e.Result.CallID)
					r.job.ticket.Expect()
				}
			}
			if e.Done != nil {
				r.learn(in.Session, e.Done)
			}
			if !r.job.gone && !yield(e, nil) {
				if r.job.gone = true; m.IdempotencyKey == "" && !m.Joins() {
					cancel(nil)
				}
			}
		case m.History == nil:
			messages, given := message.Storable(e.Step.Messages)
			r.job.given = message.Give(r.job.given, given)
			end := store.End{Session: s.Key, State: e.Step.State, Messages: messages}
			var stopped []session.Await
			write := r.job.engine.box.Write
			if e.Step.Done != nil && len(e.Step.Done.Awaits) > 0 {
				e.Step.Done.Reply = approval.Text(e.Step.Done.Awaits)
			}
			if ended = e.Step.Done != nil || e.Step.Failed != nil; ended {
				var err error
				if stopped, err = r.job.engine.subAgents.Settle(ctx, *m, &end, e.Step); err != nil {
					r.job.kept = err
					return !r.job.gone && yield(turn.Event{}, err) && false
				}
				end.ID, end.Result = r.job.item.ID, message.Result(e.Step.Done, e.Step.Failed, r.job.given...)
				end.Deliver = r.job.replies && (e.Step.Done == nil || len(r.job.given) > 0 || e.Step.Done.Reply != "" && !r.posted(ctx, e.Step.Done))
				write = func(ctx context.Context, end store.End) error { return r.job.engine.box.Finish(ctx, end, open) }
			} else if e.Step.Taken != 0 {
				end.ID, end.Result, write = e.Step.Taken, message.Result(taken(), nil), r.job.engine.box.Put
			}
			for i, a := range end.State.Awaits {
				if a.For == session.Outcome && a.Holder == "" {
					end.State.Awaits = slices.Clone(end.State.Awaits)
					end.State.Awaits[i].Holder = r.job.engine.holder
				}
			}
			if err := write(ctx, end); err != nil {
				r.job.kept = err
				return !r.job.gone && !errors.Is(err, store.ErrLost) && yield(turn.Event{}, err) && false
			}
			r.job.engine.subAgents.Stop(ctx, stopped)
			if m.Origin != nil && !ended {
				if gone, err := r.job.engine.subAgents.Orphan(ctx, m.Origin, s.Key); err == nil && gone {
					cancel(turn.ErrStopped)
				}
			}
			open = e.Step.State.Turn
			if e.Step.Taken != 0 {
				r.job.engine.box.Tell(e.Step.Taken, errTaken)
			}
		}
	}
	return !r.job.gone
}

// asks returns what the turn of a message gets.
func (r *turnRun) asks(ctx context.Context) *turn.Input {
	in := r.job.engine.agents.Input(r.job.agent, r.mail, r.session)
	in.Item, in.Crashed = r.job.item.ID, r.job.item.Tries > 0
	if r.mail.History == nil {
		in.Late = func(call chat.Call, result chat.Result) {
			r.receiveOutcome(turn.Outcome{Call: call, Result: result})
		}
		if (r.job.agent.Steer || in.Plan != nil) && r.mail.Outcome == nil {
			in.Steer = func() []turn.Steered { return r.steering(ctx) }
		}
	}
	return &in
}

// posted reports whether a reply only repeats what the turn has posted.
func (r *turnRun) posted(ctx context.Context, done *turn.Done) bool {
	return slices.ContainsFunc(done.Used, func(u turn.Used) bool { return u.Tool == outbox.PostTool }) &&
		r.job.engine.outbox.Posted(ctx, store.Item{ID: r.job.item.ID, Session: r.job.key}, done.Reply)
}

// learn keeps what a turn was asked and which tools answered. The session is as it was before.
func (r *turnRun) learn(s session.Session, done *turn.Done) {
	e, m := r.job.engine, r.mail
	if !e.config.Learning.Keep {
		return
	}
	q := learning.Question{Agent: r.job.agent.Name, User: e.people.Sender(m.Caller()).Record(), Channel: m.Channel, Text: m.Text, Guest: e.people.Guest(m.Caller(), s.Key), Earlier: s.Messages}
	if m.History == nil {
		q.Session = s.Key
	}
	e.learner.Keep(q, done.Used)
}
