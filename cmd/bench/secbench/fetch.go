package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/egress"
)

// The limits of what a bench fetches.
const (
	fetchTime = 20 * time.Second
	fetchBody = 1 << 20
)

type fetchRequest struct {
	URL      string            `json:"url"`
	Resolver string            `json:"resolver"`
	DialMap  string            `json:"dial_map"`
	OwnPort  uint16            `json:"own_port"`
	Allow    []string          `json:"allow_private"`
	Headers  map[string]string `json:"headers"`
}

// benchFetch answers a request for a page: through the guard, with the bench's
// resolver, and connected to the bench's server instead of the address that has
// passed.
func benchFetch(ctx context.Context, q fetchRequest) (map[string]any, error) {
	passed := &passedAddresses{to: q.DialMap, list: []string{}}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", q.Resolver)
	}}
	if q.Resolver == "" {
		resolver = net.DefaultResolver
	}
	guard, err := egress.New(egress.Config{Allow: q.Allow, Own: []uint16{q.OwnPort}, Lookup: resolver.LookupNetIP,
		Dial: passed.dial})
	if err != nil {
		return nil, err
	}
	defer guard.CloseIdleConnections()
	text, err := fetch(ctx, guard, q.URL, q.Headers)
	answer := map[string]any{"dialed": passed.all()}
	if err == nil {
		answer["output"] = text
	}
	return answer, err
}

func fetch(ctx context.Context, guard *egress.Guard, url string, headers map[string]string) (string, error) {
	u, err := guard.CheckURL(url)
	if err != nil {
		return "", err
	}
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := guard.Client(egress.Limits{Time: fetchTime, Body: fetchBody}).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answers %d %s", u.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return strings.ToValidUTF8(string(body), "�"), err
}

// passedAddresses notes the addresses that a guard connects to, and connects
// elsewhere if the bench says so.
type passedAddresses struct {
	to string

	mu   sync.Mutex
	list []string
}

func (p *passedAddresses) dial(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
	p.mu.Lock()
	p.list = append(p.list, at.String())
	p.mu.Unlock()
	to := p.to
	if to == "" {
		to = at.String()
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to)
}

func (p *passedAddresses) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}
