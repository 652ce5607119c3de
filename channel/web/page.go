package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// pageText is a chat for browsers. It builds elements of what people and models write, and never
// reads it as HTML.
//
//go:embed page.html
var pageText string

// between returns what is between two marks of the page.
func between(begin, end string) string {
	_, rest, _ := strings.Cut(pageText, begin)
	inside, _, _ := strings.Cut(rest, end)
	return inside
}

// digest is how a policy names a script or a style.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page answers with the page. Its policy lets it run its own script, connect to this gateway, and
// nothing else.
func (c *Channel) page(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src " + digest(between("<script>", "</script>")), "style-src " + digest(between("<style>", "</style>")),
		"connect-src 'self' ws://" + r.Host + " wss://" + r.Host, // older browsers do not count these as 'self'
		"img-src data:", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
	}, "; "))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write([]byte(pageText)) // the client may have gone
}

// own reports whether an origin is the gateway's own, from which the page comes. The server has
// checked the name in Host.
func (c *Channel) own(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return c.config.Page && err == nil && u.Host == r.Host
}
