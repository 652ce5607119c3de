package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/engine/internal/follow"
	"github.com/etui-run/etui/engine/internal/share"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

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
		j, m, err := e.receive(&m)
		if err != nil {
			yield(turn.Event{}, err)
			return
		}
		e.box.Running.Begin()
		defer e.box.Running.End()
		defer j.ticket.Close()
		if m.Kind == message.KindStop && m.History == nil && j.stopNow(ctx, m, yield) {
			return
		}
		waiting, cancel := e.box.Suspendable(ctx)
		defer cancel()
		for ok := j.enter(ctx, m, yield); ok; {
			item := j.ticket.Next(waiting)
			if item == nil {
				return
			}
			ok = item.ID == 0 || j.enterLate(ctx, *item, yield)
		}
	}
}

// receive returns a message that can be accepted, and how it is to be run. Here and below, a
// message is a pointer: large variables on the stack of a turn that waits for its model cost
// memory for each of them.
func (e *Engine) receive(said *Message) (*job, *message.Mail, error) {
	a, m, err := e.agents.Ready(message.New(*said))
	if err != nil {
		return nil, nil, err
	}
	m.To = e.agents.Key(a, m) // also if the configuration changes while it waits
	return &job{engine: e, agent: a, key: m.To, ticket: e.box.Ticket(m.Wait)}, &m, nil
}

// enter accepts a message, waits for the session and runs its turn. It reports whether the
// turn ended well and the caller still ranges.
func (j *job) enter(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	place, leave, err := j.join(m)
	if errors.Is(err, ErrCrowd) && m.Later && j.item.ID == 0 {
		if err = j.enterLater(ctx, m, err); err == nil {
			return false
		}
	}
	if err != nil {
		if j.item.ID != 0 { // stopNow has accepted it
			j.engine.box.TakeUp(j.item)
		}
		return yield(turn.Event{}, err) && false
	}
	defer leave()
	if place == nil {
		return j.alone(ctx, m, yield)
	}
	if given := j.lostAnswer(m, ""); given != nil {
		place.Leave()
		return message.Repeat(store.Item{State: store.Done, Result: given}, yield)
	}
	caller := ctx
	if m.IdempotencyKey != "" || m.Joins() {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := j.engine.box.Suspendable(ctx)
	defer cancel()
	fresh := false
	received := j.received(ctx, m)
	if err = agent.CheckKey(j.key); err == nil {
		j.item, fresh, err = j.engine.inbox.Accept(ctx, j.key, *m)
	}
	received(err)
	if err == nil && m.Accepted != nil {
		m.Accepted()
	}
	if err == nil && fresh { // the message that it repeats may just have ended
		if given := j.lostAnswer(m, j.item.Key); given != nil {
			err = j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: given})
			j.item.State, j.item.Result = store.Done, given
		}
	}
	if err != nil || j.item.State != store.Waiting {
		place.Leave()
		if err == nil {
			return message.Repeat(j.item, yield)
		}
		return yield(turn.Event{}, err) && false
	}
	j.keyed, j.repeated = m.IdempotencyKey != "" || m.Joins(), !fresh
	if m.Joins() {
		j.engine.box.Answers.Join(j.item, m.Received)
		defer j.engine.box.Answers.Leave(j.item.ID)
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		defer j.linger(caller, end)()
	}
	// With a key, another sender of the message may have come to the session first, and a
	// running turn may have taken the message in.
	return j.next(ctx, place, m, fresh && m.IdempotencyKey == "" && (!m.Joins() || j.engine.shared == nil) && !j.agent.Steer && !strings.HasPrefix(m.Text, message.Switch+" "), yield)
}

// lostAnswer returns the answer to the message that m repeats, which its sender perhaps did not get; nil
// if m is another message. Key is that of its item; empty means that it is not known yet.
func (j *job) lostAnswer(m *message.Mail, key string) json.RawMessage {
	if !m.Joins() {
		return nil
	}
	if key == "" {
		key = j.engine.inbox.Passing(*m)
	}
	return j.engine.box.Answers.Lost(key, m.Repeated, m.Received, j.engine.config.Now())
}

