package model

import (
	"fmt"
	"strings"
)

// maxName is how long a tool's name may be for every provider, in bytes.
const maxName = 64

// Names maps tool names to those that providers allow - letters, digits, '_' and
// '-' - and back. It is made for one request, and the same request gives the
// same names; a tool appended to it does not change those before. It is safe for
// concurrent use.
type Names struct{ to, from map[string]string }

// NewNames maps the names of a request's tools, then those that are deferred, then
// those of its calls.
func NewNames(req Request) Names {
	n := Names{map[string]string{}, map[string]string{}}
	for _, d := range req.Tools {
		n.add(d.Name)
	}
	for _, d := range req.Deferred {
		n.add(d.Name)
	}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			n.add(c.Name)
		}
	}
	return n
}

func (n Names) add(name string) {
	if _, known := n.to[name]; known {
		return
	}
	safe := strings.Map(allowed, name)
	safe = safe[:min(len(safe), maxName)]
	for i, base := 2, safe; ; i++ {
		if _, taken := n.from[safe]; !taken && safe != "" {
			break
		}
		safe = fmt.Sprintf("%.*s_%d", maxName-6, base, i)
	}
	n.to[name], n.from[safe] = safe, name
}

func allowed(r rune) rune {
	if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '_'
}

// Provider returns the name under which the provider knows a tool of the
// request.
func (n Names) Provider(name string) string { return n.to[name] }

// Own returns the name of the tool that the provider calls. A name that was not
// offered is returned as it is.
func (n Names) Own(name string) string {
	if own, ok := n.from[name]; ok {
		return own
	}
	return name
}
