package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/etui-run/etui/server/wire"
)

// patience is how long a trial takes at most.
const patience = 30 * time.Second

// trial is the one that runs: a preview of rules, or a measurement of the ranking. They take all
// processors, and people who may only read ask for them. The zero value is ready to use.
type trial struct{ running sync.Mutex }

// alone refuses a trial while another one runs, and ends it when it takes too long.
func (t *trial) alone(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, ok := wire.ReadRaw(w, r) // a body that arrives slowly keeps nobody waiting
		if !ok {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !t.running.TryLock() {
			w.Header().Set("Retry-After", "1")
			wire.Refuse(w, http.StatusTooManyRequests,
				"another preview or evaluation runs; try again when it has ended")
			return
		}
		defer t.running.Unlock()
		ctx, done := context.WithTimeout(r.Context(), patience)
		defer done()
		next(w, r.WithContext(ctx))
	}
}
