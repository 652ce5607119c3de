package egress

import "net/netip"

// kind names a part of the address space.
type kind struct {
	prefix netip.Prefix
	name   string
}

func kinds(list ...string) (out []kind) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, kind{netip.MustParsePrefix(list[i]), list[i+1]})
	}
	return out
}

// never are the addresses that nothing opens: clouds serve the machine's own
// credentials there. Other link-local addresses make no sense without the name of a
// network card.
var never = kinds(
	"169.254.0.0/16", "a link-local address, where clouds serve the machine's credentials",
	"fe80::/10", "a link-local address",
	"100.100.100.200/32", "a cloud's metadata service",
	"168.63.129.16/32", "a cloud's metadata service",
	"192.0.0.192/32", "a cloud's metadata service",
	"fd00:ec2::/32", "a cloud's metadata service",
	"fd20:ce::/32", "a cloud's metadata service",
	"fd00:42::42/128", "a cloud's metadata service",
)

// closed are the IPv4 addresses and the global IPv6 addresses that are not public (see
// IANA's special-purpose registries).
var closed = kinds(
	"127.0.0.0/8", "a loopback address",
	"10.0.0.0/8", "a private address",
	"172.16.0.0/12", "a private address",
	"192.168.0.0/16", "a private address",
	"0.0.0.0/8", "an address of this machine",
	"100.64.0.0/10", "an address behind a provider's NAT",
	"192.0.0.0/24", "a reserved address",
	"192.0.2.0/24", "an address for documentation",
	"192.88.99.0/24", "a 6to4 relay",
	"198.18.0.0/15", "an address for benchmarks",
	"198.51.100.0/24", "an address for documentation",
	"203.0.113.0/24", "an address for documentation",
	"224.0.0.0/4", "a multicast address",
	"240.0.0.0/4", "a reserved address",
	"2001::/32", "a Teredo address",
	"2001::/23", "a reserved address",
	"2001:db8::/32", "an address for documentation",
	"2002::/16", "a 6to4 address",
	"3fff::/20", "an address for documentation",

	// Not global anyway; listed for their names.
	"::/128", "an address of this machine",
	"::1/128", "a loopback address",
	"fc00::/7", "a private address",
	"64:ff9b::/96", "a NAT64 address",
	"64:ff9b:1::/48", "a NAT64 address",
	"ff00::/8", "a multicast address",
)

// global holds all IPv6 addresses that have been allocated.
var global = netip.MustParsePrefix("2000::/3")

// kindOf names the kind of an address that is not public.
func kindOf(a netip.Addr) (name string, isClosed bool) {
	if k, found := find(closed, a.Unmap()); found {
		return k, true
	}
	if a = a.Unmap(); a.Is4() || global.Contains(a) {
		return "", false
	}
	return "a reserved address", true
}

// neverReached names the kind of an address that nothing opens, also if it is embedded
// in another address.
func neverReached(a netip.Addr) (name string, is bool) {
	for _, a := range append(embedded(a), a.Unmap()) {
		if name, is = find(never, a); is {
			return name, true
		}
	}
	return "", false
}

func find(list []kind, a netip.Addr) (name string, found bool) {
	for _, k := range list {
		if k.prefix.Contains(a) {
			return k.name, true
		}
	}
	return "", false
}

// embedded returns the IPv4 addresses that gateways may extract from an IPv6 address:
// from its end (compatible, translated, NAT64), and from the places of 6to4 and Teredo.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() || a.Is4In6() {
		return nil
	}
	b := a.As16()
	v4 := func(i int, mask byte) netip.Addr {
		return netip.AddrFrom4([4]byte{b[i] ^ mask, b[i+1] ^ mask, b[i+2] ^ mask, b[i+3] ^ mask})
	}
	switch {
	case b[0] == 0x20 && b[1] == 0x02:
		return []netip.Addr{v4(2, 0)}
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0:
		return []netip.Addr{v4(4, 0), v4(12, 0xff)}
	case global.Contains(a):
		return nil
	}
	return []netip.Addr{v4(12, 0)}
}
