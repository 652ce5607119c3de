package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// ErrNothingAwaited says that a message answers a call that awaits no answer in this
// session.
var ErrNothingAwaited = errors.New("it awaits no answer in this session")

func (e *Engine) load(ctx context.Context, a *agent, m mail) (session.Session, error) {
	return e.loadLast(ctx, a, m, session.Sent)
}

// loadLast loads the session of a message with its newest messages.
func (e *Engine) loadLast(ctx context.Context, a *agent, m mail, limit int) (session.Session, error) {
	key := e.key(a, m)
	if m.History != nil {
		return e.replay(ctx, a, m, key), nil
	}
	if err := checkKey(key); err != nil {
		return session.Session{}, err
	}
	s, err := e.config.Store.Load(ctx, key, limit)
	if err != nil {
		return s, fmt.Errorf("loading the session: %w: %w", ErrStore, err)
	}
	return s, nil
}

func checkKey(key session.Key) error {
	if len(key) > maxKey {
		return fmt.Errorf("%w: the names of its agent, session, channel and user have %d bytes together, at most %d are accepted", ErrInvalid, len(key), maxKey)
	}
	return nil
}

// Send accepts a message, runs its turn and yields what happens, as [turn.Runner.Run]
// does. Every step is stored before the turn goes on; the events that carry
// steps are not yielded.
//
// A message is accepted once it is in the inbox. From then on it is answered once, in
// order, whatever happens to this process: what this one does not finish, the next one
// takes up, see [Engine.Resume]. When the caller stops ranging, the turn is cancelled,
// unless the message has an IdempotencyKey: then the turn goes on, and Send returns when
// it has ended. A message with a History is not stored and belongs to its caller alone.
//
// A message with Answers resumes the turn that waits for them. With Wait, Send returns
// when the calls that go on have finished, at most ten minutes each, and yields the
// turns of their outcomes; other messages of the session run in between.
func (e *Engine) Send(ctx context.Context, m Message) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		r, m, err := e.receive(&m)
		if err != nil {
			yield(turn.Event{}, err)
			return
		}
		e.running.begin()
		defer e.running.end()
		defer func() {
			e.waiters.leave(r.late)
			e.storeLate(r.late.close()...)
		}()
		if m.Text == Stop && m.History == nil && r.stopNow(ctx, m, yield) {
			return
		}
		waiting, cancel := e.suspendable(ctx)
		defer cancel()
		for ok := r.enter(ctx, m, yield); ok; {
			item := r.late.next(waiting)
			if item == nil {
				return
			}
			ok = item.ID == 0 || r.enterLate(ctx, *item, yield)
		}
	}
}

// receive returns a message that can be accepted, and how it is to be run. Here and below, a
// message is a pointer: large variables on the stack of a turn that waits for its model cost
// memory for each of them.
func (e *Engine) receive(said *Message) (*running, *mail, error) {
	a, m, err := e.ready(newMail(*said))
	if err != nil {
		return nil, nil, err
	}
	m.To = e.key(a, m) // also if the configuration changes while it waits
	return &running{Engine: e, agent: a, key: m.To, late: newLate(m.Wait)}, &m, nil
}

