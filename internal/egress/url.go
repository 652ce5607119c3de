package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// maxURL is how many bytes a URL may have.
const maxURL = 8 << 10

// ParseURL parses a URL of scheme http or https and refuses forms that programs
// interpret differently: blanks and control characters, backslashes, user names,
// numbers that are no plain addresses. It looks nothing up. The error does not repeat
// the URL, which may hold a secret.
func ParseURL(raw string) (*url.URL, error) {
	switch {
	case raw == "":
		return nil, errors.New("the URL is empty")
	case len(raw) > maxURL:
		return nil, fmt.Errorf("the URL has %d bytes, and %d are allowed", len(raw), maxURL)
	case strings.ContainsFunc(raw, unreadable):
		return nil, errUnreadable
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("it cannot be read as a URL such as https://example.com/page")
	}
	if err := checkURL(u); err != nil {
		return u, err
	}
	return u, toASCII(u)
}

// toASCII converts the host's name to the form that is looked up (IDNA), so that all
// comparisons and the server see the same name.
func toASCII(u *url.URL) error {
	if isASCII(u.Host) {
		return nil
	}
	name, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil {
		return errors.New("the URL's host is no name in its script")
	}
	if port := u.Port(); port != "" {
		name = net.JoinHostPort(name, port)
	}
	u.Host = name
	return checkURL(u)
}

// unreadable reports whether programs disagree about the meaning of a character in a
// URL.
func unreadable(r rune) bool {
	return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
}

var errUnreadable = errors.New("the URL holds a blank, a control character or a backslash")

// checkURL checks the parts of a URL, however it was made.
func checkURL(u *url.URL) error {
	host := u.Hostname()
	switch {
	case strings.ContainsFunc(u.Host, unreadable) || strings.ContainsFunc(u.RawQuery, unreadable):
		return errUnreadable
	case u.Scheme == "":
		return errors.New("the URL has no scheme: write https:// before it")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL's scheme is %q: only http and https are allowed", u.Scheme)
	case u.User != nil:
		return errors.New("the URL holds a user name: write it into a header")
	case u.Opaque != "" || host == "":
		return errors.New("the URL has no host")
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		return errors.New("the URL has a colon and no port")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return errors.New("the URL's port is not one of 1 to 65535")
		}
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Is4() == strings.HasPrefix(u.Host, "[") {
		return errors.New("the URL's host has brackets, which only IPv6 addresses have")
	}
	if !isASCII(host) {
		return checkScript(host)
	}
	if err := checkHost(host); err != nil {
		return fmt.Errorf("the URL's host %q %w", host, err)
	}
	return nil
}

// CheckURL is ParseURL. If the URL has an address instead of a name, it also checks
// whether that may be reached.
func (g *Guard) CheckURL(raw string) (*url.URL, error) {
	u, err := ParseURL(raw)
	if err != nil {
		return nil, err
	}
	return u, g.checkAddress(u)
}

func (g *Guard) checkAddress(u *url.URL) error {
	address, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // a name is looked up when it is connected to
	}
	_, port, err := splitTarget(net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		return err
	}
	return g.admit(u.Hostname(), netip.AddrPortFrom(address.Unmap(), port))
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// checkHost checks an address or a name in ASCII. The error continues a sentence that
// begins with the host.
func checkHost(host string) error {
	if address, err := netip.ParseAddr(host); err == nil {
		switch {
		case address.Zone() != "":
			return errors.New("names a network card")
		case address.Is4In6():
			return errors.New("is an IPv4 address written as IPv6: write it as IPv4")
		}
		return nil
	}
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > 253 {
		return errors.New("is no name of 1 to 253 letters")
	}
	last := ""
	for last = range strings.SplitSeq(name, ".") {
		if last == "" || len(last) > 63 || strings.Trim(last, letters) != "" {
			return errors.New("is no name of letters, digits, hyphens and dots")
		}
	}
	if looksNumeric(last) {
		return errors.New("looks like a number: write an address as four numbers, without leading zeros")
	}
	return nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// looksNumeric reports whether some programs would read a name that ends in this
// label as an IPv4 address: 2130706433, 127.1, 0x7f.1, 0177.0.0.1.
func looksNumeric(label string) bool {
	label = strings.ToLower(label)
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// checkScript checks a name that is not ASCII. It refuses characters that represent
// others, such as digits in circles. The rest is converted to ASCII later (IDNA) and
// checked again.
func checkScript(host string) error {
	odd := func(r rune) bool {
		return r >= 0x80 && !unicode.IsLetter(r) && !unicode.IsMark(r) ||
			r < 0x80 && r != '.' && !strings.ContainsRune(letters, r)
	}
	if norm.NFKC.String(host) != host || strings.ContainsFunc(host, odd) {
		return errors.New("the URL's host contains characters that represent others")
	}
	return nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// HostOf returns the host and port of a URL as an entry of a list of open addresses; nil if it has
// no host.
func HostOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	if u.Port() == "" && u.Scheme != "http" && u.Scheme != "https" {
		return []string{address} // which New refuses
	}
	return []string{net.JoinHostPort(u.Hostname(), portOf(u))}
}
