package mailbox

import (
	"context"
	"errors"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// An item rests between two attempts to store its turn, twice as long each time. The first attempt is
// at once.
const (
	// FirstPause is the first rest.
	FirstPause = 20 * time.Millisecond
	// LastPause is the longest one.
	LastPause = 10 * time.Second
)

// WorkLater works on an item until it has ended, in the background. It takes over the place
// in the session, so that the messages behind it wait as they would for its turn. When the
// engine stops, only the end of a turn is still stored.
func (b *Box) WorkLater(i store.Item, why error, place *Place) {
	b.Running.Begin()
	go func() {
		defer b.Running.End()
		defer panics.Log(b.config.Log, "taking an item up")
		b.work(i, why, place)
	}()
}

// work is Later until the item has ended.
func (b *Box) work(i store.Item, why error, place *Place) {
	b.Here.Add(1)
	defer b.Here.Add(-1)
	defer place.Leave()
	for pause := time.Duration(0); why != nil; pause = min(max(2*pause, FirstPause), LastPause) {
		if pause == LastPause {
			b.config.Log.Warn("a message still waits", "item", i.ID, "session", i.Session, "error", why)
		}
		var left *unwritten
		until, unwrote := b.begins, errors.As(why, &left) && !errors.Is(why, store.ErrLost)
		if unwrote {
			until = b.life
		}
		sleep.For(until, pause)
		if until.Err() != nil {
			b.HandOver(i, session.ErrSuspended)
			return
		}
		cause := "store"
		if errors.Is(why, errPanic) {
			cause = "panic"
		}
		b.config.Retry(cause)
		why = b.Guard("taking up a message", i.Session, func() error {
			if err := place.WaitFor(until, store.Claim{Item: i.ID}); err != nil {
				if unwrote {
					err = &unwritten{left.end, left.turn, err}
				}
				return err
			}
			if unwrote {
				if err := b.writeAgain(b.life, left); err != nil {
					return err
				}
			}
			return b.retry(b.life, i.ID, errors.Is(why, errPanic))
		})
		if errors.Is(why, store.ErrEnded) {
			return // another process has answered it
		}
	}
}

// retry takes an item up, after what its session has left. The caller has the session to
// itself. Crashed says that the last attempt here ended unexpectedly.
func (b *Box) retry(ctx context.Context, id int64, crashed bool) error {
	i, err := b.Item(ctx, id)
	if errors.Is(err, store.ErrEnded) {
		return nil
	}
	if err == nil && i.State == store.Waiting {
		err = b.config.Worker.Finish(ctx, i.Session, crashed) // it may be the item's own turn
	}
	if err != nil {
		return err
	}
	if i, err = b.Item(ctx, id); errors.Is(err, store.ErrEnded) || err == nil && i.State != store.Waiting {
		return nil
	}
	if err != nil {
		return err
	}
	leave, err := b.Turns.Enter(ctx, "", i.User, i.Priority, Unbounded)
	if err != nil {
		return err
	}
	defer leave()
	return b.attempt(ctx, i, crashed)
}

// TakeUp works on items in the background, each as soon as its session is free. Any number of
// messages may come first: each of them ends. [Work.Wait] waits for it.
func (b *Box) TakeUp(items ...store.Item) {
	for _, i := range items {
		b.TakeUpThen(i, func() {})
	}
}

// TakeUpThen is TakeUp of one item, and calls ended when it has ended or is handed over.
func (b *Box) TakeUpThen(i store.Item, ended func()) {
	i.Message = nil                                                               // it is read again
	place, _ := b.sessions.Join(string(i.Session), i.User, i.Priority, Unbounded) // it never fails
	b.Running.Begin()
	go func() {
		defer b.Running.End()
		defer ended()
		defer panics.Log(b.config.Log, "waiting to take an item up")
		if _ = place.Wait(b.begins); b.Stopping() { // later claims the session again
			place.Leave()
			b.HandOver(i, session.ErrSuspended)
			return
		}
		b.work(i, errAccepted, place)
	}()
}

// errAccepted is why an item waits on which nobody has worked.
var errAccepted = errors.New("it was accepted")

// unwritten is the end of an item that could not be stored. Its turn must not run again.
type unwritten struct {
	end  store.End
	turn session.Turn // as it was stored last
	err  error
}

func (u *unwritten) Error() string { return u.err.Error() }

func (u *unwritten) Unwrap() error { return u.err }

// Finish writes the end of a message; if that fails, only the write is tried again. The
// turn is the open one, as it was stored last.
func (b *Box) Finish(ctx context.Context, end store.End, open session.Turn) error {
	if err := b.Write(ctx, end); err != nil {
		return &unwritten{end, open, err}
	}
	return nil
}

// writeAgain tries to store it once more, unless another process has gone on with the turn
// meanwhile.
func (b *Box) writeAgain(ctx context.Context, u *unwritten) error {
	switch i, err := b.Item(ctx, u.end.ID); {
	case errors.Is(err, store.ErrEnded) || err == nil && i.State != store.Waiting:
		return nil // it was stored after all
	case err != nil:
		return &unwritten{u.end, u.turn, err}
	}
	if u.end.Session != "" {
		s, err := b.config.Store.Load(ctx, u.end.Session, 1)
		if err != nil {
			return &unwritten{u.end, u.turn, err}
		}
		if s.Turn.ID != u.turn.ID || s.Turn.Resumed != u.turn.Resumed {
			return nil
		}
	}
	return b.Finish(ctx, u.end, u.turn)
}
