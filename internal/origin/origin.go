// Package origin knows the origins of web pages.
package origin

import (
	"fmt"
	"net/url"
	"strings"
)

// Check returns why a text is no origin as browsers send it.
func Check(o string) error {
	u, err := url.Parse(o)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		o != strings.ToLower(u.Scheme+"://"+u.Host):
		return fmt.Errorf("origin %q is none: it is https:// and a host in lower case, without a path, as in https://shop.example.com", o)
	case u.Port() == map[string]string{"https": "443", "http": "80"}[u.Scheme]:
		return fmt.Errorf("origin %q: browsers leave out the usual port, so leave it out, too", o)
	case strings.Contains(o, "*"):
		return fmt.Errorf("origin %q: patterns are not taken, list each site", o)
	}
	return nil
}
