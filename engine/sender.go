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
		s, m, err := newSender(e, &m)
		if err != nil {
			yield(turn.Event{}, err)
			return
		}
		e.box.Running.Begin()
		defer e.box.Running.End()
		defer s.job.ticket.Close()
		if m.Kind == message.KindStop && m.History == nil && s.stopNow(ctx, m, yield) {
			return
		}
		waiting, cancel := e.box.Suspendable(ctx)
		defer cancel()
		for ok := s.enter(ctx, m, yield); ok; {
			item := s.job.ticket.Next(waiting)
			if item == nil {
				return
			}
			ok = item.ID == 0 || s.enterLate(ctx, *item, yield)
		}
	}
}

// sender is somebody who sends a message, waits for what becomes of it, and may go meanwhile.
type sender struct {
	engine *Engine
	job    *job // the message, and later each outcome for which the sender waits

	keyed, repeated bool // it has an idempotency key; it was in the inbox before
}

// newSender returns the sender of a message that can be accepted. Here and below, a message is a
// pointer: large variables on the stack of a turn that waits for its model cost memory for each of
// them.
func newSender(e *Engine, said *Message) (*sender, *message.Mail, error) {
	a, m, err := e.agents.Ready(message.New(*said))
	if err != nil {
		return nil, nil, err
	}
	m.To = e.agents.Key(a, m) // also if the configuration changes while it waits
	return &sender{engine: e, job: &job{engine: e, agent: a, key: m.To, ticket: e.box.Ticket(m.Wait)}}, &m, nil
}

