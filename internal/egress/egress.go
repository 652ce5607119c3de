// Package egress is the only way out: every request of a tool or a skill goes through
// a [Guard], which reaches public addresses and those that the operator has opened.
//
// The guard checks the address that it connects to at the moment of connecting, so
// names that change their address, redirects and odd spellings do not get past it. It
// never reaches metadata services of clouds or etui itself, even if the operator has
// opened their addresses. It ignores the proxies of the environment.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"
)

// Config says what a Guard lets through. The zero value works and opens public
// addresses only.
type Config struct {
	// Allow opens addresses that are not public: see [Guard.Allow].
	Allow []string
	// Key is the key of Allow in etui.yaml, which errors name. Default:
	// "skills.local".
	Key string
	// Own are the ports that etui itself listens on. They are never reached on this
	// machine's addresses.
	Own []uint16
	// Lookup finds the addresses of a name, as [net.Resolver.LookupNetIP] does; nil
	// asks the system.
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
	// Dial connects to an address that has been checked; nil means over TCP.
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

// Guard checks where requests go and sends them. It is an [http.RoundTripper] that
// keeps connections for all its users. It is safe for concurrent use.
type Guard struct {
	cfg    Config
	policy atomic.Pointer[policy]
}

// policy is a list of open addresses, with the transport whose connections were made
// under it.
type policy struct {
	list      []string
	entries   []entry
	transport *http.Transport
}

var _ http.RoundTripper = (*Guard)(nil)

const (
	// maxTried is how many of a name's addresses are tried, one after the other.
	maxTried = 4
	// connectTime bounds connecting to each of them.
	connectTime = 5 * time.Second
)

// New returns a guard. It fails when an entry of cfg.Allow cannot be parsed.
func New(cfg Config) (*Guard, error) {
	if cfg.Key == "" {
		cfg.Key = "skills.local"
	}
	if cfg.Lookup == nil {
		cfg.Lookup = net.DefaultResolver.LookupNetIP
	}
	if cfg.Dial == nil {
		cfg.Dial = dialTCP
	}
	g := &Guard{cfg: cfg}
	if err := g.Allow(cfg.Allow); err != nil {
		return nil, err
	}
	return g, nil
}

func dialTCP(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime}
	return d.DialContext(ctx, "tcp", address.String())
}

// RefusedError is the error for an address that may not be reached.
type RefusedError struct {
	// Target is the requested host and port.
	Target string
	// Reason says what is wrong with it and how to open it, if that is possible. It
	// continues a sentence that begins with the target.
	Reason string
	// Never says that nothing in the configuration opens it.
	Never bool
}

func (r *RefusedError) Error() string { return r.Target + " " + r.Reason }

// DialContext connects to a host and port that may be reached. It checks each address
// of a name and connects to allowed ones only. The error is a [*RefusedError] if no address
// may be reached.
func (g *Guard) DialContext(ctx context.Context, network, target string) (net.Conn, error) {
	host, port, err := splitTarget(target)
	if err != nil {
		return nil, &RefusedError{Target: target, Reason: err.Error()}
	}
	addresses, err := g.lookUp(ctx, network, host)
	if err != nil {
		return nil, err
	}
	var refused, failed error
	tried := 0
	for _, address := range addresses {
		at := netip.AddrPortFrom(address.Unmap(), port)
		if err := g.admit(host, at); err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		if tried++; tried > maxTried {
			break
		}
		conn, err := g.cfg.Dial(ctx, at)
		if err == nil {
			return conn, nil
		}
		failed = cmp.Or(failed, err)
	}
	return nil, cmp.Or(failed, refused)
}

// splitTarget splits a host and port and checks their form.
func splitTarget(target string) (host string, port uint16, err error) {
	host, number, err := net.SplitHostPort(target)
	if err != nil {
		return "", 0, errors.New("is no host and port")
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errors.New("has no port of 1 to 65535")
	}
	return host, uint16(n), checkHost(host)
}

// lookUp returns the addresses of a host whose form has been checked.
func (g *Guard) lookUp(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	family := "ip"
	switch network {
	case "tcp4":
		family = "ip4"
	case "tcp6":
		family = "ip6"
	}
	addresses, err := g.cfg.Lookup(ctx, family, host)
	var unknown *net.DNSError
	if errors.As(err, &unknown) { // a model need not know the name server
		nameless := *unknown
		nameless.Server = ""
		err = &nameless
	}
	if err == nil && len(addresses) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return addresses, err
}

// admit checks an address of a host before it is connected to.
func (g *Guard) admit(host string, at netip.AddrPort) error {
	target := net.JoinHostPort(host, strconv.Itoa(int(at.Port())))
	leads := "is"
	if host != at.Addr().String() {
		leads = "leads to " + at.Addr().String() + ","
	}
	if kind, never := neverReached(at.Addr()); never {
		return &RefusedError{target, fmt.Sprintf("%s %s: nothing opens it", leads, kind), true}
	}
	if g.isOwn(at) {
		return &RefusedError{target, leads + " a port of etui itself: nothing opens it", true}
	}
	kind, closed := kindOf(at.Addr())
	if !closed || g.opened(host, at) {
		return nil
	}
	return &RefusedError{Target: target,
		Reason: fmt.Sprintf(`%s %s, which is closed; to open it, write into etui.yaml: %s: ["%s"]`, leads, kind,
			g.cfg.Key, target)}
}

// isOwn reports whether etui itself listens at an address.
func (g *Guard) isOwn(at netip.AddrPort) bool {
	for _, port := range g.cfg.Own {
		if port == at.Port() && isThisMachine(at.Addr()) {
			return true
		}
	}
	return false
}

func isThisMachine(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	addresses, _ := net.InterfaceAddrs() // without them, only loopback is known
	for _, own := range addresses {
		if prefix, err := netip.ParsePrefix(own.String()); err == nil && prefix.Addr().Unmap() == a {
			return true
		}
	}
	return false
}
