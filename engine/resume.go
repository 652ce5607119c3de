package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Resume goes on with what other processes left: it resumes open turns, works on what
// waits in the inbox, and reports calls that went on after their turn as lost. It returns
// when all of that is done, or when ctx ends: then the rest is left for the next time. With a
// [store.Shared], processes may end at any time, and Resume goes on until ctx ends. Call it
// once, before or while the engine serves, and with any other store in one process only. If
// it fails while ctx goes on, the store could not be read, nothing was taken up, and it may be
// called again.
func (e *Engine) Resume(ctx context.Context) error {
	w := resuming{left: make(chan session.Key)}
	defer func() {
		close(w.left)
		w.workers.Wait()
	}()
	err := e.resumeLeft(ctx, &w, true)
	if err != nil && e.shared == nil {
		return err
	}
	if e.shared == nil {
		if err := w.again(ctx); err != nil {
			return err
		}
		left, err := e.config.Store.Mailboxes(ctx, e.holder)
		e.settled.Store(err == nil && len(left) == 0)
		return ctx.Err()
	}
	w.workers.Go(func() {
		defer panics.Log(e.config.Log, "stopping turns for other processes")
		e.heedOthers(ctx)
	})
	w.workers.Go(func() {
		defer panics.Log(e.config.Log, "following what is changed of agents")
		e.followControls(ctx)
	})
	w.workers.Go(func() {
		defer panics.Log(e.config.Log, "forgetting for other processes")
		e.forgetForOthers(ctx)
	})
	w.workers.Go(func() {
		defer panics.Log(e.config.Log, "following past turns")
		e.followTurns(ctx)
	})
	var alive []string
	all := err != nil // the store was away
	for {
		select {
		case <-e.shared.Left():
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := e.shared.Alive(ctx)
		if err != nil {
			continue // the store says when it is away
		}
		all = w.clear() || all || slices.ContainsFunc(alive, func(holder string) bool { return !slices.Contains(now, holder) })
		if e.resumeLeft(ctx, &w, all) == nil {
			alive, all = now, false
		}
	}
}

// resuming are the workers of Resume.
type resuming struct {
	left    chan session.Key
	started int
	workers sync.WaitGroup
	busy    sync.Map // of the keys that they work on

	handed sync.WaitGroup // the same, for whoever waits for their end
	failed sync.Map       // of the keys that could not be resumed
	later  atomic.Bool    // they were tried for long before
}

// hand gives sessions to the workers, except for those that one of them works on.
func (w *resuming) hand(ctx context.Context, keys []session.Key) error {
	for _, key := range keys {
		if _, busy := w.busy.LoadOrStore(key, nil); busy {
			continue
		}
		w.handed.Add(1)
		select {
		case w.left <- key:
		case <-ctx.Done():
			w.handed.Done()
			return ctx.Err()
		}
	}
	return nil
}

// clear forgets which sessions could not be resumed, and reports whether there were any: they
// are to be looked for again.
func (w *resuming) clear() (some bool) {
	w.failed.Range(func(key, _ any) bool {
		w.failed.Delete(key)
		some = true
		return true
	})
	return some
}

// again hands out again what could not be resumed, now and then, until all is done. With a
// [store.Shared], what was left is found again.
func (w *resuming) again(ctx context.Context) error {
	for {
		w.handed.Wait()
		var keys []session.Key
		w.failed.Range(func(key, _ any) bool {
			keys = append(keys, key.(session.Key))
			return true
		})
		if len(keys) == 0 {
			return ctx.Err()
		}
		select {
		case <-time.After(lastPause):
		case <-ctx.Done():
			return ctx.Err()
		}
		w.later.Store(true)
		w.failed.Clear()
		if err := w.hand(ctx, keys); err != nil {
			return err
		}
	}
}

// resumeLeft hands the sessions that were left to workers. All means also those without an
// item in the inbox.
func (e *Engine) resumeLeft(ctx context.Context, w *resuming, all bool) error {
	if e.stopping() {
		return nil
	}
	var keys []session.Key
	var err error
	if all {
		if keys, err = e.config.Store.Open(ctx); err != nil {
			return fmt.Errorf("looking for open turns: %w", err)
		}
	}
	waiting, err := e.config.Store.Mailboxes(ctx, e.holder)
	if err != nil {
		return fmt.Errorf("looking for messages that wait: %w", err)
	}
	for _, key := range waiting {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	workers := min(maxResuming, len(keys))
	if e.shared != nil && workers > 0 {
		workers = maxResuming
	}
	for ; w.started < workers; w.started++ {
		w.workers.Go(func() {
			defer panics.Log(e.config.Log, "resuming turns") // each turn has its own
			for key := range w.left {
				if !e.resumeUntil(ctx, key, w.later.Load()) {
					w.failed.Store(key, nil)
				}
				w.busy.Delete(key)
				w.handed.Done()
			}
		})
	}
	return w.hand(ctx, keys)
}

// resumeUntil resumes a session. It tries again for a while when the store fails, or once only
// if it has done so before. It reports false if the session is to be tried again later.
func (e *Engine) resumeUntil(ctx context.Context, key session.Key, once bool) (done bool) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := e.guard("resuming a turn", key, func() error { return e.resume(ctx, key) })
		panicked := errors.Is(err, errPanic)
		switch {
		case err == nil || errors.Is(err, turn.ErrSuspended) || ctx.Err() != nil:
			return true
		case once && !panicked:
			return false
		case panicked || pause == lastPause:
			e.config.Log.ErrorContext(ctx, "a session could not be resumed", "session", key, "error", err)
			return panicked
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return true
		}
	}
}

