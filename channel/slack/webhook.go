package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/platform"
)

// ServeHTTP implements [channel.Webhook]: the Events API, slash commands and interactivity
// have the same URL. A message that is not safe is answered with 503, so that Slack sends
// it again; the ID of the message stays.
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.config.Secret == "" {
		platform.Refuse(w, http.StatusNotFound) // events arrive through Socket Mode
		return
	}
	body, ok := platform.Posted(w, r, maxBody)
	if !ok {
		return
	}
	sent := r.Header.Get("X-Slack-Request-Timestamp")
	if !platform.Fresh(sent, time.Now()) || !c.signed(sent, body, r.Header.Get("X-Slack-Signature")) {
		platform.Refuse(w, http.StatusUnauthorized)
		return
	}
	s := c.open.Load()
	if s == nil {
		platform.Refuse(w, http.StatusServiceUnavailable)
		return
	}
	kind, payload, err := unpack(r.Header.Get("Content-Type"), body)
	if err != nil {
		platform.Refuse(w, http.StatusBadRequest)
		return
	}
	if kind == "url_verification" {
		var v struct{ Challenge string }
		_ = json.Unmarshal(payload, &v) // unpack has read it
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, v.Challenge)
		return
	}
	a, err := s.read(kind, payload)
	if err != nil {
		c.log.WarnContext(r.Context(), "slack sent an event that etui cannot read", "type", kind, "error", err)
		platform.Refuse(w, http.StatusBadRequest)
		return
	}
	if a != nil { // Slack waits for three seconds
		s.Deliver(w, r, a.At.Chat, func(ctx context.Context) error { return s.take(ctx, a) })
	}
}

// signed reports whether the app's secret signed a request.
func (c *Channel) signed(sent string, body []byte, signature string) bool {
	given, ok := strings.CutPrefix(signature, "v0=")
	if !ok {
		return false
	}
	got, err := hex.DecodeString(given)
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(c.config.Secret))
	mac.Write([]byte("v0:" + sent + ":"))
	mac.Write(body)
	return hmac.Equal(mac.Sum(nil), got)
}

// unpack returns what a request brings as Socket Mode calls it. Events are JSON, slash
// commands a form, and interactions JSON in a form.
func unpack(contentType string, body []byte) (kind string, payload json.RawMessage, err error) {
	if t, _, _ := mime.ParseMediaType(contentType); t == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return "", nil, err
		}
		if p := form.Get("payload"); p != "" {
			return "interactive", json.RawMessage(p), nil
		}
		fields := make(map[string]string, len(form))
		for name := range form {
			fields[name] = form.Get(name)
		}
		payload, err = json.Marshal(fields)
		return "slash_commands", payload, err
	}
	var head struct{ Type string }
	if err := json.Unmarshal(body, &head); err != nil {
		return "", nil, err
	}
	if head.Type == "url_verification" {
		return head.Type, body, nil
	}
	return "events_api", body, nil
}
