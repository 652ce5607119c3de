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
		platform.Refuse(w, http.StatusUnauthorized)
		return
	}
	body, ok := platform.Posted(w, req, maxUpdate)
	if !ok {
		return
	}
	r := c.run.Load()
	if r == nil || c.webhook == "" {
		platform.Refuse(w, http.StatusServiceUnavailable)
		return
	}
	u, ok := c.decode(req.Context(), body)
	switch {
	case u.ID == 0:
		platform.Refuse(w, http.StatusBadRequest)
	case ok: // another one would come again for ever
		r.Deliver(w, req, id(u.chat()), func(ctx context.Context) error { return c.handle(ctx, r, []update{u}) })
	}
}