// maxResuming is how many sessions Resume works on at once.
const maxResuming = 8

// resume goes on with what other processes left in a session.
func (e *Engine) resume(ctx context.Context, key session.Key) error {
	e.running.begin()
	defer e.running.end()
	for {
		more, err := e.resumeOne(ctx, key)
		if err != nil || !more {
			return err
		}
	}
}

// resumeOne ends the session's open turn, and works on the first item that was left. It
// reports whether there was one. While another process has the session, it does nothing.
func (e *Engine) resumeOne(ctx context.Context, key session.Key) (more bool, err error) {
	left, err := e.config.Store.Items(ctx, store.ItemFilter{Session: key, State: store.Waiting, NotOf: e.holder, Limit: 1})
	if err != nil {
		return false, err
	}
	claim := store.Claim{Try: true}
	if len(left) > 0 {
		claim.Item = left[0].ID
	}
	place, err := e.sessions.join(string(key), "", store.People, unbounded)
	if err != nil {
		return false, err
	}
	defer place.leave()
	coming, cancel := e.suspendable(ctx, e.begins)
	defer cancel()
	switch err := place.waitFor(coming, claim); {
	case errors.Is(err, store.ErrClaimed):
		return false, nil
	case errors.Is(err, store.ErrEnded):
		return true, nil
	case err != nil:
		return false, err
	}
	e.resuming.Add(1)
	defer e.resuming.Add(-1)
	ctx, cancel = e.suspendable(context.WithoutCancel(ctx), ctx)
	defer cancel()
	if err := e.lost(ctx, key); err != nil {
		return false, err
	}
	if err := e.finish(ctx, key, false, nobody); err != nil || len(left) == 0 {
		return false, err
	}
	switch now, err := e.item(ctx, left[0].ID); {
	case errors.Is(err, store.ErrEnded):
		return true, nil // it was the open turn's
	case err != nil || now.State != store.Waiting:
		return err == nil, err
	default:
		err := e.takeUp(ctx, now, true)
		if err != nil && !errors.Is(err, turn.ErrSuspended) && !errors.Is(err, store.ErrLost) {
			e.storeLate(now) // it may be ours now, so that nobody finds it
			return true, nil
		}
		return err == nil, err
	}
}