// enterLate does the same with an outcome of the inbox, for the sender who waits for it.
func (j *job) enterLate(ctx context.Context, item store.Item, yield func(turn.Event, error) bool) bool {
	_, m, err := j.engine.agents.Read(item)
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	m.Wait = true
	place, _ := j.engine.box.Join(j.key, item.User, item.Priority, mailbox.Unbounded) // it never fails
	j.engine.box.Here.Add(1)
	defer j.engine.box.Here.Add(-1)
	waiting, cancel := j.engine.box.Suspendable(ctx)
	defer cancel()
	coming, cancel := j.engine.box.Suspendable(ctx, j.engine.box.Begins())
	defer cancel()
	if err := place.Wait(coming); err != nil {
		place.Leave()
		j.engine.box.TakeUp(item) // the caller has gone: the outcome is stored without a turn
		return yield(turn.Event{}, stopped(err)) && false
	}
	j.item = item
	return j.next(waiting, place, &m, true, yield)
}

// join takes a place in the session for a message; nil for one that is not stored. The
// message is counted, and has its part of the shares, until leave is called.
func (j *job) join(m *message.Mail) (place *mailbox.Place, leave func(), err error) {
	if j.engine.box.Stopping() {
		return nil, nil, ErrStopping
	}
	free, err := j.engine.share(*m, j.key, share.Share{Name: "all", Says: "in all sessions", Places: j.engine.places, Busy: ErrBusy})
	if err != nil {
		return nil, nil, err
	}
	j.engine.box.Here.Add(1)
	leave = func() { j.engine.box.Here.Add(-1); free() }
	if m.History != nil {
		return nil, leave, nil
	}
	place, err = j.engine.box.Join(j.key, j.engine.people.Waiter(m.Caller(), m.To), m.Priority(), j.engine.config.MaxWaiting)
	if err != nil {
		leave()
		return nil, nil, ErrFull
	}
	return place, leave, nil
}

// maxDeferred is how many messages wait in the store alone, because strangers had no place when
// they came.
const maxDeferred = 2048

// enterLater accepts a message for which strangers have no place now. It is answered behind those
// of people, in the order in which such messages came, and its reply goes where it says.
func (j *job) enterLater(ctx context.Context, m *message.Mail, crowd error) (err error) {
	e, fresh := j.engine, false
	n := e.deferred.Add(1)
	defer func() {
		if !fresh {
			e.deferred.Add(-1)
		}
	}()
	switch err = agent.CheckKey(j.key); {
	case err != nil:
		return err
	case n > maxDeferred:
		return crowd
	case e.box.Waiting(j.key) >= e.config.MaxWaiting:
		return ErrFull
	}
	m.Behind = true
	if j.item, fresh, err = e.inbox.Accept(ctx, j.key, *m); err != nil {
		return err
	}
	if fresh { // before its sender's next message comes, which waits behind it
		e.box.TakeUpThen(j.item, func() { e.deferred.Add(-1) })
	}
	if m.Accepted != nil {
		m.Accepted()
	}
	return nil
}