// enter accepts a message, waits for the session and runs its turn. It reports whether the
// turn ended well and the caller still ranges.
func (s *sender) enter(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	place, leave, err := s.join(m)
	if errors.Is(err, ErrCrowd) && m.Later && s.job.item.ID == 0 {
		if err = s.enterLater(ctx, m, err); err == nil {
			return false
		}
	}
	if err != nil {
		if s.job.item.ID != 0 { // stopNow has accepted it
			s.engine.box.TakeUp(s.job.item)
		}
		return yield(turn.Event{}, err) && false
	}
	defer leave()
	if place == nil {
		return s.alone(ctx, m, yield)
	}
	if given := s.lostAnswer(m, ""); given != nil {
		place.Leave()
		return message.Repeat(store.Item{State: store.Done, Result: given}, yield)
	}
	caller := ctx
	if m.IdempotencyKey != "" || m.Joins() {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := s.engine.box.Suspendable(ctx)
	defer cancel()
	fresh := false
	received := s.received(ctx, m)
	if err = agent.CheckKey(s.job.key); err == nil {
		s.job.item, fresh, err = s.engine.inbox.Accept(ctx, s.job.key, *m)
	}
	received(err)
	if err == nil && m.Accepted != nil {
		m.Accepted()
	}
	if err == nil && fresh { // the message that it repeats may just have ended
		if given := s.lostAnswer(m, s.job.item.Key); given != nil {
			err = s.engine.box.Write(ctx, store.End{ID: s.job.item.ID, Result: given})
			s.job.item.State, s.job.item.Result = store.Done, given
		}
	}
	if err != nil || s.job.item.State != store.Waiting {
		place.Leave()
		if err == nil {
			return message.Repeat(s.job.item, yield)
		}
		return yield(turn.Event{}, err) && false
	}
	s.keyed, s.repeated = m.IdempotencyKey != "" || m.Joins(), !fresh
	if m.Joins() {
		s.engine.box.Answers.Join(s.job.item, m.Received)
		defer s.engine.box.Answers.Leave(s.job.item.ID)
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		defer s.linger(caller, end)()
	}
	// With a key, another sender of the message may have come to the session first, and a
	// running turn may have taken the message in.
	alone := fresh && m.IdempotencyKey == "" && (!m.Joins() || s.engine.shared == nil) &&
		!s.job.agent.Steer && !strings.HasPrefix(m.Text, message.Switch+" ")
	return s.next(ctx, place, m, alone, yield)
}

// lostAnswer returns the answer to the message that m repeats, which its sender perhaps did not get; nil
// if m is another message. Key is that of its item; empty means that it is not known yet.
func (s *sender) lostAnswer(m *message.Mail, key string) json.RawMessage {
	if !m.Joins() {
		return nil
	}
	if key == "" {
		key = s.engine.inbox.JoinKey(*m)
	}
	return s.engine.box.Answers.LostAnswer(key, m.Repeated, m.Received, s.engine.config.Now())
}

// enterLate does the same with an outcome of the inbox, for the sender who waits for it.
func (s *sender) enterLate(ctx context.Context, item store.Item, yield func(turn.Event, error) bool) bool {
	_, m, err := s.engine.agents.Read(item)
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	m.Wait = true
	place, _ := s.engine.box.Join(s.job.key, item.User, item.Priority, mailbox.Unbounded) // it never fails
	s.engine.box.Here.Add(1)
	defer s.engine.box.Here.Add(-1)
	waiting, cancel := s.engine.box.Suspendable(ctx)
	defer cancel()
	coming, cancel := s.engine.box.Suspendable(ctx, s.engine.box.Begins())
	defer cancel()
	if err := place.Wait(coming); err != nil {
		place.Leave()
		s.engine.box.TakeUp(item) // the caller has gone: the outcome is stored without a turn
		return yield(turn.Event{}, stopped(err)) && false
	}
	s.job.item = item
	return s.next(waiting, place, &m, true, yield)
}

// join takes a place in the session for a message; nil for one that is not stored. The
// message is counted, and has its part of the shares, until leave is called.
func (s *sender) join(m *message.Mail) (place *mailbox.Place, leave func(), err error) {
	if s.engine.box.Stopping() {
		return nil, nil, ErrStopping
	}
	free, err := s.engine.shares.take(
		*m, s.job.key, share.Share{
			Name: "all", Says: "in all sessions", Places: s.engine.shares.total, Busy: ErrBusy,
			Full: s.engine.health.SetCrowded,
		},
	)
	if err != nil {
		return nil, nil, err
	}
	s.engine.box.Here.Add(1)
	leave = func() { s.engine.box.Here.Add(-1); free() }
	if m.History != nil {
		return nil, leave, nil
	}
	place, err = s.engine.box.Join(
		s.job.key, s.engine.people.Waiter(m.Caller(), m.To), m.Priority(), s.engine.config.MaxWaiting,
	)
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
func (s *sender) enterLater(ctx context.Context, m *message.Mail, crowd error) (err error) {
	e, fresh := s.engine, false
	n := e.shares.deferred.Add(1)
	defer func() {
		if !fresh {
			e.shares.deferred.Add(-1)
		}
	}()
	switch err = agent.CheckKey(s.job.key); {
	case err != nil:
		return err
	case n > maxDeferred:
		return crowd
	case e.box.Waiting(s.job.key) >= e.config.MaxWaiting:
		return ErrFull
	}
	m.Behind = true
	if s.job.item, fresh, err = e.inbox.Accept(ctx, s.job.key, *m); err != nil {
		return err
	}
	if fresh { // before its sender's next message comes, which waits behind it
		e.box.TakeUpThen(s.job.item, func() { e.shares.deferred.Add(-1) })
	}
	if m.Accepted != nil {
		m.Accepted()
	}
	return nil
}

// alone runs the turn of a message that is not stored.
func (s *sender) alone(ctx context.Context, m *message.Mail, yield func(turn.Event, error) bool) bool {
	ctx, cancel := s.engine.box.Suspendable(ctx)
	defer cancel()
	leave, err := s.engine.box.Turns.Enter(
		ctx, "", s.engine.people.Waiter(m.Caller(), m.To), m.Priority(), mailbox.Unbounded,
	)
	if errors.Is(err, turn.ErrSuspended) {
		err = ErrStopping
	}
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	defer leave()
	return s.job.answer(ctx, m, yield)
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
func (s *sender) next(
	ctx context.Context, place *mailbox.Place, m *message.Mail, alone bool, yield func(turn.Event, error) bool,
) (ok bool) {
	leave := place.Leave
	defer func() { leave() }()
	f := follow.New(func(e turn.Event, err error) bool {
		if errors.Is(err, ErrStore) {
			err = fmt.Errorf("%w: %w", ErrKept, err)
		}
		return yield(e, err)
	})
	s.job.by = f
	for {
		ok = s.attempt(ctx, place, m, alone, f)
		if !errors.Is(s.job.kept, store.ErrLost) {
			break
		}
		// Another process took the session over. It may answer the message, or this one.
		s.job.kept, alone = nil, false
		f.Restart()
	}
	s.engine.box.HandOver(s.job.item, s.job.kept)
	if s.job.kept != nil && s.job.item.ID != 0 && !errors.Is(s.job.kept, turn.ErrSuspended) {
		leave = func() {}
		s.engine.box.WorkLater(s.job.item, s.job.kept, place)
	}
	return ok
}

// attempt is next until it is done, or until the session is lost.
func (s *sender) attempt(
	ctx context.Context, place *mailbox.Place, m *message.Mail, alone bool, f *follow.Follower,
) (ok bool) {
	lined, out := s.engine.box.LineUp(ctx, s.job.item.ID, s.keyed, s.repeated)
	err := place.WaitFor(lined, store.Claim{Item: s.job.item.ID, News: f.Read})
	out()
	if errors.Is(err, errTaken) {
		return f.Yield(turn.Event{Text: taken(m.Language).Reply}, nil) &&
			f.Yield(turn.Event{Done: taken(m.Language)}, nil)
	}
	if errors.Is(err, store.ErrEnded) {
		return s.job.elsewhere(ctx, f)
	}
	end := func() {}
	// One that stops asks no model, sub-agents may have the places of all turns, and a second one stops
	// no first.
	if err == nil && m.Kind != message.KindStop {
		stoppable, ended := s.engine.box.Stops.Begin(ctx, s.job.key)
		defer ended()
		ctx = stoppable
		end, err = s.engine.box.Turns.Enter(
			ctx, "", s.engine.people.Waiter(m.Caller(), m.To), s.job.item.Priority, mailbox.Unbounded,
		)
	}
	if err == nil && s.engine.box.Stopping() { // both came at once
		end()
		err = turn.ErrSuspended
	}
	switch {
	case err == nil:
	case ctx.Err() == nil && !errors.Is(err, turn.ErrSuspended): // the store failed
		s.job.kept = err
		return f.Yield(turn.Event{}, fmt.Errorf("%w: %w", ErrStore, err)) && false
	default:
		return s.unasked(ctx, err, f.Yield)
	}
	defer end()
	f.Restart() // another process may have told a part before it ended
	err = s.engine.box.Guard("running a turn", s.job.key, func() error {
		ended, err := s.catchUp(ctx, alone && s.engine.box.Answers.Senders(s.job.item.ID) < 2, s.job.following(*m, f))
		switch {
		case errors.Is(err, store.ErrLost):
			s.job.kept = err
		case err != nil:
			s.job.refuse(ctx, fmt.Errorf("%w: %w", ErrStore, err), f.Yield)
		case ended != nil:
			ok = message.Repeat(*ended, f.HandRest)
		default:
			ok = s.job.answer(ctx, m, f.Hand)
		}
		return nil
	})
	if err != nil {
		s.job.kept = err
		f.Yield(turn.Event{}, err)
	}
	return ok
}

// unasked is for a message whose turn has not come when its sender goes or the engine
// stops. In the first case it leaves nothing behind.
func (s *sender) unasked(ctx context.Context, why error, yield func(turn.Event, error) bool) bool {
	if errors.Is(why, turn.ErrSuspended) {
		s.job.kept = why
	} else if err := s.engine.box.Write(ctx,
		store.End{ID: s.job.item.ID, Result: message.Result(nil, why)}); err != nil {
		s.engine.config.Log.ErrorContext(
			ctx, "a message whose sender has gone stays in the inbox", "item", s.job.item.ID, "error", err,
		)
		s.engine.box.TakeUp(s.job.item)
	}
	return yield(turn.Event{}, stopped(why)) && false
}

// catchUp works on what ended processes have left in the session before the item. It
// returns the item if it has ended.
func (s *sender) catchUp(ctx context.Context, alone bool, of hears) (*store.Item, error) {
	finish := func() error { return worker{s.engine}.finish(ctx, s.job.key, false, of) }
	if err := s.engine.box.Leftovers(ctx, s.job.key, s.job.item, finish); err != nil || alone {
		return nil, err
	}
	now, err := s.engine.box.Item(ctx, s.job.item.ID)
	if given := s.engine.box.Answers.Of(s.job.item.ID); errors.Is(err, store.ErrEnded) && given != nil {
		return &store.Item{State: store.Done, Result: given}, nil
	}
	if errors.Is(err, store.ErrEnded) { // it has no key
		return &store.Item{State: store.Done, Result: message.Result(taken(""), nil)}, nil
	}
	if err != nil || now.State != store.Waiting {
		return &now, err
	}
	crashed := now.Holder != s.engine.holder && now.Holder != ""
	if crashed && s.engine.shared != nil {
		alive, err := s.engine.shared.Alive(ctx)
		if err != nil {
			return nil, err
		}
		crashed = !slices.Contains(alive, now.Holder)
	}
	now, err = s.engine.box.Hold(ctx, now, crashed)
	s.job.item.Tries = now.Tries
	if err == nil && now.State == store.Parked {
		return &now, nil
	}
	return nil, err
}