// lost reports the calls of ended processes that went on after their turn, except for
// those whose outcome is in the inbox.
func (e *Engine) lost(ctx context.Context, key session.Key) error {
	s, err := e.config.Store.Load(ctx, key, 1)
	if err != nil || len(s.Awaits) == 0 {
		return err
	}
	waiting, err := e.config.Store.Items(ctx, store.ItemFilter{Session: key, State: store.Waiting})
	if err != nil {
		return err
	}
	for _, i := range waiting {
		if _, m, err := e.message(i); err == nil && m.Outcome != nil {
			e.pending.Store(pending{key, m.Outcome.Call.ID}, nil)
		}
	}
	var alive []string
	if e.shared != nil {
		if alive, err = e.shared.Alive(ctx); err != nil {
			return err
		}
	}
	for _, a := range s.Awaits {
		if _, here := e.pending.Load(pending{key, a.Call}); here || a.For != session.Outcome || slices.Contains(alive, a.Holder) {
			continue
		}
		if s.State, err = e.storeOutcome(ctx, key, s.State, turn.Lost(a), 0); err != nil {
			return err
		}
	}
	return nil
}

// leftovers works on the items that ended processes have left in a session before an item,
// in their order. The open turn of the session comes first. The caller has the session to
// itself.
func (e *Engine) leftovers(ctx context.Context, key session.Key, before store.Item, of hears) error {
	for !e.settled.Load() {
		left, err := e.config.Store.Items(ctx, store.ItemFilter{Session: key, State: store.Waiting, NotOf: e.holder, Limit: 1})
		if err != nil || len(left) == 0 || e.shared != nil && !left[0].Before(before) {
			return err
		}
		if err := e.finish(ctx, key, false, of); err != nil { // it may be the item's own turn
			return err
		}
		switch now, err := e.item(ctx, left[0].ID); {
		case errors.Is(err, store.ErrEnded) || err == nil && now.State != store.Waiting:
			continue
		case err != nil || now.ID == before.ID:
			return err
		default:
			if err := e.takeUp(ctx, now, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish runs the open turn of a session to its end, or until it waits. The caller has
// the session to itself. An error means that the turn is still open; that a turn failed
// is none. What happens is yielded to who hears the turn's item. Crashed says that an attempt
// here ended unexpectedly.
func (e *Engine) finish(ctx context.Context, key session.Key, crashed bool, of hears) error {
	s, err := e.config.Store.Load(ctx, key, session.Sent)
	if err != nil || s.Turn.ID == "" || turn.PhaseOf(s) == turn.Waiting {
		return err
	}
	a, m, err := e.begun(s)
	if err != nil { // the agent is gone, say
		e.config.Log.ErrorContext(ctx, "open turn closed: it cannot be resumed", "session", key, "error", err)
		state, left := turn.Close(s, e.Catalog(), "its turn could not be resumed", e.config.Now())
		return e.write(ctx, store.End{ID: s.Turn.Item, Result: resultOf(nil, err), Deliver: len(m.Reply) > 0, Session: key, State: state, Messages: left})
	}
	if e.stopping() {
		return turn.ErrSuspended
	}
	i, err := e.item(ctx, s.Turn.Item)
	left := err == nil && !crashed && (i.Holder == "" || i.Holder == e.holder)
	if err == nil && i.Holder != e.holder { // if this process ends, too, that is another end
		i, err = e.hold(ctx, i, false)
	}
	if err != nil && !errors.Is(err, store.ErrEnded) {
		return err
	}
	e.config.Log.InfoContext(ctx, "turn resumed", "session", key, "agent", a.Name)
	ctx, ended := e.stops.begin(ctx, key)
	defer ended()
	r := &job{engine: e, agent: a, key: key, item: store.Item{ID: s.Turn.Item}, left: left, late: newLate(false)}
	defer r.late.close()
	r.run(ctx, &question{m, s}, of(s.Turn.Item))
	e.handOver(i, r.kept)
	return r.kept
}

// begun returns the agent and the message of a session's open turn, without its text.
func (e *Engine) begun(s session.Session) (*agent, mail, error) {
	m, err := read(s.Turn.Request)
	if err != nil {
		return nil, m, err
	}
	m.To = s.Key
	a, err := e.agent(m.Agent)
	if err == nil {
		err = known(m.Mode, m.Strategy)
	}
	return a, m, err
}
