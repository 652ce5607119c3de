package channel

import (
	"context"
	"time"
)

// forged notes a delivery that nothing proved. The log says so once a minute at most: anybody can
// post.
func (a *account) forged(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgeries++
	if time.Since(a.warned) < time.Minute {
		return
	}
	a.log.WarnContext(ctx, "deliveries were refused: somebody else sent them, or the secret or the clock differs here",
		"channel", a.Name, "deliveries", a.forgeries)
	a.forgeries, a.warned = 0, time.Now()
}
