package channel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// maxDelivery is how long the body of a webhook's request may be, in bytes, and
	// smallDelivery how long one may be of which any number are read at once. Whoever sends
	// one has proved nothing yet, so that of larger ones maxLarges are read.
	maxDelivery   = 32 << 20
	smallDelivery = 1 << 20
	maxLarges     = 4
	// largeIn is how long a large one waits for its turn, and how long it may take then.
	largeIn = 30 * time.Second
)

var (
	errManyLarge = errors.New("too many large deliveries arrive at once")
	errSlowLarge = errors.New("the delivery arrives too slowly")
)

// intake is the body of a delivery. It bounds what strangers can make a process hold. How
// slowly a body may begin to arrive is the server's matter.
type intake struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request
	larges chan struct{}
	read   int
	large  bool      // it has a place in larges
	until  time.Time // when a large one has to be here
}

// taking returns a request whose body is bounded, and what to call when it was answered.
func (h *Host) taking(w http.ResponseWriter, r *http.Request) (*http.Request, func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}
	}
	in := &intake{ReadCloser: http.MaxBytesReader(w, r.Body, maxDelivery), ctx: r.Context(), larges: h.larges}
	bounded := *r
	bounded.Body = in
	return &bounded, func() {
		if in.large {
			<-in.larges
		}
	}
}

// Read reads the body, the part after smallDelivery in its turn.
func (in *intake) Read(p []byte) (int, error) {
	switch {
	case in.large:
		if time.Now().After(in.until) {
			return 0, errSlowLarge
		}
	case in.read > smallDelivery:
		timer := time.NewTimer(largeIn)
		defer timer.Stop()
		select {
		case in.larges <- struct{}{}:
		case <-timer.C:
			return 0, errManyLarge
		case <-in.ctx.Done():
			return 0, in.ctx.Err()
		}
		in.large, in.until = true, time.Now().Add(largeIn)
	default:
		p = p[:min(len(p), smallDelivery+1-in.read)] // one more, since the end of the body comes after it
	}
	n, err := in.ReadCloser.Read(p)
	in.read += n
	return n, err
}

// answered is a response that knows its status.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// forged notes a delivery that nothing proved. The log says so once a minute at most: anybody can
// post.
func (a *account) forged(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgeries++
	if time.Since(a.warned) < time.Minute {
		return
	}
	a.log.WarnContext(ctx, "deliveries were refused: somebody else sent them, or the secret or the clock differs here", "channel", a.Name, "deliveries", a.forgeries)
	a.forgeries, a.warned = 0, time.Now()
}
