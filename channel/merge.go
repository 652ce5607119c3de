package channel

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel/edited"
)

// maxMerged is how many messages in a row are one.
const maxMerged = 10

// merger joins the messages of an account that people write in a row. It is safe for concurrent use.
type merger struct {
	wait time.Duration // for the next one; 0 means that each is alone

	mu   sync.Mutex
	rows map[string]*row // by chat, person and chosen agent
}

// nextKey is the key of a context with a function of WithNext.
type nextKey struct{}

// WithNext returns a context for Receive with which the next message of the chat can come before Receive
// returns: next lets it come.
func WithNext(ctx context.Context, next func()) context.Context {
	return context.WithValue(ctx, nextKey{}, next)
}

// row are messages that one person writes in a row.
type row struct {
	parts  []Incoming
	newest time.Time
	closed bool          // it waits for no more parts
	done   chan struct{} // closed when err is what became of all
	err    error
}

func (m Incoming) row() string {
	return m.At.Chat + "\x00" + m.At.Thread + "\x00" + m.From.ID + "\x00" + m.Agent
}

// Gathers says how long the next message is awaited.
func (a *account) Gathers() time.Duration { return a.Merge }

// join adds a message to those that its writer has begun a row with, and waits for what becomes of
// them. It need not mention the account again.
func (g *merger) join(ctx context.Context, m Incoming) (done bool, err error) {
	next, ok := ctx.Value(nextKey{}).(func())
	g.mu.Lock()
	r := g.rows[m.row()]
	if r != nil && m.Edited {
		return g.edit(ctx, r, m)
	}
	if r == nil || r.closed || !ok || len(r.parts) >= maxMerged || strings.HasPrefix(m.Text, "/") {
		g.mu.Unlock()
		return false, nil
	}
	r.parts, r.newest = append(r.parts, m), time.Now()
	g.mu.Unlock()
	next()
	select {
	case <-r.done:
		return true, r.err
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// edit gives a part of a row its newest text, and gives the lock back. Where the row is being handed over,
// it waits for that.
func (g *merger) edit(ctx context.Context, r *row, m Incoming) (done bool, err error) {
	i := slices.IndexFunc(r.parts, func(p Incoming) bool { return p.ID == m.ID })
	if done = i >= 0 && !r.closed; done {
		r.parts[i].Text = m.Text
	}
	g.mu.Unlock()
	if i < 0 || done {
		return done, nil
	}
	select {
	case <-r.done:
		return false, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// merge waits for what the writer of a message adds to it, and returns all as one message. The caller
// says with end what became of it.
func (g *merger) merge(ctx context.Context, m Incoming) (_ Incoming, end func(error)) {
	next, ok := ctx.Value(nextKey{}).(func())
	if g.wait == 0 || !ok || strings.HasPrefix(m.Text, "/") {
		return m, func(error) {}
	}
	r := &row{parts: []Incoming{m}, newest: time.Now(), done: make(chan struct{})}
	g.mu.Lock()
	g.rows[m.row()] = r
	g.mu.Unlock()
	next()
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	for waiting := true; waiting; {
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		g.mu.Lock()
		rest := g.wait - time.Since(r.newest)
		if waiting = rest > 0 && len(r.parts) < maxMerged && ctx.Err() == nil; waiting {
			timer.Reset(rest)
		} else {
			r.closed = true
		}
		g.mu.Unlock()
	}
	m.Files = nil
	for _, p := range r.parts {
		m.parts = append(m.parts, edited.Part{Key: p.key(), Text: p.Text})
		m.Files = append(m.Files, p.Files...)
		m.At.Message = p.ID
	}
	m.Text = edited.Join(m.parts)
	return m, func(err error) {
		g.mu.Lock()
		if g.rows[m.row()] == r {
			delete(g.rows, m.row())
		}
		g.mu.Unlock()
		r.err = err
		close(r.done)
	}
}
