package feishu

import (
	"context"
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/etui-run/etui/channel/platform"
)

// ServeHTTP implements [channel.Webhook]: events and callbacks may have the same URL. A
// message that is not safe is answered with 503, so that the platform sends it again; it
// waits for three seconds, and sends an event up to four times more within some hours
// (事件概述, event-subscription-guide/overview).
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int) { platform.Refuse(w, status) }
	if !c.pushed() {
		refuse(http.StatusNotFound) // events arrive through the long connection
		return
	}
	body, ok := platform.Posted(w, r, maxBody)
	if !ok {
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
		if !platform.Equal(e.Token, c.config.VerificationToken) {
			refuse(http.StatusUnauthorized)
			return
		}
		answer(w, map[string]string{"challenge": e.Challenge})
		return
	}
	if !signed || !platform.Equal(e.Header.Token, c.config.VerificationToken) || e.Header.AppID != c.config.AppID {
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
		c.log.WarnContext(r.Context(), "feishu sent an event that etui cannot read", "type",
			platform.Word(e.Header.EventType), "error", err)
		refuse(http.StatusBadRequest)
		return
	}
	if a == nil {
		answer(w, struct{}{})
		return
	}
	if s.Deliver(w, r, a.At.Chat, func(ctx context.Context) error { return s.take(ctx, a) }) {
		answer(w, c.answer(a))
	}
}

// answer answers a request with JSON.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(v) // if it does not arrive, the platform asks again
}

// signed reports whether the platform has signed a request, and lately.
func (c *Channel) signed(h http.Header, body []byte) bool {
	sent := h.Get("X-Lark-Request-Timestamp")
	return platform.Fresh(sent, time.Now()) &&
		platform.Equal(h.Get("X-Lark-Signature"), sign(sent, h.Get("X-Lark-Request-Nonce"), c.config.EncryptKey, body))
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

// The platform's scheme (接收事件, encrypt-key-encryption-configuration-case): AES-256-CBC
// with the SHA-256 of the Encrypt Key, padded by PKCS#7, in Base64 after the initialization
// vector.

func aesKey(encryptKey string) [32]byte { return sha256.Sum256([]byte(encryptKey)) }

// unseal decrypts what the platform has sent.
func unseal(key [32]byte, sealed string) ([]byte, error) {
	return platform.Unseal(key[:], nil, sealed, aes.BlockSize)
}

// sign is the signature of a delivery, X-Lark-Signature (the same page).
func sign(timestamp, nonce, encryptKey string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(timestamp + nonce + encryptKey))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
