package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// waitingSenders are the senders that wait here for the turns of their messages, by the
// IDs of the items. The zero value is ready to use.
type waitingSenders struct {
	mu sync.Mutex
	by map[int64][]*waitingSender
}

type waitingSender struct {
	cancel context.CancelCauseFunc
	keyed  bool // the result is kept for it
}

// join adds a sender of an item, until leave. The context ends when the sender is told
// something, with that as its cause.
func (w *waitingSenders) join(ctx context.Context, item int64, keyed bool) (waiting context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	me := &waitingSender{cancel, keyed}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[int64][]*waitingSender{}
	}
	w.by[item] = append(w.by[item], me)
	return ctx, func() {
		cancel(nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.by[item] = slices.DeleteFunc(w.by[item], func(s *waitingSender) bool { return s == me }); len(w.by[item]) == 0 {
			delete(w.by, item)
		}
	}
}

// leave tells all senders that their messages are left to another process, unless their turn
// has come.
func (w *waitingSenders) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, senders := range w.by {
		for _, s := range senders {
			s.cancel(turn.ErrSuspended)
		}
	}
}

// tell tells the senders of an item why they wait no longer. [store.ErrEnded] is told only
// to those with a key: they can read the result.
func (w *waitingSenders) tell(item int64, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.by[item] {
		if s.keyed || !errors.Is(why, store.ErrEnded) {
			s.cancel(why)
		}
	}
}

// lookAgain is how often the sender of a repeated message looks whether another process has
// ended it, while other messages of its session have the line here.
const lookAgain = time.Second

// lineUp returns a context that ends when the message needs no turn any more: with
// [errTaken] when the running turn takes it in, with [store.ErrEnded] when it has ended, and
// with [turn.ErrSuspended] when the engine stops. So
// the sender of a repeated message does not wait for what came after the first one.
func (j *job) lineUp(ctx context.Context) (context.Context, func()) {
	waiting, leave := j.engine.inLine.join(ctx, j.item.ID, j.keyed)
	if j.engine.stopping() { // perhaps before it joined
		j.engine.inLine.tell(j.item.ID, turn.ErrSuspended)
	}
	if !j.repeated {
		return waiting, leave
	}
	looking, stop := context.WithCancel(waiting)
	var looks sync.WaitGroup
	looks.Go(func() {
		defer panics.Log(j.engine.config.Log, "looking for the end of a repeated message")
		for {
			// The first look comes after the sender is in the line: it may have ended before.
			if now, err := j.engine.item(looking, j.item.ID); err == nil && now.State != store.Waiting || errors.Is(err, store.ErrEnded) {
				j.engine.inLine.tell(j.item.ID, store.ErrEnded)
				return
			}
			if j.engine.shared == nil {
				return
			}
			select {
			case <-time.After(lookAgain):
			case <-looking.Done():
				return
			}
		}
	})
	return waiting, func() {
		stop()
		looks.Wait()
		leave()
	}
}
