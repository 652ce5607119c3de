package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Write stores a step, and ends the item with it if it is the last one: then its senders
// that wait here learn it. An item that has ended already does not keep the step from the
// session.
func (b *Box) Write(ctx context.Context, end store.End) error {
	err := b.Put(ctx, end)
	if err == nil && end.ID != 0 {
		b.Answers.end(end.ID, end.Result, b.config.Now())
		b.senders.tell(end.ID, store.ErrEnded)
	}
	return err
}

// Put is Write without telling the senders.
func (b *Box) Put(ctx context.Context, end store.End) error {
	ctx = context.WithoutCancel(ctx) // what was done is stored even when the caller has gone
	err := store.ErrEnded
	if end.ID != 0 {
		err = b.config.Store.Finish(ctx, end)
		if err == nil && end.Deliver {
			select {
			case b.answered <- struct{}{}:
			default: // it is known
			}
		}
	}
	if errors.Is(err, store.ErrEnded) {
		err = nil
		if end.Session != "" {
			err = b.config.Store.Append(ctx, end.Session, end.State, end.Messages...)
		}
	}
	if err != nil {
		return fmt.Errorf("storing the session: %w: %w", store.ErrAway, err)
	}
	return nil
}

// Item returns an item as it is now. One that is gone has ended.
func (b *Box) Item(ctx context.Context, id int64) (store.Item, error) {
	if id == 0 { // a filter without an ID matches all
		return store.Item{}, store.ErrEnded
	}
	list, err := b.config.Store.Items(ctx, store.ItemFilter{ID: id})
	if err != nil || len(list) == 0 {
		return store.Item{}, cmp.Or(err, store.ErrEnded)
	}
	return list[0], nil
}

// maxTries is how often an item is taken up whose turn had stored nothing when its process
// ended, or panicked. After that it is parked: the item itself is probably the cause. If an
// operator has it tried again, it is taken up as often once more. A turn that has stored a step
// counts its ends itself.
const maxTries = 3

// attempt works on an item that waits and that nobody works on: another process accepted
// it, or its turn could not be stored. The caller has the session to itself. An error
// means that the item still waits. Crashed says that the last attempt ended unexpectedly.
func (b *Box) attempt(ctx context.Context, i store.Item, crashed bool) error {
	if crashed || i.Holder != b.config.Holder {
		var err error
		if i, err = b.Hold(ctx, i, crashed && i.Holder != ""); err != nil || i.State == store.Parked {
			return err
		}
	}
	ctx, ended := b.Stops.Begin(ctx, i.Session)
	defer ended()
	if strings.HasPrefix(i.Key, store.Passing) { // its sender may send it again
		b.Answers.Join(i, nil)
		defer b.Answers.Leave(i.ID)
	}
	err := b.config.Worker.Work(ctx, i)
	b.HandOver(i, err)
	return err
}

// Hold makes an item this process's own, or parks it if its turn ended unexpectedly too
// often. Crashed says that it ended so once more.
func (b *Box) Hold(ctx context.Context, i store.Item, crashed bool) (store.Item, error) {
	if crashed {
		i.Tries++
	}
	if crashed && i.Tries%(maxTries+1) == 0 {
		i.State, i.Reason = store.Parked, fmt.Sprintf("its turn ended unexpectedly, %d times", i.Tries)
		b.config.Log.ErrorContext(ctx, "message parked", "item", i.ID, "session", i.Session, "reason", i.Reason)
		if err := b.config.Worker.Park(ctx, i); err != nil {
			return i, err
		}
	}
	if i.Holder != b.config.Holder {
		b.config.Retry("left")
	}
	i.Holder = b.config.Holder
	return i, b.config.Store.Update(ctx, i)
}

// HandOver gives an item up that was suspended because this process stops: another one may
// take it up at once, and nobody counts that as an unexpected end.
func (b *Box) HandOver(i store.Item, why error) {
	if i.ID == 0 || !errors.Is(why, session.ErrSuspended) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handingOver)
	defer cancel()
	now, err := b.Item(ctx, i.ID)
	if errors.Is(err, store.ErrEnded) || err == nil && (now.State != store.Waiting || now.Holder != b.config.Holder) {
		return
	}
	b.left.Add(1)
	if err == nil {
		now.Holder = ""
		err = b.config.Store.Update(ctx, now)
	}
	if err != nil {
		b.config.Log.Debug("a message was not handed over", "item", i.ID, "session", i.Session, "error", err)
	}
}

// handingOver is how long that may take while etui stops.
const handingOver = time.Second

// errPanic is a panic of a turn.
var errPanic = errors.New("the engine failed unexpectedly")

// Guard runs f and makes a panic an error, so that one turn does not end the process and
// so the turns of all others.
func (b *Box) Guard(doing string, key session.Key, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = panics.Report(b.config.Log.With("session", key), doing, p) // it is logged
			err = errPanic
		}
	}()
	return f()
}
