package server

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/etui-run/etui/server/wire"
)

const (
	// smallBody is how long a body may be of which any number are read at once. What comes after
	// that is read for maxLarge requests at a time, eachLarge of one client: a large body takes a
	// multiple of its size while it is decoded.
	smallBody           = 1 << 20
	maxLarge, eachLarge = 8, 2
	// largeIn is how long a large one waits for its turn, and how long it may take then.
	largeIn = 30 * time.Second
)

// larges are the large bodies that are being read. The zero value is ready to use.
type larges struct {
	mu   sync.Mutex
	all  int
	of   map[string]int // by client
	free chan struct{}  // closed when one has been read; nil while nobody waits
}

// enter waits for the turn of a client's body.
func (l *larges) enter(ctx context.Context, client string) error {
	timer := time.NewTimer(largeIn)
	defer timer.Stop()
	for {
		free, ok := l.take(client)
		if ok {
			return nil
		}
		select {
		case <-free:
		case <-timer.C:
			return wire.ErrManyLarge
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *larges) take(client string) (free <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxLarge || l.of[client] >= eachLarge {
		if l.free == nil {
			l.free = make(chan struct{})
		}
		return l.free, false
	}
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.all++
	l.of[client]++
	return nil, true
}

func (l *larges) leave(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[client]--; l.of[client] == 0 {
		delete(l.of, client)
	}
	if l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// largeBody is a body that waits for its turn once it is large. Call end when the request was
// answered.
type largeBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request
	larges *larges
	client string
	read   int
	large  bool      // it has its turn
	until  time.Time // when it has to be here then
}

func (b *largeBody) Read(p []byte) (int, error) {
	switch {
	case b.large && time.Now().After(b.until):
		b.end()
		return 0, os.ErrDeadlineExceeded
	case !b.large && b.read > smallBody:
		if err := b.larges.enter(b.ctx, b.client); err != nil {
			return 0, err
		}
		b.large, b.until = true, time.Now().Add(largeIn)
	case !b.large:
		p = p[:min(len(p), smallBody+1-b.read)] // one more, since the end of the body comes after it
	}
	n, err := b.ReadCloser.Read(p)
	if b.read += n; err != nil {
		b.end()
	}
	return n, err
}

func (b *largeBody) end() {
	if b.large {
		b.large, b.read = false, 0
		b.larges.leave(b.client)
	}
}
