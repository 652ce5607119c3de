package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// ErrNothingAwaited says that a message answers a call that awaits no answer in this
// session.
var ErrNothingAwaited = errors.New("it awaits no answer in this session")

func (e *Engine) load(ctx context.Context, a *agent, m Message) (session.Session, error) {
	return e.loadLast(ctx, a, m, session.Sent)
}

// loadLast loads the session of a message with its newest messages.
func (e *Engine) loadLast(ctx context.Context, a *agent, m Message, limit int) (session.Session, error) {
	key := e.key(a, m)
	if m.History != nil {
		return e.replay(ctx, a, m, key), nil
	}
	s, err := e.config.Store.Load(ctx, key, limit)
	if err != nil {
		return s, fmt.Errorf("loading the session: %w", err)
	}
	return s, nil
}

// maxReplayed is how many messages of a conversation that the client tells are
// looked at: each question among them is selected for again.
const maxReplayed = 200

// replay makes the session of a conversation that the client tells: the same
// selections for the same earlier questions, so that the same bytes come first
// in every request.
func (e *Engine) replay(ctx context.Context, a *agent, m Message, key session.Key) session.Session {
	s := session.Session{Key: key}
	for _, said := range m.History[max(0, len(m.History)-maxReplayed):] {
		said = e.cleanSaid(said)
		if said.Role == chat.User {
			earlier := m
			earlier.Text = said.Text
			in := e.input(a, earlier, s)
			in.Again = true
			said, s.State = a.runner.Replay(ctx, in)
		}
		s.Messages = append(s.Messages, said)
	}
	return s
}

// Send runs the turn of a message and yields what happens, as [turn.Runner.Run]
// does. Every step is stored before the turn goes on; the events that carry
// steps are not yielded. When the caller stops ranging, the turn is cancelled.
//
// A message with Answers resumes the turn that waits for them. With Wait, Send returns
// when the calls that go on have finished, at most ten minutes each, and yields the
// turns of their outcomes; other messages of the session run in between.
func (e *Engine) Send(ctx context.Context, m Message) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		a, m, err := e.ready(m)
		if err != nil {
			yield(turn.Event{}, err)
			return
		}
		e.running.begin()
		defer e.running.end()
		r := &running{Engine: e, agent: a, key: e.key(a, m), late: newLate(m.Wait)}
		defer func() { e.storeLate(r.key, r.late.close()) }()
		for ok := r.enter(ctx, m, e.config.MaxWaiting, yield); ok; {
			outcome := r.late.next(ctx)
			if outcome == nil {
				return
			}
			next := r.asked
			next.Text, next.outcome, next.Answers = "", outcome, nil
			ok = r.enter(ctx, next, math.MaxInt, yield)
		}
	}
}

// Resume goes on with what an earlier process left: it resumes open turns, and reports
// calls that went on after their turn as lost. It returns when all of that is done, or
// when ctx ends: then turns stay open for the next time.
// Call it once, before or while the engine serves, in the one process that uses the
// store.
func (e *Engine) Resume(ctx context.Context) error {
	keys, err := e.config.Store.Open(ctx)
	if err != nil {
		return fmt.Errorf("looking for open turns: %w", err)
	}
	left := make(chan session.Key)
	var workers sync.WaitGroup
	for range min(maxResuming, len(keys)) {
		workers.Go(func() {
			for key := range left {
				if err := e.resume(ctx, key); err != nil {
					e.config.Log.ErrorContext(ctx, "turn could not be resumed", "session", key, "error", err)
				}
			}
		})
	}
	for _, key := range keys {
		select {
		case left <- key:
		case <-ctx.Done():
		}
	}
	close(left)
	workers.Wait()
	return ctx.Err()
}

// maxResuming is how many sessions Resume works on at once.
const maxResuming = 8

// resume goes on with what an earlier process left in a session.
func (e *Engine) resume(ctx context.Context, key session.Key) error {
	e.running.begin()
	defer e.running.end()
	leave, err := e.queues.enter(ctx, key, math.MaxInt)
	if err != nil {
		return err
	}
	defer leave()
	s, err := e.config.Store.Load(ctx, key, session.Sent)
	if err != nil {
		return err
	}
	for _, a := range s.Awaits {
		if _, here := e.pending.Load(pending{key, a.Call}); here || a.For != session.Outcome {
			continue
		}
		if s.State, err = e.storeOutcome(ctx, key, s.State, turn.Lost(a)); err != nil {
			return err
		}
	}
	return e.finish(ctx, key)
}

// finish runs the open turn of a session to its end, or until it waits. The caller has
// the session to itself.
func (e *Engine) finish(ctx context.Context, key session.Key) error {
	s, err := e.config.Store.Load(ctx, key, session.Sent)
	if err != nil || s.Turn.ID == "" || turn.PhaseOf(s) == turn.Waiting {
		return err
	}
	a, m, err := e.begun(s)
	if err != nil { // the agent is gone, say
		e.config.Log.ErrorContext(ctx, "open turn closed: it cannot be resumed", "session", key, "error", err)
		state, left := turn.Close(s, "its turn could not be resumed", e.config.Now())
		return e.config.Store.Append(ctx, key, state, left...)
	}
	e.config.Log.InfoContext(ctx, "turn resumed", "session", key, "agent", a.Name)
	r := &running{Engine: e, agent: a, key: key, late: newLate(false)}
	defer r.late.close()
	begun, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(turn.ErrSuspended) })()
	var failed error
	r.run(begun, m, s, func(_ turn.Event, err error) bool {
		failed = errors.Join(failed, err)
		return true
	})
	return failed
}

