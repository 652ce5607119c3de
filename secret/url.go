package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// address matches an address with a scheme in a text, as far as its fragment.
var address = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)

var (
	// userInfo matches what stands before the host: a name and a password, or a token.
	userInfo = regexp.MustCompile(`^([^/]*//)(?:([^/?#:@]*):)?[^/?#]*@`)
	// parameter matches a parameter of a query or a fragment, also where JSON escapes the &.
	parameter = regexp.MustCompile(`((?:[?&#;]|\\u0026)([^=&#;\\]*)=)((?:[^&#;\\]|\\[^u])+)`)
	// fragment matches one that is no path of a page.
	fragment = regexp.MustCompile(`#[^/=][^=]*$`)
	// keyed matches the names of parameters with secrets, besides those that [Names] knows.
	keyed = regexp.MustCompile(`(?i)^(code|jwt|k|p|pw|pwd|sas|sig|state|ticket)$|pwd|_pw$|sig$|otp|bearer|hmac|jwt`)
)

// URLs hides the passwords and keys in the addresses of a text: what stands before the host, except
// a user's name, parameters whose names say that they hold a secret, and fragments. It is for
// texts to operators, in which etui shows addresses from its configuration; [Set] has the values themselves.
func URLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return address.ReplaceAllStringFunc(text, func(at string) string {
		at = userInfo.ReplaceAllStringFunc(at, func(info string) string {
			m := userInfo.FindStringSubmatch(info)
			if m[2] != "" {
				m[2] += ":"
			}
			return m[1] + m[2] + hidden + "@"
		})
		at = parameter.ReplaceAllStringFunc(at, func(p string) string {
			if m := parameter.FindStringSubmatch(p); tellingParameter(m[2]) {
				return m[1] + hidden
			}
			return p
		})
		return fragment.ReplaceAllString(at, "#"+hidden)
	})
}

func tellingParameter(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return Names(name) || keyed.MatchString(name)
}

// InURL returns the secrets in a text that is an address.
func InURL(text string) (found []Value) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" {
		return nil
	}
	if password, ok := u.User.Password(); ok {
		found = append(found, Value(password))
	} else if u.User != nil {
		found = append(found, Value(u.User.Username()))
	}
	inFragment, _ := url.ParseQuery(u.Fragment) // what is none is taken as a whole
	for _, values := range []url.Values{u.Query(), inFragment} {
		for name, list := range values {
			if tellingParameter(name) {
				found = append(found, secrets(list)...)
			}
		}
	}
	if u.Fragment != "" && !strings.Contains(u.Fragment, "=") {
		found = append(found, Value(u.Fragment))
	}
	return slices.DeleteFunc(found, func(v Value) bool { return v == "" })
}

func secrets(list []string) (found []Value) {
	for _, text := range list {
		found = append(found, Value(text))
	}
	return found
}
