package egress

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
)

// CausedTransport returns what sends the requests that the answers of a service cause, as its documents
// name further addresses. They reach the service itself and public addresses. They reach other
// addresses that the operator has opened only if the service is at such an address, too: a public
// service must not lead etui into a private network.
func (g *Guard) CausedTransport(service *url.URL) http.RoundTripper {
	public := &Guard{cfg: g.cfg}
	_ = public.Allow(nil) // an empty list is right
	return &causeTransport{g, public, service}
}

type causeTransport struct {
	opened, public *Guard
	service        *url.URL
}

func (c *causeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == c.service.Scheme && req.URL.Host == c.service.Host || c.private(req) {
		return c.opened.RoundTrip(req)
	}
	resp, err := c.public.RoundTrip(req)
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && !refused.Never {
		why := "is no public address, and " + c.service.Host + ", which names it, is a public service"
		return nil, &RefusedError{Target: refused.Target, Reason: why, Never: true}
	}
	return resp, err
}

// private reports whether the service is at an address that the operator has opened.
func (c *causeTransport) private(req *http.Request) bool {
	host := c.service.Hostname()
	addresses, err := c.opened.lookUp(req.Context(), "tcp", host)
	port, bad := strconv.ParseUint(portOf(c.service), 10, 16)
	if err != nil || bad != nil {
		return false
	}
	for _, a := range addresses {
		if _, closed := kindOf(a); closed && c.opened.opened(host, netip.AddrPortFrom(a.Unmap(), uint16(port))) {
			return true
		}
	}
	return false
}

// CloseIdleConnections closes the connections that are kept for later.
func (c *causeTransport) CloseIdleConnections() { c.public.CloseIdleConnections() }
