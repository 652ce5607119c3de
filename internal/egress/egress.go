// Package egress is the one way out: every request that a tool or a skill makes
// goes through a [Guard], which reaches public addresses only, and beside them
// what the operator has opened.
//
// What is checked is the address that is really connected to, at the moment of
// connecting, so no name that leads elsewhere a second later, no redirect and no
// odd spelling gets past it. Metadata services of clouds and etui itself are never
// reached, whatever the operator has opened. The environment's proxies are not
// used.
package egress

import (
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

// Config says what a Guard lets through. The zero value works, and opens public
// addresses only.
type Config struct {
	// Allow opens addresses that are not public: see [Guard.Allow].
	Allow []string
	// Key is where Allow stands in etui.yaml; errors name it. Default:
	// "skills.local".
	Key string
	// Own are the ports that etui itself listens on. They are not reached on this
	// machine's addresses, whatever is allowed.
	Own []uint16
	// Lookup finds the addresses of a name, as [net.Resolver.LookupNetIP] does; nil
	// asks the system.
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
	// Dial connects to an address that has been checked; nil means over TCP.
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

// Guard checks where requests go, and carries them. It is an [http.RoundTripper]
// that keeps connections for all who share it. It is safe for concurrent use.
type Guard struct {
	cfg    Config
	policy atomic.Pointer[policy]
}

// policy is what is allowed, and the transport whose connections were made while
// it was.
type policy struct {
	list      []string
	entries   []entry
	transport *http.Transport
}

var _ http.RoundTripper = (*Guard)(nil)

const (
	// maxTried is how many of a name's addresses are tried, one after the other.
	maxTried = 4
	// connectTime is how long each of them is given.
	connectTime = 5 * time.Second
)

// New returns a guard, or says which line of cfg.Allow cannot be understood.
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

// Refused is the error for an address that is not to be reached.
type Refused struct {
	// Target is the host and port that somebody asked for.
	Target string
	// Reason says what is wrong with it and, if anything can be, what to do. It
	// begins after the target.
	Reason string
	// Never says that nothing in the configuration opens it.
	Never bool
}

func (r *Refused) Error() string { return r.Target + " " + r.Reason }

// DialContext connects to a host and port, if it may be reached: each address
// that a name leads to is checked, and only the checked ones are connected to. The
// error is a [*Refused] when none may be reached.
func (g *Guard) DialContext(ctx context.Context, network, target string) (net.Conn, error) {
	host, port, err := splitTarget(target)
	if err != nil {
		return nil, &Refused{Target: target, Reason: err.Error()}
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
			refused = cmpOr(refused, err)
			continue
		}
		if tried++; tried > maxTried {
			break
		}
		conn, err := g.cfg.Dial(ctx, at)
		if err == nil {
			return conn, nil
		}
		failed = cmpOr(failed, err)
	}
	return nil, cmpOr(failed, refused)
}

func cmpOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// splitTarget takes a host and port apart and checks their form.
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

// lookUp returns the addresses of a host, which has been checked.
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
	if errors.As(err, &unknown) { // a model need not know who was asked
		nameless := *unknown
		nameless.Server = ""
		err = &nameless
	}
	if err == nil && len(addresses) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return addresses, err
}

// admit judges an address that is about to be connected to for a host.
func (g *Guard) admit(host string, at netip.AddrPort) error {
	target := net.JoinHostPort(host, strconv.Itoa(int(at.Port())))
	leads := "is"
	if host != at.Addr().String() {
		leads = "leads to " + at.Addr().String() + ","
	}
	if kind, never := neverReached(at.Addr()); never {
		return &Refused{target, fmt.Sprintf("%s %s: nothing opens it", leads, kind), true}
	}
	if g.isOwn(at) {
		return &Refused{target, leads + " a port of etui itself: nothing opens it", true}
	}
	kind, closed := kindOf(at.Addr())
	if !closed || g.opened(host, at) {
		return nil
	}
	return &Refused{Target: target, Reason: fmt.Sprintf(`%s %s, which is closed; to open it, write into etui.yaml: %s: ["%s"]`, leads, kind, g.cfg.Key, target)}
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
	addresses, _ := net.InterfaceAddrs() // without them, loopback is all that is known
	for _, own := range addresses {
		if prefix, err := netip.ParsePrefix(own.String()); err == nil && prefix.Addr().Unmap() == a {
			return true
		}
	}
	return false
}
