package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// To write a test here: a worker says what becomes of an item, boxOf makes the box of a process over
// a store, and accept puts an item into the mailbox of a session. A process that ends is a box that
// nobody uses any more.

// worker ends each item, and says which.
type worker struct {
	box  *mailbox.Box
	work func(i store.Item) error // before an item ends; nil does nothing

	mu     sync.Mutex
	worked []string
	parked []int64
}

func (w *worker) Work(ctx context.Context, i store.Item) error {
	if w.work != nil {
		if err := w.work(i); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.worked = append(w.worked, string(i.Message))
	w.mu.Unlock()
	return w.box.Finish(ctx, store.End{ID: i.ID}, session.Turn{})
}

func (w *worker) Finish(context.Context, session.Key, bool) error { return nil }
func (w *worker) Lost(context.Context, session.Key) error         { return nil }
func (w *worker) Park(_ context.Context, i store.Item) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = append(w.parked, i.ID)
	return nil
}

func boxOf(s store.Store, process string) *worker {
	w := &worker{}
	w.box = mailbox.New(mailbox.Config{
		Store: s, Worker: w, Log: slog.New(slog.DiscardHandler), Now: time.Now, Holder: process, Width: 4, Retry: func(string) {},
	})
	return w
}

func accept(t *testing.T, s store.Store, process string, key session.Key, message string) store.Item {
	t.Helper()
	i, _, err := s.Accept(t.Context(), store.Item{Session: key, Holder: process, Message: []byte(message)})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// waiting returns the items that have not ended.
func waiting(t *testing.T, s store.Store) []store.Item {
	t.Helper()
	list, err := s.Items(context.WithoutCancel(t.Context()), store.ItemFilter{State: store.Waiting})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestOrder: a session is worked on by one at a time. Items come in the order in which they were
// accepted, those of other sessions meanwhile.
func TestOrder(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	w := boxOf(kept, "here")
	var busy sync.Map
	w.work = func(i store.Item) error {
		if _, other := busy.LoadOrStore(i.Session, nil); other {
			t.Errorf("two work on %s", i.Session)
		}
		defer busy.Delete(i.Session)
		return nil
	}
	for n := range 30 {
		w.box.TakeUp(accept(t, kept, "here", session.Key(fmt.Sprint("s", n%3)), fmt.Sprintf(`"s%d %02d"`, n%3, n)))
	}
	w.box.Running.Wait(t.Context())
	for _, key := range []string{`"s0`, `"s1`, `"s2`} {
		own := slices.DeleteFunc(slices.Clone(w.worked), func(m string) bool { return m[:3] != key })
		if len(own) != 10 || !slices.IsSorted(own) {
			t.Errorf("of %s: %v", key, own)
		}
	}
}

// TestResume: the next process ends what one has left, each item once and in order.
func TestResume(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	for n := range 20 {
		accept(t, kept, "gone", session.Key(fmt.Sprint("s", n%2)), fmt.Sprintf(`"s%d %02d"`, n%2, n))
	}
	w := boxOf(kept, "here")
	if err := w.box.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(w.worked, func(a, b string) int { return int(a[2]) - int(b[2]) })
	if len(w.worked) != 20 || !slices.IsSorted(w.worked[:10]) || !slices.IsSorted(w.worked[10:]) || len(waiting(t, kept)) != 0 {
		t.Errorf("worked on %v", w.worked)
	}
}

// TestParked: an item that panics again and again is set aside, its sender learns it once, and what
// came behind it ends.
func TestParked(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	bad := accept(t, kept, "gone", "s", `"bad"`)
	accept(t, kept, "gone", "s", `"good"`)
	var w *worker
	var worked []string
	var parked []int64
	for start := range 6 { // of the process
		w = boxOf(kept, fmt.Sprint("process ", start))
		w.work = func(i store.Item) error {
			if i.ID == bad.ID {
				panic("again")
			}
			return nil
		}
		if err := w.box.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.box.Running.Wait(t.Context())
		worked, parked = append(worked, w.worked...), append(parked, w.parked...)
	}
	now, err := w.box.Item(t.Context(), bad.ID)
	if err != nil || now.State != store.Parked || !slices.Equal(parked, []int64{bad.ID}) || !slices.Equal(worked, []string{`"good"`}) {
		t.Errorf("the item is %+v, %v; told %v, worked on %v", now, err, parked, worked)
	}
}

// TestStop: what waits when the process stops is nobody's, and the next process ends it.
func TestStop(t *testing.T) {
	t.Parallel()
	kept := &store.Memory{}
	w := boxOf(kept, "here")
	begun, hold := make(chan struct{}), make(chan struct{})
	w.work = func(store.Item) error {
		close(begun)
		<-hold
		return session.ErrSuspended
	}
	w.box.TakeUp(accept(t, kept, "here", "s", `"first"`), accept(t, kept, "here", "s", `"second"`))
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	go func() {
		<-w.box.Life().Done()
		close(hold)
	}()
	if left := w.box.Stop(ctx); left != 2 {
		t.Errorf("%d are left", left)
	}
	for _, i := range waiting(t, kept) {
		if i.Holder != "" || i.Tries != 0 {
			t.Errorf("left: %+v", i)
		}
	}
	next := boxOf(kept, "next")
	if err := next.box.Resume(t.Context()); err != nil || !slices.Equal(next.worked, []string{`"first"`, `"second"`}) {
		t.Errorf("then %v, %v", next.worked, err)
	}
}

// TestTicketOfMany: a sender does not wait for items that were taken up in the background because
// too many came at once.
func TestTicketOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &store.Memory{}
		w := boxOf(kept, "here")
		ticket := w.box.Ticket(true)
		defer ticket.Close()
		for range 70 {
			ticket.Expect()
			ticket.Hand(accept(t, kept, "here", "s", `"late"`))
		}
		began, got := time.Now(), 0
		for ticket.Next(t.Context()) != nil {
			got++
		}
		w.box.Running.Wait(t.Context())
		if waited := time.Since(began); got+len(w.worked) != 70 || waited > time.Second {
			t.Errorf("the sender got %d, %d were taken up, in %v", got, len(w.worked), waited)
		}
	})
}

// away is a store that is away for the first three writes.
type away struct {
	*store.Memory
	mu    sync.Mutex
	tries int
}

func (a *away) Finish(ctx context.Context, end store.End) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tries++; a.tries <= 3 {
		return errors.New("away")
	}
	return a.Memory.Finish(ctx, end)
}

// TestWrittenAgain: when the store is away at the end of an item, only its end is written again.
func TestWrittenAgain(t *testing.T) {
	t.Parallel()
	kept := &away{Memory: &store.Memory{}}
	w := boxOf(kept, "here")
	w.box.TakeUp(accept(t, kept, "here", "s", `"once"`))
	w.box.Running.Wait(t.Context())
	if !slices.Equal(w.worked, []string{`"once"`}) || kept.tries != 4 || len(waiting(t, kept)) != 0 {
		t.Errorf("worked on %v, written %d times, left %v", w.worked, kept.tries, waiting(t, kept))
	}
}
