// Package body bounds the bodies of what platforms post to webhooks: whoever sends one has proved
// nothing yet. Any number of small bodies are read at once, and a few large ones.
package body

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// most is how many bytes a body may have, and small how many one may have of which any number are
	// read at once. Of larger ones, maxLarge are read.
	most     = 32 << 20
	small    = 1 << 20
	maxLarge = 4
	// largeIn is how long a large one waits for its turn, and how long it may take then.
	largeIn = 30 * time.Second
)

var (
	errMany = errors.New("too many large deliveries arrive at once")
	errSlow = errors.New("the delivery arrives too slowly")
)

// Gate lets bodies in. It is safe for concurrent use.
type Gate struct{ larges chan struct{} }

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{make(chan struct{}, maxLarge)} }

// body is the body of a delivery. How slowly it may begin to arrive is the server's matter.
type body struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request
	larges chan struct{}
	read   int
	large  bool      // it has a place in larges
	until  time.Time // when a large one has to be here
}

// Bound returns a request whose body is bounded, and what to call when it was answered.
func (g *Gate) Bound(w http.ResponseWriter, r *http.Request) (*http.Request, func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}
	}
	b := &body{ReadCloser: http.MaxBytesReader(w, r.Body, most), ctx: r.Context(), larges: g.larges}
	bounded := *r
	bounded.Body = b
	return &bounded, func() {
		if b.large {
			<-b.larges
		}
	}
}

// Read reads the body, the part after the first megabyte in its turn.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.large:
		if time.Now().After(b.until) {
			return 0, errSlow
		}
	case b.read > small:
		timer := time.NewTimer(largeIn)
		defer timer.Stop()
		select {
		case b.larges <- struct{}{}:
		case <-timer.C:
			return 0, errMany
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
		b.large, b.until = true, time.Now().Add(largeIn)
	default:
		p = p[:min(len(p), small+1-b.read)] // one more, since the end of the body comes after it
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}
