package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const (
	maxHosts = 100 // that a program may be granted
	maxHost  = 260 // bytes of a name and a port
)

// CheckHosts returns an error for the first entry that is no host of
// [Command.Network], and for a list of more than 100.
func CheckHosts(list []string) error {
	if len(list) > maxHosts {
		return fmt.Errorf("there are %d hosts, and %d are allowed", len(list), maxHosts)
	}
	for _, entry := range list {
		if err := checkHost(entry); err != nil {
			return fmt.Errorf("%q %w", entry, err)
		}
	}
	return nil
}

func checkHost(entry string) error {
	if len(entry) > maxHost {
		return fmt.Errorf("has %d bytes, and %d are allowed", len(entry), maxHost)
	}
	name := entry
	if host, port, err := net.SplitHostPort(entry); err == nil && !strings.Contains(entry, "/") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("has no port of 1 to 65535; without a port 80 and 443 are meant")
		}
		name = host
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return nil
	}
	for label := range strings.SplitSeq(strings.TrimPrefix(name, "*."), ".") {
		if label == "" || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errors.New(`is no host; write a name alone, as in api.example.org, api.example.org:8443 or "*.example.org"`)
		}
	}
	return nil
}

// withPort adds the default port to a host without one.
func withPort(host string, tls bool) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "80"
	if tls {
		port = "443"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// granted reports whether a list of hosts contains an address.
func granted(hosts []string, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, h := range hosts {
		name, p, err := net.SplitHostPort(h)
		switch {
		case err != nil && port != "80" && port != "443", err == nil && p != port:
			continue
		case err != nil:
			name = h
		}
		name = strings.ToLower(strings.Trim(name, "[]"))
		if suffix, ok := strings.CutPrefix(name, "*"); ok && strings.HasPrefix(suffix, ".") {
			if len(host) > len(suffix) && strings.HasSuffix(host, suffix) {
				return true
			}
		} else if name == host {
			return true
		}
	}
	return false
}