// suspendable returns a context like ctx that ends with [turn.ErrSuspended] as its cause
// when the engine stops, or when one of others ends.
func (e *Engine) suspendable(ctx context.Context, others ...context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, other := range append(others, e.life) {
		stops = append(stops, context.AfterFunc(other, func() { cancel(turn.ErrSuspended) }))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// running is a message under way in its session.
type running struct {
	*Engine
	agent *agent
	key   session.Key
	late  *late
	by    *follower  // whoever waits for the answer; nil when nobody does
	item  store.Item // in the inbox; its ID is 0 for a message that is not stored
	kept  error      // why the item still waits; nil when it has ended
	gone  bool       // the caller

	keyed, repeated bool        // it has an idempotency key; it was in the inbox before
	left            bool        // its turn is open, but no process ended in it
	unheard         atomic.Bool // the sender has gone, see linger

	given   []chat.File // by tools, for the user; without bytes
	resumed *turn.Done  // how the open turn ended that the sender of Run followed
	replies bool        // the answer goes to where the message came from, whoever waits for it
}

// enter accepts a message, waits for the session and runs its turn. It reports whether the
// turn ended well and the caller still ranges.
func (r *running) enter(ctx context.Context, m *mail, yield func(turn.Event, error) bool) bool {
	place, leave, err := r.join(m)
	if err != nil {
		if r.item.ID != 0 { // stopNow has accepted it
			r.storeLate(r.item)
		}
		return yield(turn.Event{}, err) && false
	}
	defer leave()
	if place == nil {
		return r.alone(ctx, m, yield)
	}
	if m.joins() {
		if given := r.answers.lost(r.passing(*m), *m, r.config.Now()); given != nil {
			place.leave()
			return repeat(store.Item{State: store.Done, Result: given}, yield)
		}
	}
	caller := ctx
	if m.IdempotencyKey != "" || m.joins() {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := r.suspendable(ctx)
	defer cancel()
	fresh := false
	received := r.received(ctx, m)
	if err = checkKey(r.key); err == nil {
		r.item, fresh, err = r.accept(ctx, r.key, *m)
	}
	received(err)
	if err == nil && m.Accepted != nil {
		m.Accepted()
	}
	if err != nil || r.item.State != store.Waiting {
		place.leave()
		if err == nil {
			return repeat(r.item, yield)
		}
		return yield(turn.Event{}, err) && false
	}
	r.keyed, r.repeated = m.IdempotencyKey != "" || m.joins(), !fresh
	if m.joins() {
		r.answers.join(r.item, m.Received)
		defer r.answers.leave(r.item.ID)
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		defer r.linger(caller, end)()
	}
	// With a key, another sender of the message may have come to the session first, and a
	// running turn may have taken the message in.
	return r.next(ctx, place, m, fresh && m.IdempotencyKey == "" && (!m.joins() || r.shared == nil) && !r.agent.Steer && !strings.HasPrefix(m.Text, Switch+" "), yield)
}

// enterLate does the same with an outcome of the inbox, for the sender who waits for it.
func (r *running) enterLate(ctx context.Context, item store.Item, yield func(turn.Event, error) bool) bool {
	_, m, err := r.message(item)
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	m.Wait = true
	place, _ := r.sessions.join(string(r.key), item.User, item.Priority, unbounded) // it never fails
	r.here.Add(1)
	defer r.here.Add(-1)
	waiting, cancel := r.suspendable(ctx)
	defer cancel()
	coming, cancel := r.suspendable(ctx, r.begins)
	defer cancel()
	if err := place.wait(coming); err != nil {
		place.leave()
		r.storeLate(item) // the caller has gone: the outcome is stored without a turn
		return yield(turn.Event{}, stopped(err)) && false
	}
	r.item = item
	return r.next(waiting, place, &m, true, yield)
}

// join takes a place in the session for a message; nil for one that is not stored. The
// message is counted, and has its part of the shares, until leave is called.
func (r *running) join(m *mail) (place *place, leave func(), err error) {
	if r.stopping() {
		return nil, nil, ErrStopping
	}
	free := func() {}
	if !m.Trusted {
		if free, err = r.shares.take(r.sharesOf(*m, r.key)); err != nil {
			return nil, nil, err
		}
	}
	leave = func() { r.here.Add(-1); free() }
	switch {
	case r.here.Add(1) > int64(r.shares.places):
		leave()
		return nil, nil, fmt.Errorf("%w in all sessions; try again in a moment", ErrBusy)
	case m.History != nil:
		return nil, leave, nil
	}
	place, err = r.sessions.join(string(r.key), r.waiter(*m), priority(*m), r.config.MaxWaiting)
	if err != nil {
		leave()
		return nil, nil, ErrFull
	}
	return place, leave, nil
}

// alone runs the turn of a message that is not stored.
func (r *running) alone(ctx context.Context, m *mail, yield func(turn.Event, error) bool) bool {
	ctx, cancel := r.suspendable(ctx)
	defer cancel()
	leave, err := r.turns.enter(ctx, "", r.waiter(*m), priority(*m), unbounded)
	if errors.Is(err, turn.ErrSuspended) {
		err = ErrStopping
	}
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	defer leave()
	return r.answer(ctx, m, yield)
}

// errLeft is [ErrStopping] for the sender of an accepted message.
var errLeft = fmt.Errorf("%w; the message is kept and will be answered", ErrStopping)

// stopped is the error of a sender whose accepted message the engine leaves because it
// stops.
func stopped(err error) error {
	if errors.Is(err, turn.ErrSuspended) {
		return errLeft
	}
	return err
}

// next waits for the session of an accepted message, and answers it. Then it leaves the
// place. Alone says that no other sender can have had the message answered before.
func (r *running) next(ctx context.Context, place *place, m *mail, alone bool, yield func(turn.Event, error) bool) (ok bool) {
	leave := place.leave
	defer func() { leave() }()
	f := follow(func(e turn.Event, err error) bool {
		if errors.Is(err, ErrStore) {
			err = fmt.Errorf("%w: %w", ErrKept, err)
		}
		return yield(e, err)
	})
	r.by = f
	for {
		ok = r.attempt(ctx, place, m, alone, f)
		if !errors.Is(r.kept, store.ErrLost) {
			break
		}
		// Another process took the session over. It may answer the message, or this one.
		r.kept, alone = nil, false
		f.anew()
	}
	r.handOver(r.item, r.kept)
	if r.kept != nil && r.item.ID != 0 && !errors.Is(r.kept, turn.ErrSuspended) {
		leave = func() {}
		r.later(r.item, r.kept, place)
	}
	return ok
}

// attempt is next until it is done, or until the session is lost.
func (r *running) attempt(ctx context.Context, place *place, m *mail, alone bool, f *follower) (ok bool) {
	lined, out := r.lineUp(ctx)
	err := place.waitFor(lined, store.Claim{Item: r.item.ID, News: f.news})
	out()
	if errors.Is(err, errTaken) {
		return f.yield(turn.Event{Text: taken().Reply}, nil) && f.yield(turn.Event{Done: taken()}, nil)
	}
	if errors.Is(err, store.ErrEnded) {
		return r.elsewhere(ctx, f)
	}
	end := func() {}
	if err == nil && m.Text != Stop { // it asks no model, sub-agents may have the places of all turns, and a second one stops no first
		stoppable, ended := r.stops.begin(ctx, r.key)
		defer ended()
		ctx = stoppable
		end, err = r.turns.enter(ctx, "", r.waiter(*m), r.item.Priority, unbounded)
	}
	if err == nil && r.stopping() { // both came at once
		end()
		err = turn.ErrSuspended
	}
	switch {
	case err == nil:
	case ctx.Err() == nil && !errors.Is(err, turn.ErrSuspended): // the store failed
		r.kept = err
		return f.yield(turn.Event{}, fmt.Errorf("%w: %w", ErrStore, err)) && false
	default:
		return r.unasked(ctx, err, f.yield)
	}
	defer end()
	f.anew() // another process may have told a part before it ended
	err = r.guard("running a turn", r.key, func() error {
		ended, err := r.catchUp(ctx, alone && r.answers.senders(r.item.ID) < 2, r.following(*m, f))
		switch {
		case errors.Is(err, store.ErrLost):
			r.kept = err
		case err != nil:
			r.refuse(ctx, fmt.Errorf("%w: %w", ErrStore, err), f.yield)
		case ended != nil:
			ok = repeat(*ended, f.unsaid)
		default:
			ok = r.answer(ctx, m, f.hand)
		}
		return nil
	})
	if err != nil {
		r.kept = err
		f.yield(turn.Event{}, err)
	}
	return ok
}

// unasked is for a message whose turn has not come when its sender goes or the engine
// stops. In the first case it leaves nothing behind.
func (r *running) unasked(ctx context.Context, why error, yield func(turn.Event, error) bool) bool {
	if errors.Is(why, turn.ErrSuspended) {
		r.kept = why
	} else if err := r.write(ctx, store.End{ID: r.item.ID, Result: resultOf(nil, why)}); err != nil {
		r.config.Log.ErrorContext(ctx, "a message whose sender has gone stays in the inbox", "item", r.item.ID, "error", err)
		r.storeLate(r.item)
	}
	return yield(turn.Event{}, stopped(why)) && false
}

// catchUp works on what ended processes have left in the session before the item. It
// returns the item if it has ended.
func (r *running) catchUp(ctx context.Context, alone bool, of hears) (*store.Item, error) {
	if err := r.leftovers(ctx, r.key, r.item, of); err != nil || alone {
		return nil, err
	}
	now, err := r.Engine.item(ctx, r.item.ID)
	if given := r.answers.of(r.item.ID); errors.Is(err, store.ErrEnded) && given != nil {
		return &store.Item{State: store.Done, Result: given}, nil
	}
	if errors.Is(err, store.ErrEnded) { // it has no key
		return &store.Item{State: store.Done, Result: resultOf(taken(), nil)}, nil
	}
	if err != nil || now.State != store.Waiting {
		return &now, err
	}
	crashed := now.Holder != r.holder && now.Holder != ""
	if crashed && r.shared != nil {
		alive, err := r.shared.Alive(ctx)
		if err != nil {
			return nil, err
		}
		crashed = !slices.Contains(alive, now.Holder)
	}
	now, err = r.hold(ctx, now, crashed)
	r.item.Tries = now.Tries
	if err == nil && now.State == store.Parked {
		return &now, nil
	}
	return nil, err
}

// question is a message that needs a turn, with its session.
type question struct {
	mail    mail
	session session.Session
}

// answer answers a message: with a turn, unless there is a shorter way. The caller has
// the session to itself.
func (r *running) answer(ctx context.Context, m *mail, yield func(turn.Event, error) bool) bool {
	q, ok := r.shortly(ctx, m, yield)
	if q == nil {
		return ok
	}
	return r.run(ctx, q, yield)
}

// shortly answers a message without a turn, or returns it as one that needs one. It is apart
// from answer to keep its large variables off the stack of a turn that waits for its model.
func (r *running) shortly(ctx context.Context, said *mail, yield func(turn.Event, error) bool) (needs *question, ok bool) {
	m := *said
	r.replies = len(m.Reply) > 0
	s, err := r.load(ctx, r.agent, m)
	if err == nil && s.Turn.ID != "" && turn.PhaseOf(s) != turn.Waiting {
		// The process that ran it ended, and nobody has taken it up. It may be the item's own.
		f := cmp.Or(r.by, follow(yield))
		if err = r.finish(ctx, r.key, false, r.following(m, f)); err == nil {
			s, err = r.load(ctx, r.agent, m)
		}
		if err == nil && r.item.ID != 0 {
			if now, err := r.Engine.item(ctx, r.item.ID); errors.Is(err, store.ErrEnded) || err == nil && now.State != store.Waiting {
				return nil, r.elsewhere(ctx, f)
			}
		}
	}
	if err != nil {
		return nil, r.refuse(ctx, err, yield)
	}
	switch {
	case m.Notice != "":
		return nil, r.noticed(ctx, m, s, yield)
	case m.Outcome != nil && m.Outcome.System:
		return nil, r.returned(ctx, m, s, yield)
	case m.Origin != nil && m.Outcome == nil && len(m.Answers) == 0:
		switch gone, err := r.orphan(ctx, m.Origin, s.Key); {
		case err != nil:
			return nil, r.refuse(ctx, err, yield)
		case gone:
			return nil, r.refuse(ctx, turn.ErrStopped, yield)
		}
	}
	if m.Outcome != nil && (!m.Wait || s.Turn.ID != "" || !s.Waits(m.Outcome.Call.ID, session.Outcome)) {
		_, err = r.storeOutcome(ctx, r.key, s.State, *m.Outcome, r.item.ID) // no turn of its own
		r.kept = err
		return nil, err == nil || !errors.Is(err, store.ErrLost) && yield(turn.Event{}, err) && false
	}
	if text, ok := answeringOf(m.Text); ok {
		return nil, r.decided(ctx, m, s, text, yield)
	}
	m = r.toldText(ctx, m, s)
	switch {
	case m.Outcome != nil || m.Origin != nil: // the names were checked before
	case len(m.Answers) > 0:
		m, err = r.answered(ctx, s, m)
	default:
		err = r.named(r.agent, m, s)
	}
	if err != nil {
		return nil, r.refuse(ctx, err, yield)
	}
	switch m.Text {
	case Compact:
		return nil, r.compact(ctx, m, s, yield)
	case Stop:
		return nil, r.stopWaiting(ctx, m, s, yield)
	case Anew:
		return nil, r.anew(ctx, m, s, yield)
	}
	if m.Text == Run && (s.Flow != nil || len(r.Workflows().Names()) > 0) {
		return r.goOn(ctx, m, s, yield)
	}
	if m.Text == Switch || strings.HasPrefix(m.Text, Switch+" ") {
		return nil, r.switchSkill(ctx, m, s, yield)
	}
	if m.Outcome != nil {
		r.pending.Delete(pending{r.key, m.Outcome.Call.ID})
	}
	return &question{m, s}, false
}

// refuse ends a message with an error, unless the store failed: then it waits.
func (r *running) refuse(ctx context.Context, err error, yield func(turn.Event, error) bool) bool {
	if errors.Is(context.Cause(ctx), turn.ErrStopped) && !errors.Is(err, store.ErrLost) {
		err = turn.ErrStopped // which may have kept the store from answering
	}
	if errors.Is(err, ErrStore) || errors.Is(err, turn.ErrSuspended) || errors.Is(err, store.ErrLost) {
		r.kept, err = err, stopped(err)
	} else if r.item.ID != 0 {
		r.kept = r.write(ctx, store.End{ID: r.item.ID, Result: resultOf(nil, err), Deliver: r.replies})
	}
	return !errors.Is(r.kept, store.ErrLost) && yield(turn.Event{}, err) && false
}

// run runs one turn, and reports whether it ended well and the caller still ranges.
func (r *running) run(ctx context.Context, q *question, yield func(turn.Event, error) bool) bool {
	m, s := &q.mail, &q.session
	if r.stopping() { // the turn of another message ran before
		return r.refuse(ctx, turn.ErrSuspended, yield)
	}
	if len(m.Reply) > 0 {
		s.Reply = m.Reply
	} else if m.Background || m.Operator || m.Outcome != nil {
		m.Reply = s.Reply
	}
	r.replies = len(m.Reply) > 0 && m.History == nil
	if m.NoHistory && s.Turn.ID == "" {
		s.Messages, s.Sent, s.Summary, s.Front = nil, session.None, "", session.Front{}
	}
	r.goOnWith(q)
	defer r.waiters.begin(s.Key, r.late)()
	if m.Origin != nil {
		s.Parent = m.Origin.parent()
	}
	if s.Turn.ID != "" {
		r.give(givenBefore(s.Messages))
	}
	in := r.asks(ctx, q)
	in.Left = r.left
	s.Messages = nil // they are in the input
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o := m.Origin; o != nil {
		defer time.AfterFunc(o.Time, func() { cancel(errTime) }).Stop()
	}
	var failed error
	open := s.Turn // as it was stored last
	ended := false // the item, or there is none
	watched := r.meter.watch(r.agent.Name, r.config.Now)
	ctx, traced := r.traced(ctx, m)
	defer func() {
		watched.end(failed)
		if errors.Is(context.Cause(ctx), turn.ErrSuspended) { // another process goes on with it
			failed = nil
		}
		traced(failed)
	}()
	for e, err := range r.agent.runner.Run(ctx, *in) {
		failed = err
		watched.see(e)
		r.tell(e)
		switch {
		case err != nil:
			r.config.Log.InfoContext(ctx, "turn failed", "agent", r.agent.Name, "session", s.Key, "error", err)
			switch {
			case errors.Is(context.Cause(ctx), turn.ErrSuspended):
				if r.kept, err = turn.ErrSuspended, errLeft; m.History != nil {
					err = ErrStopping
				}
			case !ended && errors.Is(err, memory.ErrAway): // the turn has not begun, or is as it was stored
				r.kept = fmt.Errorf("%w: %w", ErrStore, err)
				err = r.kept
			case !ended && m.History == nil && m.Origin != nil:
				if r.kept = r.report(ctx, m.Origin, s.Key, nil, err); r.kept != nil {
					break
				}
				fallthrough
			case !ended && m.History == nil:
				r.kept = r.finishItem(ctx, store.End{ID: r.item.ID, Result: resultOf(nil, err), Deliver: r.replies}, open)
			}
			return !r.gone && !errors.Is(r.kept, store.ErrLost) && yield(turn.Event{}, err) && false
		case e.Step == nil:
			if e.Done != nil && len(e.Done.Awaits) > 0 && !r.gone && !yield(turn.Event{Text: e.Done.Reply}, nil) {
				r.gone = true
			}
			if e.Result != nil && e.Result.Pending {
				if e.Result.Session != "" {
					r.waiters.expect(session.Key(e.Result.Session), r.late)
				} else {
					r.pending.Store(pending{r.key, e.Result.CallID}, nil)
					r.late.expect()
				}
			}
			if e.Done != nil {
				r.keep(r.agent, *m, in.Session, e.Done)
			}
			if !r.gone && !yield(e, nil) {
				if r.gone = true; m.IdempotencyKey == "" && !m.joins() {
					cancel(nil)
				}
			}
		case m.History == nil:
			messages, given := storable(e.Step.Messages)
			r.give(given)
			end := store.End{Session: s.Key, State: e.Step.State, Messages: messages}
			var stopped []session.Await
			write := r.write
			if e.Step.Done != nil && len(e.Step.Done.Awaits) > 0 {
				e.Step.Done.Reply = asking(e.Step.Done.Awaits)
			}
			if ended = e.Step.Done != nil || e.Step.Failed != nil; ended {
				var err error
				if stopped, err = r.beside(ctx, *m, &end, e.Step); err != nil {
					r.kept = err
					return !r.gone && yield(turn.Event{}, err) && false
				}
				end.ID, end.Result = r.item.ID, resultWith(e.Step.Done, e.Step.Failed, r.given)
				end.Deliver = r.replies && (e.Step.Done == nil || len(r.given) > 0 || e.Step.Done.Reply != "" && !r.said(ctx, e.Step.Done))
				write = func(ctx context.Context, end store.End) error { return r.finishItem(ctx, end, open) }
			} else if e.Step.Taken != 0 {
				end.ID, end.Result, write = e.Step.Taken, resultOf(taken(), nil), r.put
			}
			for i, a := range end.State.Awaits {
				if a.For == session.Outcome && a.Holder == "" {
					end.State.Awaits = slices.Clone(end.State.Awaits)
					end.State.Awaits[i].Holder = r.holder
				}
			}
			if err := write(ctx, end); err != nil {
				r.kept = err
				return !r.gone && !errors.Is(err, store.ErrLost) && yield(turn.Event{}, err) && false
			}
			r.stopAll(ctx, stopped)
			if m.Origin != nil && !ended {
				if gone, err := r.orphan(ctx, m.Origin, s.Key); err == nil && gone {
					cancel(turn.ErrStopped)
				}
			}
			open = e.Step.State.Turn
			if e.Step.Taken != 0 {
				r.tellTaken(e.Step.Taken)
			}
		}
	}
	return !r.gone
}

// asks returns what the turn of a message gets.
func (r *running) asks(ctx context.Context, q *question) *turn.Input {
	in := r.input(r.agent, q.mail, q.session)
	in.Item, in.Crashed = r.item.ID, r.item.Tries > 0
	if q.mail.History == nil {
		in.Late = func(call chat.Call, result chat.Result) {
			r.take(q.mail, turn.Outcome{Call: call, Result: result})
		}
		if (r.agent.Steer || in.Plan != nil) && q.mail.Outcome == nil {
			in.Steer = func() []turn.Steered { return r.steering(ctx, q.mail, q.session) }
		}
	}
	return &in
}

// take receives the outcome of a call that went on. It may come before the turn of the
// call has ended. The outcome is a message of the inbox: for the sender, who may wait for
// it, or for the next turn of the session to see.
func (r *running) take(asked mail, o turn.Outcome) {
	r.running.begin()
	go func() {
		defer r.running.end()
		err := r.guard("storing the outcome of a call", r.key, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), maxStore)
			defer cancel()
			asked.Text, asked.Files, asked.Answers, asked.IdempotencyKey, asked.Outcome = "", nil, nil, "", o.Storable()
			for pause := firstPause; ; pause = min(2*pause, lastPause) {
				item, _, err := r.accept(ctx, r.key, asked)
				if err == nil && !r.late.hand(item) {
					r.storeLate(item)
				}
				if !errors.Is(err, ErrStore) {
					return err
				}
				select { // one that was stored all the same is not awaited any more when it comes again
				case <-time.After(pause):
				case <-ctx.Done():
					return err
				case <-r.life.Done():
					return err
				}
			}
		})
		if err != nil {
			r.config.Log.Error("the outcome of a call could not be stored", "session", r.key, "error", err)
		}
	}()
}
