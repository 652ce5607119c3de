package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/egress"
)

// Requests attacks the guard of requests. Nothing leaves this machine: what the
// guard would connect to is always the same service of the test, and names lead
// where the test says.
func Requests(ctx context.Context) (Report, error) {
	s, err := newStage()
	if err != nil {
		return Report{}, err
	}
	t, err := s.serveSecret(ctx)
	if err != nil {
		return Report{}, errors.Join(err, s.Close())
	}
	guard, err := egress.New(egress.Config{Lookup: lookUp, Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { return t.connect(ctx) }})
	if err != nil {
		return Report{}, errors.Join(err, s.Close())
	}
	r := t.attackRequests(ctx, guard.Client(egress.Limits{Time: maxRequest, Body: 1 << 16}))
	guard.CloseIdleConnections()
	return r, s.Close()
}

const maxRequest = 5 * time.Second

// publicHost leads to a public address, and innerHost to this machine.
const (
	publicHost  = "public.test"
	innerHost   = "inner.test"
	publicPlace = "93.184.215.14"
)

func lookUp(_ context.Context, _, name string) ([]netip.Addr, error) {
	if strings.TrimSuffix(name, ".") == publicHost {
		return []netip.Addr{netip.MustParseAddr(publicPlace)}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// secretService tells the token to all who reach it, but /away leads to 127.0.0.1.
type secretService struct {
	address, token string
}

func (s *stage) serveSecret(ctx context.Context) (*secretService, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: maxRequest, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, s.token) // who asked may have gone
	})}
	s.close = append(s.close, server.Close)
	go func() { _ = server.Serve(l) }() // it ends with server.Close
	return &secretService{l.Addr().String(), s.token}, nil
}

func (t *secretService) connect(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", t.address)
}

// attackRequests asks for what must not be reached, and then for a public page.
func (t *secretService) attackRequests(ctx context.Context, client *http.Client) (r Report) {
	for _, attack := range []struct{ name, url string }{
		{"ask this machine", "http://127.0.0.1/"},
		{"ask this machine by a decimal address", "http://2130706433/"},
		{"ask this machine by a hexadecimal address", "http://0x7f000001/"},
		{"ask this machine by a short address", "http://127.1/"},
		{"ask this machine by an IPv6 address", "http://[::1]/"},
		{"ask this machine by a mapped address", "http://[::ffff:127.0.0.1]/"},
		{"ask this machine by a name that leads there", "http://" + innerHost + "/"},
		{"ask this machine by a redirect", "http://" + publicHost + "/away"},
		{"ask the metadata service of a cloud", "http://169.254.169.254/latest/meta-data/"},
		{"ask a private address", "http://192.168.1.1/"},
	} {
		text, err := get(ctx, client, attack.url)
		r.attack(attack.name, err != nil && !strings.Contains(text, t.token), false, nil)
	}
	text, err := get(ctx, client, "http://"+publicHost+"/")
	if err == nil && text != t.token {
		err = fmt.Errorf("it holds %q", text)
	}
	r.task("read a public page", err)
	return r
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return string(text), err
}