// alone runs the turn of a message that is not stored.
func (j *job) alone(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	ctx, cancel := j.engine.box.Suspendable(ctx)
	defer cancel()
	leave, err := j.engine.box.Turns.Enter(ctx, "", j.engine.people.Waiter(m.Caller(), m.To), m.Priority(), mailbox.Unbounded)
	if errors.Is(err, turn.ErrSuspended) {
		err = ErrStopping
	}
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	defer leave()
	return j.answer(ctx, m, yield)
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
func (j *job) next(ctx context.Context, place *mailbox.Place, m *message.Mail, alone bool, yield func(turn.Event, error) bool) (ok bool) {
	leave := place.Leave
	defer func() { leave() }()
	f := follow.New(func(e turn.Event, err error) bool {
		if errors.Is(err, ErrStore) {
			err = fmt.Errorf("%w: %w", ErrKept, err)
		}
		return yield(e, err)
	})
	j.by = f
	for {
		ok = j.attempt(ctx, place, m, alone, f)
		if !errors.Is(j.kept, store.ErrLost) {
			break
		}
		// Another process took the session over. It may answer the message, or this one.
		j.kept, alone = nil, false
		f.Restart()
	}
	j.engine.box.HandOver(j.item, j.kept)
	if j.kept != nil && j.item.ID != 0 && !errors.Is(j.kept, turn.ErrSuspended) {
		leave = func() {}
		j.engine.box.Later(j.item, j.kept, place)
	}
	return ok
}

// attempt is next until it is done, or until the session is lost.
func (j *job) attempt(ctx context.Context, place *mailbox.Place, m *message.Mail, alone bool, f *follow.Follower) (ok bool) {
	lined, out := j.engine.box.LineUp(ctx, j.item.ID, j.keyed, j.repeated)
	err := place.WaitFor(lined, store.Claim{Item: j.item.ID, News: f.Read})
	out()
	if errors.Is(err, errTaken) {
		return f.Yield(turn.Event{Text: taken().Reply}, nil) && f.Yield(turn.Event{Done: taken()}, nil)
	}
	if errors.Is(err, store.ErrEnded) {
		return j.elsewhere(ctx, f)
	}
	end := func() {}
	if err == nil && m.Kind != message.KindStop { // it asks no model, sub-agents may have the places of all turns, and a second one stops no first
		stoppable, ended := j.engine.box.Stops.Begin(ctx, j.key)
		defer ended()
		ctx = stoppable
		end, err = j.engine.box.Turns.Enter(ctx, "", j.engine.people.Waiter(m.Caller(), m.To), j.item.Priority, mailbox.Unbounded)
	}
	if err == nil && j.engine.box.Stopping() { // both came at once
		end()
		err = turn.ErrSuspended
	}
	switch {
	case err == nil:
	case ctx.Err() == nil && !errors.Is(err, turn.ErrSuspended): // the store failed
		j.kept = err
		return f.Yield(turn.Event{}, fmt.Errorf("%w: %w", ErrStore, err)) && false
	default:
		return j.unasked(ctx, err, f.Yield)
	}
	defer end()
	f.Restart() // another process may have told a part before it ended
	err = j.engine.box.Guard("running a turn", j.key, func() error {
		ended, err := j.catchUp(ctx, alone && j.engine.box.Answers.Senders(j.item.ID) < 2, j.following(*m, f))
		switch {
		case errors.Is(err, store.ErrLost):
			j.kept = err
		case err != nil:
			j.refuse(ctx, fmt.Errorf("%w: %w", ErrStore, err), f.Yield)
		case ended != nil:
			ok = message.Repeat(*ended, f.HandRest)
		default:
			ok = j.answer(ctx, m, f.Hand)
		}
		return nil
	})
	if err != nil {
		j.kept = err
		f.Yield(turn.Event{}, err)
	}
	return ok
}

// unasked is for a message whose turn has not come when its sender goes or the engine
// stops. In the first case it leaves nothing behind.
func (j *job) unasked(ctx context.Context, why error, yield func(turn.Event, error) bool) bool {
	if errors.Is(why, turn.ErrSuspended) {
		j.kept = why
	} else if err := j.engine.box.Write(ctx, store.End{ID: j.item.ID, Result: message.Result(nil, why)}); err != nil {
		j.engine.config.Log.ErrorContext(ctx, "a message whose sender has gone stays in the inbox", "item", j.item.ID, "error", err)
		j.engine.box.TakeUp(j.item)
	}
	return yield(turn.Event{}, stopped(why)) && false
}

// catchUp works on what ended processes have left in the session before the item. It
// returns the item if it has ended.
func (j *job) catchUp(ctx context.Context, alone bool, of hears) (*store.Item, error) {
	if err := j.engine.box.Leftovers(ctx, j.key, j.item, func() error { return j.engine.finish(ctx, j.key, false, of) }); err != nil || alone {
		return nil, err
	}
	now, err := j.engine.box.Item(ctx, j.item.ID)
	if given := j.engine.box.Answers.Of(j.item.ID); errors.Is(err, store.ErrEnded) && given != nil {
		return &store.Item{State: store.Done, Result: given}, nil
	}
	if errors.Is(err, store.ErrEnded) { // it has no key
		return &store.Item{State: store.Done, Result: message.Result(taken(), nil)}, nil
	}
	if err != nil || now.State != store.Waiting {
		return &now, err
	}
	crashed := now.Holder != j.engine.holder && now.Holder != ""
	if crashed && j.engine.shared != nil {
		alive, err := j.engine.shared.Alive(ctx)
		if err != nil {
			return nil, err
		}
		crashed = !slices.Contains(alive, now.Holder)
	}
	now, err = j.engine.box.Hold(ctx, now, crashed)
	j.item.Tries = now.Tries
	if err == nil && now.State == store.Parked {
		return &now, nil
	}
	return nil, err
}
