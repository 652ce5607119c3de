package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Resume goes on with what other processes left: it resumes open turns, works on what
// waits in the inbox, and reports calls that went on after their turn as lost. It returns
// when all of that is done, or when ctx ends: then the rest is left for the next time. With a
// [store.Shared], processes may end at any time, and Resume goes on until ctx ends. Call it
// once, before or while the engine serves, and with any other store in one process only. If
// it fails while ctx goes on, the store could not be read, nothing was taken up, and it may be
// called again.
func (b *Box) Resume(ctx context.Context) error {
	w := resumption{left: make(chan session.Key)}
	defer func() {
		close(w.left)
		w.workers.Wait()
	}()
	err := b.resumeLeft(ctx, &w, true)
	if err != nil && b.shared == nil {
		return err
	}
	if b.shared == nil {
		if err := w.again(ctx); err != nil {
			return err
		}
		left, err := b.config.Store.Mailboxes(ctx, b.config.Holder)
		b.settled.Store(err == nil && len(left) == 0)
		return ctx.Err()
	}
	w.workers.Go(func() {
		defer panics.Log(b.config.Log, "stopping turns for other processes")
		b.Stops.heedOthers(ctx)
	})
	var alive []string
	all := err != nil // the store was away
	for {
		select {
		case <-b.shared.Left():
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := b.shared.Alive(ctx)
		if err != nil {
			continue // the store says when it is away
		}
		all = w.clear() || all || slices.ContainsFunc(alive,
			func(holder string) bool { return !slices.Contains(now, holder) })
		if b.resumeLeft(ctx, &w, all) == nil {
			alive, all = now, false
		}
	}
}

// resumption are the workers of Resume.
type resumption struct {
	left    chan session.Key
	started int
	workers sync.WaitGroup
	busy    sync.Map // of the keys that they work on

	handed sync.WaitGroup // the same, for whoever waits for their end
	failed sync.Map       // of the keys that could not be resumed
	later  atomic.Bool    // they were tried for long before
}

// hand gives sessions to the workers, except for those that one of them works on.
func (w *resumption) hand(ctx context.Context, keys []session.Key) error {
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
func (w *resumption) clear() (some bool) {
	w.failed.Range(func(key, _ any) bool {
		w.failed.Delete(key)
		some = true
		return true
	})
	return some
}

// again hands out again what could not be resumed, now and then, until all is done. With a
// [store.Shared], what was left is found again.
func (w *resumption) again(ctx context.Context) error {
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
		if !sleep.For(ctx, LastPause) {
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
func (b *Box) resumeLeft(ctx context.Context, w *resumption, all bool) error {
	if b.Stopping() {
		return nil
	}
	var keys []session.Key
	var err error
	if all {
		if keys, err = b.config.Store.Open(ctx); err != nil {
			return fmt.Errorf("looking for open turns: %w", err)
		}
	}
	waiting, err := b.config.Store.Mailboxes(ctx, b.config.Holder)
	if err != nil {
		return fmt.Errorf("looking for messages that wait: %w", err)
	}
	for _, key := range waiting {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	workers := min(maxResuming, len(keys))
	if b.shared != nil && workers > 0 {
		workers = maxResuming
	}
	for ; w.started < workers; w.started++ {
		w.workers.Go(func() {
			defer panics.Log(b.config.Log, "resuming turns") // each turn has its own
			for key := range w.left {
				if !b.resumeUntil(ctx, key, w.later.Load()) {
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
func (b *Box) resumeUntil(ctx context.Context, key session.Key, once bool) (done bool) {
	for pause := FirstPause; ; pause = min(2*pause, LastPause) {
		err := b.Guard("resuming a turn", key, func() error { return b.resume(ctx, key) })
		panicked := errors.Is(err, errPanic)
		switch {
		case err == nil || errors.Is(err, session.ErrSuspended) || ctx.Err() != nil:
			return true
		case once && !panicked:
			return false
		case panicked || pause == LastPause:
			b.config.Log.ErrorContext(ctx, "a session could not be resumed", "session", key, "error", err)
			return panicked
		}
		if !sleep.For(ctx, pause) {
			return true
		}
	}
}

// maxResuming is how many sessions Resume works on at once.
const maxResuming = 8

// resume goes on with what other processes left in a session.
func (b *Box) resume(ctx context.Context, key session.Key) error {
	b.Running.Begin()
	defer b.Running.End()
	for {
		more, err := b.resumeOne(ctx, key)
		if err != nil || !more {
			return err
		}
	}
}

// resumeOne ends the session's open turn, and works on the first item that was left. It
// reports whether there was one. While another process has the session, it does nothing.
func (b *Box) resumeOne(ctx context.Context, key session.Key) (more bool, err error) {
	left, err := b.config.Store.Items(ctx,
		store.ItemFilter{Session: key, State: store.Waiting, NotOf: b.config.Holder, Limit: 1})
	if err != nil {
		return false, err
	}
	claim := store.Claim{Try: true}
	if len(left) > 0 {
		claim.Item = left[0].ID
	}
	place, err := b.sessions.Join(string(key), "", store.People, Unbounded)
	if err != nil {
		return false, err
	}
	defer place.Leave()
	coming, cancel := b.Suspendable(ctx, b.begins)
	defer cancel()
	switch err := place.WaitFor(coming, claim); {
	case errors.Is(err, store.ErrClaimed):
		return false, nil
	case errors.Is(err, store.ErrEnded):
		return true, nil
	case err != nil:
		return false, err
	}
	b.resuming.Add(1)
	defer b.resuming.Add(-1)
	ctx, cancel = b.Suspendable(context.WithoutCancel(ctx), ctx)
	defer cancel()
	if err := b.config.Worker.Lost(ctx, key); err != nil {
		return false, err
	}
	if err := b.config.Worker.Finish(ctx, key, false); err != nil || len(left) == 0 {
		return false, err
	}
	switch now, err := b.Item(ctx, left[0].ID); {
	case errors.Is(err, store.ErrEnded):
		return true, nil // it was the open turn's
	case err != nil || now.State != store.Waiting:
		return err == nil, err
	default:
		err := b.attempt(ctx, now, true)
		if err != nil && !errors.Is(err, session.ErrSuspended) && !errors.Is(err, store.ErrLost) {
			b.TakeUp(now) // it may be ours now, so that nobody finds it
			return true, nil
		}
		return err == nil, err
	}
}

// Leftovers works on the items that ended processes have left in a session before an item,
// in their order. The open turn of the session comes first. The caller has the session to
// itself.
func (b *Box) Leftovers(ctx context.Context, key session.Key, before store.Item, finish func() error) error {
	for !b.settled.Load() {
		left, err := b.config.Store.Items(ctx,
			store.ItemFilter{Session: key, State: store.Waiting, NotOf: b.config.Holder, Limit: 1})
		if err != nil || len(left) == 0 || b.shared != nil && !left[0].Before(before) {
			return err
		}
		if err := finish(); err != nil { // it may be the item's own turn
			return err
		}
		switch now, err := b.Item(ctx, left[0].ID); {
		case errors.Is(err, store.ErrEnded) || err == nil && now.State != store.Waiting:
			continue
		case err != nil || now.ID == before.ID:
			return err
		default:
			if err := b.attempt(ctx, now, true); err != nil {
				return err
			}
		}
	}
	return nil
}
