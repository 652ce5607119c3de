package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine/internal/lately"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/turn"
)

// turnRun is the turn that an item needs, with its session.
type turnRun struct {
	job     *job
	mail    message.Mail
	session session.Session
}

// run runs one turn, and reports whether it ended well and the caller still ranges.
func (r *turnRun) run(ctx context.Context, yield func(turn.Event, error) bool) bool {
	j := r.job
	m, s := &r.mail, &r.session
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
	r.goOnWith()
	defer j.ticket.Working(s.Key)()
	if m.Origin != nil {
		s.Parent = m.Origin.Parent()
	}
	if s.Turn.ID != "" {
		j.given = message.Give(j.given, message.GivenBefore(s.Messages))
	}
	in := r.asks(ctx)
	in.Left = j.left
	s.Messages = nil // they are in the input
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o := m.Origin; o != nil {
		defer time.AfterFunc(o.Time, func() { cancel(subagent.ErrTime) }).Stop()
	}
	var failed error
	waited := len(s.Awaits) > 0
	open := s.Turn          // as it was stored last
	ended := false          // the item, or there is none
	var said []chat.Message // in a conversation that the client keeps
	watched := j.engine.meter.Begin(j.agent.Name, j.engine.config.Now)
	shown := j.engine.live.Begin(live.Turn{
		Item: j.item.ID, Session: s.Key, Agent: j.agent.Name, User: j.engine.people.Sender(m.Caller()).Record(),
		Channel: m.Channel, Began: j.engine.config.Now(),
	})
	defer shown.End()
	ctx, traced := r.traced(ctx, m)
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
		shown.See(e)
		r.tell(e)
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
				j.kept = j.engine.box.Finish(
					ctx, store.End{ID: j.item.ID, Result: message.Result(nil, err), Deliver: j.replies}, open,
				)
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
					j.engine.outcomes.expect(j.key, e.Result.CallID)
					j.ticket.Expect()
				}
			}
			if e.Done != nil {
				r.learn(in.Session, e.Done)
			}
			if !j.gone && !yield(e, nil) {
				if j.gone = true; m.IdempotencyKey == "" && !m.Joins() {
					cancel(nil)
				}
			}
		case m.History != nil:
			said = append(said, e.Step.Messages...)
			if done := e.Step.Done; done != nil && len(done.Awaits) > 0 {
				aside := *m
				aside.Session = m.Aside
				done.Awaits = j.engine.inquiries.Describe(ctx, *m, j.engine.agents.Key(j.agent, aside), in.Text,
					done.Awaits)
				done.Reply = approval.Text(done.Awaits)
				defer j.engine.inquiries.Look()
			}
			if err := j.engine.agents.Hold(ctx, j.agent, *m, in.Session.Messages, said, e.Step); err != nil {
				return !j.gone && yield(turn.Event{}, err) && false
			}
		default:
			messages, given := message.Storable(e.Step.Messages)
			j.given = message.Give(j.given, given)
			end := store.End{Session: s.Key, State: e.Step.State, Messages: messages}
			var stopped []session.Await
			write := j.engine.box.Write
			if e.Step.Done != nil && len(e.Step.Done.Awaits) > 0 {
				e.Step.Done.Awaits = j.engine.inquiries.Describe(ctx, *m, s.Key, in.Text, e.Step.Done.Awaits)
				e.Step.Done.Reply = approval.Text(e.Step.Done.Awaits)
				defer j.engine.inquiries.Look()
			}
			if ended = e.Step.Done != nil || e.Step.Failed != nil; ended {
				var err error
				if stopped, err = j.engine.subAgents.Settle(ctx, *m, &end, e.Step); err != nil {
					j.kept = err
					return !j.gone && yield(turn.Event{}, err) && false
				}
				end.ID, end.Result = j.item.ID, message.Result(e.Step.Done, e.Step.Failed, j.given...)
				end.Deliver = j.replies &&
					(e.Step.Done == nil || len(j.given) > 0 || e.Step.Done.Reply != "" && !r.posted(ctx, e.Step.Done))
				write = func(ctx context.Context, end store.End) error { return j.engine.box.Finish(ctx, end, open) }
			} else if e.Step.Taken != 0 {
				end.ID, end.Result, write = e.Step.Taken, message.Result(taken(m.Language), nil), j.engine.box.Put
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
			if waited {
				waited = false
				j.engine.inquiries.Look()
			}
			if e.Step.Taken != 0 {
				j.engine.box.Tell(e.Step.Taken, errTaken)
			}
		}
	}
	return !j.gone
}

// asks returns what the turn of a message gets.
func (r *turnRun) asks(ctx context.Context) *turn.Input {
	j := r.job
	in := j.engine.agents.Input(j.agent, r.mail, r.session)
	in.Item, in.Crashed = j.item.ID, j.item.Tries > 0
	in.Earlier = lately.Questions(ctx, r.job.engine.config.Store, r.job.key, in.Facts.Record(), in.Text)
	if r.mail.History == nil {
		in.Late = func(call chat.Call, result chat.Result) {
			r.receiveOutcome(turn.Outcome{Call: call, Result: result})
		}
		if (j.agent.Steer || in.Plan != nil) && r.mail.Outcome == nil {
			in.Steer = func() []turn.Interjection { return r.steering(ctx) }
		}
	}
	return &in
}

// posted reports whether a reply only repeats what the turn has posted.
func (r *turnRun) posted(ctx context.Context, done *turn.End) bool {
	j := r.job
	return slices.ContainsFunc(done.Used, func(u turn.ToolUse) bool { return u.Tool == outbox.PostTool }) &&
		j.engine.outbox.Posted(ctx, store.Item{ID: j.item.ID, Session: j.key}, done.Reply)
}

// learn keeps what a turn was asked and which tools answered. The session is as it was before.
func (r *turnRun) learn(s session.Session, done *turn.End) {
	e, m := r.job.engine, r.mail
	if !e.config.Learning.Keep {
		return
	}
	q := learning.Question{
		Agent: r.job.agent.Name, User: e.people.Sender(m.Caller()).Record(), Channel: m.Channel, Text: m.Text,
		Guest: e.people.Guest(m.Caller(), s.Key), Earlier: s.Messages,
	}
	if m.History == nil {
		q.Session = s.Key
	}
	e.learner.Keep(q, done.Used)
}
