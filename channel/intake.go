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
	// arriveIn is how long the small part of a body may take to arrive, and how long the rest.
	arriveIn = 30 * time.Second
)

// errManyLarge says that other large deliveries are being read.
var errManyLarge = errors.New("too many large deliveries arrive at once")

// intake is the body of a delivery. It bounds what strangers can make a process hold.
type intake struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request
	conn   *http.ResponseController
	larges chan struct{}
	read   int
	large  bool // it has a place in larges
}

// taking returns a request whose body is bounded in size and time, and what to call when it was
// answered.
func (h *Host) taking(w http.ResponseWriter, r *http.Request) (*http.Request, func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}
	}
	in := &intake{ReadCloser: http.MaxBytesReader(w, r.Body, maxDelivery), ctx: r.Context(), conn: http.NewResponseController(w), larges: h.larges}
	in.within(arriveIn)
	bounded := *r
	bounded.Body = in
	return &bounded, func() {
		if in.large {
			<-in.larges
		}
	}
}

// within ends a read that takes longer; 0 means that nothing does.
func (in *intake) within(d time.Duration) {
	until := time.Time{}
	if d > 0 {
		until = time.Now().Add(d)
	}
	_ = in.conn.SetReadDeadline(until) // not every writer has one
}

// Read reads the body, the part after smallDelivery in its turn.
func (in *intake) Read(p []byte) (int, error) {
	if in.read > smallDelivery && !in.large {
		select {
		case in.larges <- struct{}{}:
		default:
			timer := time.NewTimer(arriveIn)
			defer timer.Stop()
			select {
			case in.larges <- struct{}{}:
			case <-timer.C:
				return 0, errManyLarge
			case <-in.ctx.Done():
				return 0, in.ctx.Err()
			}
		}
		in.large = true
		in.within(arriveIn)
	}
	if !in.large {
		p = p[:min(len(p), smallDelivery+1-in.read)] // one more, since the end of the body comes after it
	}
	n, err := in.ReadCloser.Read(p)
	in.read += n
	if err != nil { // the whole body is here, and the answer may take its time
		in.within(0)
	}
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
