package mailbox

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// ErrCrowded says that too many wait for a place already.
var ErrCrowded = errors.New("too many wait already")

// Unbounded is how many may wait where nothing may be refused: what waits was accepted.
const Unbounded = math.MaxInt

// Lines let those in who share a key, so many at once: first the ones with the lowest
// priority, of these the ones of whom the fewest are in, and of these the one that came
// first. The zero value lets them in one by one. A key that nobody waits for takes no
// memory. Nothing can wake up too late: leaving and joining exclude each other, and a
// place is handed on by the one that leaves.
type Lines struct {
	Width  int             // how many are in at once under one key; 0 means 1
	Shared store.Shared    // claims the session that the key names, for the place that is in; nil claims nothing
	Until  <-chan struct{} // closed when nobody is to wait any more; nil never is
	Each   int             // how many of one who may wait under one key; 0 means that all may be theirs

	mu   sync.Mutex
	open map[string]*line
}

// line is the line of one key.
type line struct {
	in      map[string]int // how many are in, by who they are
	total   int            // of them
	waiting []*Place       // in the order in which they came
}

// waits returns how many wait that are of the same one.
func (l *line) waits(who string) (n int) {
	for _, p := range l.waiting {
		if p.who == who {
			n++
		}
	}
	return n
}

// Place is a place in a line.
type Place struct {
	lines    *Lines
	key, who string
	priority store.Priority
	turn     chan struct{} // closed when it is in
	claimed  bool          // or asked for
}

// Depth returns how many are in and how many wait, under all keys.
func (q *Lines) Depth() (in, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.open {
		in, waiting = in+l.total, waiting+len(l.waiting)
	}
	return in, waiting
}

// Waiting returns how many wait under a key.
func (q *Lines) Waiting(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.open[key]; l != nil {
		return len(l.waiting)
	}
	return 0
}

// Join takes a place. It fails with [ErrCrowded] when so many others wait already. The
// caller leaves it at the end, whether it came in or not.
func (q *Lines) Join(key, who string, priority store.Priority, waiting int) (*Place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.open[key]
	if l == nil {
		if q.open == nil {
			q.open = map[string]*line{}
		}
		l = &line{in: map[string]int{}}
		q.open[key] = l
	}
	if l.total >= max(q.Width, 1) && (len(l.waiting) >= waiting || q.Each > 0 && l.waits(who) >= q.Each) {
		return nil, ErrCrowded
	}
	p := &Place{lines: q, key: key, who: who, priority: priority, turn: make(chan struct{})}
	l.waiting = append(l.waiting, p)
	q.admit(l)
	return p, nil
}

// admit lets in as many as there is room for. The caller holds the lock.
func (q *Lines) admit(l *line) {
	for l.total < max(q.Width, 1) && len(l.waiting) > 0 {
		next := 0
		for i, p := range l.waiting {
			if b := l.waiting[next]; p.priority < b.priority || p.priority == b.priority && l.in[p.who] < l.in[b.who] {
				next = i
			}
		}
		p := l.waiting[next]
		l.waiting = slices.Delete(l.waiting, next, next+1)
		l.total++
		l.in[p.who]++
		close(p.turn)
	}
}

// Wait returns when the place is in. It returns the cause of ctx when ctx ends, also if
// both come at once, and [session.ErrSuspended] when nobody is to wait any more.
func (p *Place) Wait(ctx context.Context) error { return p.WaitFor(ctx, store.Claim{}) }

// WaitFor is Wait for what a session is claimed for. It also fails as [store.Shared.Claim]
// does. A place that lost its claim can wait again.
func (p *Place) WaitFor(ctx context.Context, c store.Claim) error {
	select {
	case <-p.turn:
	case <-ctx.Done():
	case <-p.lines.Until:
		return session.ErrSuspended
	}
	if err := context.Cause(ctx); err != nil || p.lines.Shared == nil {
		return err
	}
	p.claimed = true
	c.Session = session.Key(p.key)
	err := p.lines.Shared.Claim(ctx, c)
	if err != nil && ctx.Err() != nil { // the store may not say why
		return context.Cause(ctx)
	}
	return err
}

// Leave gives the place up, and lets the next one in.
func (p *Place) Leave() {
	if p.claimed {
		p.lines.Shared.Release(session.Key(p.key))
	}
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	l := p.lines.open[p.key]
	if at := slices.Index(l.waiting, p); at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	} else {
		l.total--
		if l.in[p.who]--; l.in[p.who] == 0 {
			delete(l.in, p.who)
		}
		p.lines.admit(l)
	}
	if l.total == 0 && len(l.waiting) == 0 {
		delete(p.lines.open, p.key)
	}
}

// Enter joins and waits. It fails as both do.
func (q *Lines) Enter(ctx context.Context, key, who string, priority store.Priority, waiting int) (leave func(),
	err error) {
	p, err := q.Join(key, who, priority, waiting)
	if err != nil {
		return nil, err
	}
	if err := p.Wait(ctx); err != nil {
		p.Leave()
		return nil, err
	}
	return p.Leave, nil
}
