package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// entry opens the addresses of a name or of a network.
type entry struct {
	name   string // lower case, without a dot at the end; empty for a prefix
	prefix netip.Prefix
	port   uint16 // 0 means any
}

// Allow replaces the list of addresses that are open in addition to public ones. An
// entry is an address or a name with a port or with * for any port ("127.0.0.1:8081",
// "[::1]:*", "logs.lan:443"), or a network with or without a port ("10.0.0.0/8",
// "10.1.0.0/16:443", "[fd00::/8]:443"). A name opens every address that it leads to. If
// an entry cannot be parsed, Allow returns an error and changes nothing. New requests
// do not use connections that were made under an earlier list.
func (g *Guard) Allow(list []string) error {
	old := g.policy.Load()
	if old != nil && slices.Equal(old.list, list) {
		return nil
	}
	entries := make([]entry, 0, len(list))
	for _, text := range list {
		e, err := parseEntry(text)
		if err != nil {
			return fmt.Errorf("%q %w", text, err)
		}
		entries = append(entries, e)
	}
	g.policy.Store(&policy{slices.Clone(list), entries, g.newTransport()})
	if old != nil {
		old.transport.CloseIdleConnections()
	}
	return nil
}

func parseEntry(text string) (e entry, err error) {
	if e.prefix, err = netip.ParsePrefix(text); err == nil {
		return e, e.checkPrefix()
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return e, fmt.Errorf(`has no port: write a host and a port ("127.0.0.1:8081"), * for any port ("127.0.0.1:*"), or a network ("10.0.0.0/8")`)
	}
	if port != "*" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return e, errors.New("has no port of 1 to 65535, and no * for any")
		}
		e.port = uint16(n)
	}
	if e.prefix, err = netip.ParsePrefix(host); err == nil {
		return e, e.checkPrefix()
	}
	if err := checkHost(host); err != nil {
		return e, err
	}
	if address, err := netip.ParseAddr(host); err == nil {
		e.prefix = netip.PrefixFrom(address, address.BitLen())
		return e, nil
	}
	e.name = plainName(host)
	return e, nil
}

func (e *entry) checkPrefix() error {
	if e.prefix.Addr().Is4In6() {
		return errors.New("is an IPv4 network written as IPv6: write it as IPv4")
	}
	e.prefix = e.prefix.Masked()
	return nil
}

// opened reports whether the operator has opened an address for a host.
func (g *Guard) opened(host string, at netip.AddrPort) bool {
	for _, e := range g.policy.Load().entries {
		if e.port != 0 && e.port != at.Port() {
			continue
		}
		if e.name != "" && e.name == plainName(host) || e.prefix.Contains(at.Addr()) {
			return true
		}
	}
	return false
}

func plainName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }
