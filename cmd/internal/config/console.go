package config

import (
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/origin"
)

// console checks who may sign in to the console from elsewhere. Clients of the gateway may need a key.
func (r *reader) console(at *yaml.Node, c Console, keyed bool) {
	listed := slices.Concat(c.Owners, c.Operators, c.Viewers)
	if c.URL == "" {
		if c.Keys || c.Issuer != "" || len(listed) > 0 {
			r.fail(at, "api.console needs url: the address at which browsers reach the console, as in https://etui.example.com")
		}
		return
	}
	if err := origin.Check(c.URL); err != nil {
		r.fail(find(at, "url"), "api.console.url: %v", err)
	} else if !encrypted(c.URL) {
		r.fail(find(at, "url"), "api.console.url: %q must begin with https://, since keys and cookies go there", c.URL)
	} else if strings.HasPrefix(c.URL, "https://") && !keyed {
		r.fail(find(at, "url"), "api.console.url needs api.key: without it, everybody who reaches that address may use the agents")
	}
	switch {
	case c.Issuer == "":
		if !c.Keys {
			r.fail(at, "api.console: nobody could sign in; set keys: true for operators' keys, or issuer for a provider")
		}
		if len(listed) > 0 || c.RoleClaim != "" || c.ClientID != "" {
			r.fail(at, "api.console needs issuer: a provider says who is among the owners, operators and viewers")
		}
		return
	case !encrypted(c.Issuer):
		r.fail(find(at, "issuer"), "api.console.issuer: %q must be an address as in https://login.example.com",
			c.Issuer)
	case c.ClientID == "":
		r.fail(at, "api.console.issuer needs client_id, which the provider gives when you register %s/console/back",
			c.URL)
	case len(listed) == 0 && c.RoleClaim == "":
		r.fail(at, "api.console: the provider would let nobody in; list people or groups under owners, operators or viewers, or set role_claim")
	}
	for _, who := range listed {
		if group, ok := strings.CutPrefix(who, "group:"); ok && group == "" ||
			!ok && !strings.Contains(strings.Trim(who, "@"), "@") || strings.ContainsAny(who, "*") {
			r.fail(at, "api.console: %q is neither an email address nor a group, as in group:admins; patterns are not taken", who)
		}
	}
}

// encrypted reports whether an address is one of HTTPS, or of this machine, for a first try.
func encrypted(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname()))
}
