package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

const (
	maxToken = 8 << 10 // bytes
	maxName  = 128     // bytes of an ID, a name or a role
	maxRoles = 32
	// maxLife is how long a token may count, and how long a connection may last: the client
	// then connects again.
	maxLife = 24 * time.Hour
	// skew is how far the backend's clock may be ahead.
	skew = time.Minute
	// guestPrefix begins the IDs of guests. No token may name such a person.
	guestPrefix = "guest-"
	// cookieName: browsers take a cookie of such a name over HTTPS only, and from nobody but
	// this host.
	cookieName = "__Host-etui-guest"
)

// person is who is connected, and until when.
type person struct {
	channel.Sender
	until time.Time
}

func (p person) guest() bool { return strings.HasPrefix(p.ID, guestPrefix) }

// claims is the payload of a token. Others are ignored, as RFC 7519 (May 2015) says.
type claims struct {
	Subject   string   `json:"sub"`
	Name      string   `json:"name"`
	Roles     []string `json:"roles"`
	Expires   float64  `json:"exp"`
	NotBefore float64  `json:"nbf"`
	Audience  any      `json:"aud"`
}

// verify checks a JWT (RFC 7519) that is signed with HS256 (RFC 7515 and 7518).
func (c *Channel) verify(token string, now time.Time) (p person, err error) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return p, errToken
	}
	encoding := base64.RawURLEncoding.Strict()
	var decoded [3][]byte
	for i, part := range parts {
		if decoded[i], err = encoding.DecodeString(part); err != nil {
			return p, errToken
		}
	}
	if !slices.ContainsFunc(c.config.Secrets, func(secret string) bool {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte(parts[0] + "." + parts[1]))
		return hmac.Equal(h.Sum(nil), decoded[2])
	}) {
		return p, errToken
	}
	var header struct {
		Algorithm string `json:"alg"`
		Critical  any    `json:"crit"`
	}
	var said claims
	if jsonv2.Unmarshal(decoded[0], &header) != nil || header.Algorithm != "HS256" || header.Critical != nil ||
		jsonv2.Unmarshal(decoded[1], &said) != nil || !said.forUs() || !platform.Tidy(said.Subject, maxName) ||
		strings.HasPrefix(said.Subject, guestPrefix) || len(said.Roles) > maxRoles {
		return p, errToken
	}
	at := float64(now.Unix())
	switch {
	case said.Expires == 0, said.NotBefore > at+skew.Seconds():
		return p, errToken
	case said.Expires <= at:
		return p, errExpired
	case said.Expires > at+(maxLife+skew).Seconds():
		return p, errLong
	}
	p = person{channel.Sender{ID: said.Subject, Name: printable.Line(said.Name, maxName)},
		time.Unix(int64(said.Expires), 0)}
	for _, role := range said.Roles {
		p.Roles = append(p.Roles, printable.Line(role, maxName))
	}
	return p, nil
}

// forUs reports whether a token is for this chat: it names no audience, or etui.
func (c *claims) forUs() bool {
	switch aud := c.Audience.(type) {
	case nil:
		return true
	case string:
		return aud == "etui"
	case []any:
		return slices.Contains(aud, any("etui"))
	}
	return false
}

// guest returns the guest of a request, and sets or renews the cookie. Who has the cookie
// is the guest; the ID, which others see, says nothing about it.
func (c *Channel) guest(w http.ResponseWriter, r *http.Request, now time.Time) (p person, err error) {
	key := ""
	if cookie, err := r.Cookie(cookieName); err == nil && len(cookie.Value) == len(rand.Text()) {
		key = cookie.Value
	}
	if key == "" {
		if !c.newborn.Allow() {
			return p, errBusy
		}
		key = rand.Text()
	}
	// Between sites, a browser keeps a cookie only for the page that got it (Partitioned), and
	// the list of origins is what protects it. The ready page says when another site frames it.
	cookie := &http.Cookie{Name: cookieName, Value: key, Path: "/", MaxAge: int(keep.Seconds()), HttpOnly: true,
		Secure: true, SameSite: http.SameSiteNoneMode, Partitioned: true}
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "same-site" || site == "same-origin") &&
		!r.URL.Query().Has("framed") {
		cookie.SameSite, cookie.Partitioned = http.SameSiteStrictMode, false
	}
	http.SetCookie(w, cookie)
	sum := sha256.Sum256([]byte(key))
	return person{channel.Sender{ID: guestPrefix + hex.EncodeToString(sum[:10]), Roles: []string{"guest"}},
		now.Add(maxLife)}, nil
}
