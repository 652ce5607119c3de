package mailbox

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// maxWait is how long a sender waits for one item that its message brings later.
const maxWait = 10 * time.Minute

// maxArrived is how many of them a sender who waits has not taken. More are taken up in the background.
const maxArrived = 64

// Ticket is what a sender holds for the items that its message brings later: outcomes of calls that go
// on after their turn, and results of other sessions that work for it. The session is free meanwhile.
type Ticket struct {
	box *Box

	mu      sync.Mutex
	closed  bool
	missing int             // items that are still to come
	arrived chan store.Item // one without an ID says that nothing comes
}

// Ticket returns the ticket of a sender who waits, or does not. Close ends it.
func (b *Box) Ticket(waits bool) *Ticket {
	t := &Ticket{box: b, closed: !waits}
	if waits {
		t.arrived = make(chan store.Item, maxArrived)
	}
	return t
}

// Expect says that one more item comes.
func (t *Ticket) Expect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missing++
}

// ExpectFrom says that one more item comes, from the work of another session.
func (t *Ticket) ExpectFrom(other session.Key) {
	t.Expect()
	if t.open() {
		t.box.tickets.put(&t.box.tickets.from, other, t)
	}
}

// Working says that a session works for the sender until end is called: what comes meanwhile from a
// session that it has just started is for the sender, too.
func (t *Ticket) Working(key session.Key) (end func()) {
	if !t.open() {
		return func() {}
	}
	t.box.tickets.put(&t.box.tickets.at, key, t)
	return func() {
		t.box.tickets.mu.Lock()
		defer t.box.tickets.mu.Unlock()
		delete(t.box.tickets.at, key)
	}
}

// Hand gives an item to the sender or, if they do not wait, to the next work of its session.
func (t *Ticket) Hand(i store.Item) {
	if !t.hand(i) {
		t.box.TakeUp(i)
	}
}

// Next waits for an item; nil when none comes any more. One without an ID says that one does not come.
func (t *Ticket) Next(ctx context.Context) *store.Item {
	t.mu.Lock()
	waits := !t.closed && t.missing > 0
	t.missing--
	t.mu.Unlock()
	if !waits {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case i := <-t.arrived:
		return &i
	case <-ctx.Done():
		return nil
	}
}

// Close says that the sender waits no more. The box takes up the rest in the background.
func (t *Ticket) Close() {
	t.box.tickets.leave(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for len(t.arrived) > 0 {
		if i := <-t.arrived; i.ID != 0 {
			t.box.TakeUp(i)
		}
	}
}

func (t *Ticket) open() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed
}

// hand reports whether the sender gets the item.
func (t *Ticket) hand(i store.Item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	select {
	case t.arrived <- i:
		return true
	default:
		t.missing-- // the sender does not get this one, and must not wait for it
		return false
	}
}

// tickets are those of senders who wait for the work of other sessions. The zero value is ready to use.
type tickets struct {
	mu   sync.Mutex
	from map[session.Key]*Ticket // by the session that works for the sender
	at   map[session.Key]*Ticket // by the session of the sender, while it works
}

func (w *tickets) put(to *map[session.Key]*Ticket, key session.Key, t *Ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if *to == nil {
		*to = map[session.Key]*Ticket{}
	}
	(*to)[key] = t
}

// take returns the ticket of the sender who waits for a session that works for another one; nil if
// nobody does.
func (w *tickets) take(from, to session.Key) *Ticket {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.from[from]
	if !ok {
		return w.at[to]
	}
	delete(w.from, from)
	return t
}

func (w *tickets) leave(t *Ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.from, func(_ session.Key, other *Ticket) bool { return other == t })
}

// Hand gives an item that comes from one session for another one to the sender who waits for it, or to
// the next work of that session.
func (b *Box) Hand(from, to session.Key, i store.Item) {
	if t := b.tickets.take(from, to); t == nil || !t.hand(i) {
		b.TakeUp(i)
	}
}

// Nothing tells the sender who waits for a session that nothing comes from there.
func (b *Box) Nothing(from session.Key) {
	if t := b.tickets.take(from, ""); t != nil {
		t.hand(store.Item{})
	}
}
