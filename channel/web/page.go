package web

import (
	"net/http"
	"net/url"
	"strings"
)

// wantsPage reports whether a browser opens the channel's address, where there is a page.
func (c *Channel) wantsPage(r *http.Request) bool {
	return c.config.Page && r.Method == http.MethodGet && r.Header.Get("Upgrade") == "" &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// own reports whether an origin is the gateway's own, from which the page comes. The server has
// checked the name in Host.
func (c *Channel) own(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return c.config.Page && err == nil && u.Host == r.Host
}
