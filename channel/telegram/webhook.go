package telegram

import (
	"context"
	"net/http"

	"github.com/etui-run/etui/channel/platform"
)

// maxUpdate bounds the body of a delivery.
const maxUpdate = 1 << 20

// ServeHTTP implements [channel.Webhook]. Telegram delivers an update again until the
// answer is 200; one that was handed over before is answered so without effect.
func (c *Channel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !platform.Equal(req.Header.Get("X-Telegram-Bot-Api-Secret-Token"), c.secret) {
		http.Error(w, "the secret token is missing or wrong", http.StatusUnauthorized)
		return
	}
	body, ok := platform.Posted(w, req, maxUpdate)
	if !ok {
		return
	}
	r := c.run.Load()
	if r == nil || c.webhook == "" {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the channel is not running", http.StatusServiceUnavailable)
		return
	}
	u, ok := c.decode(req.Context(), body)
	switch {
	case u.ID == 0:
		http.Error(w, "this is not an update", http.StatusBadRequest)
		return
	case !ok: // it would come again for ever
		return
	}
	take := func(ctx context.Context) error { return c.handle(ctx, r, []update{u}) }
	if err := r.intake.Submit(req.Context(), id(u.chat()), take); err != nil {
		c.log.WarnContext(req.Context(), "an update of Telegram was not accepted, it comes again", "update", u.ID, "error", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the message could not be stored", http.StatusServiceUnavailable)
	}
}