// begun returns the agent and the message of a session's open turn, without its text.
func (e *Engine) begun(s session.Session) (*agent, Message, error) {
	var m Message
	if err := json.Unmarshal(s.Turn.Request, &m); err != nil {
		return nil, m, fmt.Errorf("the message of the open turn cannot be read: %w", err)
	}
	a, err := e.agent(m.Agent)
	if err == nil {
		err = known(m.Mode, m.Strategy)
	}
	return a, m, err
}

// running is a message under way in its session.
type running struct {
	*Engine
	agent *agent
	key   session.Key
	asked Message // whose turn runs: not the one with the answers, but the one that they answer
	late  *late
}

// enter waits for the session and runs the turn of a message in it. It reports whether
// the turn ended well and the caller still ranges.
func (r *running) enter(ctx context.Context, m Message, waiting int, yield func(turn.Event, error) bool) bool {
	if m.History == nil { // else nothing is loaded or stored that others wait for
		leave, err := r.queues.enter(ctx, r.key, waiting)
		if err != nil {
			return yield(turn.Event{}, err) && false
		}
		defer leave()
	}
	s, err := r.load(ctx, r.agent, m)
	if err == nil && s.Turn.ID != "" && turn.PhaseOf(s) != turn.Waiting {
		// The process that ran it ended, and nobody has taken it up.
		failed := r.finish(ctx, r.key)
		if s, err = r.load(ctx, r.agent, m); err == nil && s.Turn.ID != "" && turn.PhaseOf(s) != turn.Waiting {
			err = failed
		}
	}
	if err == nil && m.outcome != nil && (s.Turn.ID != "" || !s.Waits(m.outcome.Call.ID, session.Outcome)) {
		_, err = r.storeOutcome(ctx, r.key, s.State, *m.outcome) // no turn of its own
		return err == nil || yield(turn.Event{}, err) && false
	}
	if err == nil && len(m.Answers) > 0 {
		m, err = r.answered(s, m)
	}
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	r.asked = m
	if m.outcome != nil {
		r.pending.Delete(pending{r.key, m.outcome.Call.ID})
	}
	return r.run(ctx, m, s, yield)
}

// answered returns the message that a session's turn began with, with the answers.
func (e *Engine) answered(s session.Session, m Message) (Message, error) {
	for i, said := range m.Answers {
		if turn.PhaseOf(s) != turn.Waiting || !s.Waits(said.Call, session.Approval) {
			return m, fmt.Errorf("call %q: %w", said.Call, ErrNothingAwaited)
		}
		if slices.ContainsFunc(m.Answers[:i], func(a session.Answer) bool { return a.Call == said.Call }) {
			return m, fmt.Errorf("call %q has two answers", said.Call)
		}
	}
	_, begun, err := e.begun(s)
	begun.Answers = m.Answers
	return begun, err
}

// run runs one turn, and reports whether it ended well and the caller still ranges.
func (r *running) run(ctx context.Context, m Message, s session.Session, yield func(turn.Event, error) bool) bool {
	in := r.input(r.agent, m, s)
	if m.History == nil {
		in.Late = func(call chat.Call, result chat.Result) { r.take(turn.Outcome{Call: call, Result: result}) }
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := false // the caller; what was done is still to be stored
	for e, err := range r.agent.runner.Run(ctx, in) {
		switch {
		case err != nil:
			r.config.Log.InfoContext(ctx, "turn failed", "agent", r.agent.Name, "session", s.Key, "error", err)
			return !gone && yield(turn.Event{}, err) && false
		case e.Step == nil:
			if e.Result != nil && e.Result.Pending {
				r.pending.Store(pending{r.key, e.Result.CallID}, nil)
				r.late.expect()
			}
			if e.Done != nil {
				r.keep(r.agent, m, e.Done)
			}
			if !gone && !yield(e, nil) {
				gone = true
				cancel()
			}
		case m.History == nil:
			// What was done is stored even when the caller has gone.
			if err := r.config.Store.Append(context.WithoutCancel(ctx), s.Key, e.Step.State, e.Step.Messages...); err != nil {
				return !gone && yield(turn.Event{}, fmt.Errorf("storing the session: %w", err)) && false
			}
		}
	}
	return !gone
}

// take receives the outcome of a call that went on. It may come before the turn of the
// call has ended.
func (r *running) take(o turn.Outcome) {
	if r.late.hand(o) {
		return
	}
	r.running.begin()
	go func() {
		defer r.running.end()
		r.storeLate(r.key, []turn.Outcome{o})
	}()
}
