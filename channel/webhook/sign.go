package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/platform"
)

// The headers of the specification.
const (
	headerID        = "Webhook-Id"
	headerTime      = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

const makeSecret = `make one with: echo "whsec_$(openssl rand -base64 32)"`

// key is a secret without its prefix, decoded.
type key []byte

func parseSecret(s string) (key, error) {
	encoded, ok := strings.CutPrefix(s, "whsec_")
	k, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(k) < 24 || len(k) > 64 { // without err: it may quote the secret
		return nil, errors.New("it is not whsec_ and the base64 of 24 to 64 bytes; " + makeSecret)
	}
	return k, nil
}

func (k key) sign(id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, k)
	for _, part := range []string{id, ".", timestamp, "."} {
		h.Write([]byte(part))
	}
	h.Write(body)
	return h.Sum(nil)
}

// maxSignatures bounds the signatures of a delivery that are looked at.
const maxSignatures = 16

// verify checks the headers of a delivery. Its errors are for the sender.
func (c *Channel) verify(h http.Header, body []byte) (id string, err error) {
	id, stamp := h.Get(headerID), h.Get(headerTime)
	if id == "" || stamp == "" || h.Get(headerSignature) == "" {
		return "", errors.New("the headers webhook-id, webhook-timestamp and webhook-signature are needed")
	}
	if !platform.Tidy(id, maxName) {
		return "", errors.New("webhook-id is longer than 256 bytes, or has characters that cannot be printed")
	}
	if !platform.Fresh(stamp, time.Now()) {
		return "", errors.New("webhook-timestamp is not a number of seconds, or more than 5 minutes away from the time here")
	}
	signatures := strings.Fields(h.Get(headerSignature))
	for _, s := range signatures[:min(len(signatures), maxSignatures)] {
		version, encoded, _ := strings.Cut(s, ",")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if version != "v1" || err != nil {
			continue
		}
		for _, k := range c.keys {
			if hmac.Equal(got, k.sign(id, stamp, body)) {
				return id, nil
			}
		}
	}
	return "", errors.New("webhook-signature has no v1 signature of this id, time and body with a secret that is known here")
}

// signed returns the headers of a request.
func (c *Channel) signed(id string, body []byte) http.Header {
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	signatures := make([]string, len(c.keys))
	for i, k := range c.keys {
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(k.sign(id, stamp, body))
	}
	return http.Header{headerID: {id}, headerTime: {stamp}, headerSignature: {strings.Join(signatures, " ")}}
}
