package feishu

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAge is how far the time of a request may be from now.
const maxAge = 5 * time.Minute

// ServeHTTP implements [channel.Webhook]: events and callbacks may have the same URL. A
// message that is not safe is answered with 503, so that the platform sends it again; it
// waits for three seconds, and sends an event up to four times more within some hours
// (事件概述, event-subscription-guide/overview).
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int) { http.Error(w, http.StatusText(status), status) }
	if !c.pushed() {
		refuse(http.StatusNotFound) // events arrive through the long connection
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(http.StatusRequestEntityTooLarge)
		return
	}
	signed := c.signed(r.Header, body)
	e, err := c.unpack(body)
	if err != nil {
		refuse(http.StatusUnauthorized)
		return
	}
	// The check of the URL is encrypted and has the token, but no signature (接收事件).
	if e.Type == "url_verification" {
		if !equal(e.Token, c.config.VerificationToken) {
			refuse(http.StatusUnauthorized)
			return
		}
		answer(w, map[string]string{"challenge": e.Challenge})
		return
	}
	if !signed || !equal(e.Header.Token, c.config.VerificationToken) || e.Header.AppID != c.config.AppID {
		refuse(http.StatusUnauthorized)
		return
	}
	s := c.open.Load()
	if s == nil {
		refuse(http.StatusServiceUnavailable)
		return
	}
	a, err := s.read(e)
	if err != nil {
		c.log.WarnContext(r.Context(), "feishu sent an event that etui cannot read", "type", word(e.Header.EventType), "error", err)
		refuse(http.StatusBadRequest)
		return
	}
	if a == nil {
		answer(w, struct{}{})
		return
	}
	done := make(chan error, 1)
	select {
	case s.jobs <- job{a, done}:
	case <-s.ended:
		refuse(http.StatusServiceUnavailable)
		return
	case <-r.Context().Done():
		return
	}
	select {
	case err = <-done:
	case <-r.Context().Done(): // the message is still taken, and known when it arrives again
		return
	}
	if err != nil {
		c.log.WarnContext(r.Context(), "a feishu message was not taken; Feishu sends it again", "error", err)
		refuse(http.StatusServiceUnavailable)
		return
	}
	answer(w, c.answer(a))
}

// answer answers a request with JSON.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", contentJSON)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(v) // if it does not arrive, the platform asks again
}

func equal(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// signed reports whether the platform has signed a request, and lately.
func (c *Channel) signed(h http.Header, body []byte) bool {
	sent := h.Get("X-Lark-Request-Timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > maxAge {
		return false
	}
	return equal(h.Get("X-Lark-Signature"), sign(sent, h.Get("X-Lark-Request-Nonce"), c.config.EncryptKey, body))
}

// unpack decrypts a request.
func (c *Channel) unpack(body []byte) (*envelope, error) {
	var outer struct {
		Encrypt string `json:"encrypt"`
	}
	if err := json.Unmarshal(body, &outer); err != nil {
		return nil, err
	}
	text, err := unseal(c.key, outer.Encrypt)
	if err != nil {
		return nil, err
	}
	return readEnvelope(text)
}
