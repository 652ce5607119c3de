package channel

import (
	"context"
	"net/http"
	"time"
)

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
