package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	maxHeader    = 256 << 10 // bytes of an answer's header
	maxIdle      = 128       // connections that are kept for later
	maxIdleHost  = 16        // of them to one host
	maxRedirects = 5
)

func (g *Guard) newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext, // and no Proxy: that of the environment would bypass the guard
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleHost,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
	}
}

// RoundTrip sends one request and follows no redirect. The transport may unpack a
// compressed answer; the caller limits how much of the body it reads.
func (g *Guard) RoundTrip(req *http.Request) (*http.Response, error) {
	err := checkURL(req.URL)
	if err == nil {
		err = g.checkAddress(req.URL)
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	return g.policy.Load().transport.RoundTrip(req)
}

// CloseIdleConnections closes the connections that are kept for later.
func (g *Guard) CloseIdleConnections() { g.policy.Load().transport.CloseIdleConnections() }

// Limits bound one exchange of a client. The zero value works.
type Limits struct {
	// Time is how long it may take, to the last byte. 0 means a minute; with a negative
	// number only the context ends it.
	Time time.Duration
	// Body is how many bytes the unpacked body may have: reading more fails with
	// [ErrTooLarge]. 0 means 10 MiB; a negative number means no limit, for streams.
	Body int64
}

// ErrTooLarge is the error of reading a body beyond its limit.
var ErrTooLarge = errors.New("the answer is too large")

// Client returns a client behind the guard. It follows at most 5 redirects of GET and
// HEAD, each checked like the first URL; other methods return the redirect itself.
// Headers that may hold credentials go only to the scheme, host and port of the first
// URL. The client keeps no cookies.
func (g *Guard) Client(l Limits) *http.Client {
	if l.Time == 0 {
		l.Time = time.Minute
	}
	if l.Body == 0 {
		l.Body = 10 << 20
	}
	return &http.Client{Transport: limitedTransport{g, l.Body}, CheckRedirect: redirect, Timeout: max(l.Time, 0)}
}

// redirect checks the next request of a redirect.
func redirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	if len(before) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	next.Header.Del("Referer")
	for _, passed := range append(before, next) {
		if !sameOrigin(first.URL, passed.URL) {
			keepHarmless(next.Header)
		}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && plainName(a.Hostname()) == plainName(b.Hostname()) && portOf(a) == portOf(b)
}

// keepHarmless removes all headers that could hold credentials.
func keepHarmless(h http.Header) {
	for name := range h {
		switch name {
		case "Accept", "Accept-Encoding", "Accept-Language", "User-Agent":
		default:
			h.Del(name)
		}
	}
}

// limitedTransport bounds the bodies of answers.
type limitedTransport struct {
	*Guard
	limit int64
}

func (l limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.Guard.RoundTrip(req)
	if err == nil && l.limit > 0 && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &limitedBody{resp.Body, l.limit}
	}
	return resp, err
}

// limitedBody fails after left bytes.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
