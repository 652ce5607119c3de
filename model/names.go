package model

import (
	"fmt"
	"strings"
)

// maxName is the longest tool name that every provider accepts, in bytes.
const maxName = 64

// Names maps tool names to names that providers allow (letters, digits, '_' and '-')
// and back. It belongs to one request. The same request gives the same names, and
// appending a tool does not change the names before it. It is safe for concurrent use.
type Names struct {
	to, from map[string]string
	near     map[string]string // of the offered tools, by plain; empty when two have it
}

// NewNames maps the names of a request's tools, then of its deferred tools, then of
// its calls.
func NewNames(req Request) Names {
	size := len(req.Tools) + len(req.Deferred) // a client may bring hundreds
	n := Names{make(map[string]string, size), make(map[string]string, size), make(map[string]string, size)}
	for _, d := range req.Tools {
		n.offer(d.Name)
	}
	for _, d := range req.Deferred {
		n.offer(d.Name)
	}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			n.add(c.Name)
		}
	}
	return n
}

func (n Names) offer(name string) {
	n.add(name)
	key := plain(n.to[name])
	if other, taken := n.near[key]; taken && other != name {
		name = ""
	}
	n.near[key] = name
}

// plain returns a name without what some models write around it: blanks, marks of a channel, a
// namespace, a number, arguments; and without its case and what is between its words.
func plain(name string) string {
	if _, rest, tagged := strings.Cut(name, ">"); tagged && strings.HasPrefix(strings.TrimSpace(name), "<") {
		name = rest
	}
	if at := strings.IndexAny(name, "<({"); at > 0 {
		name = name[:at]
	}
	name = strings.ToLower(strings.Trim(name, " \t\r\n\"'`()"))
	for _, prefix := range []string{"default_api", "functions", "function", "tools", "tool"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && strings.Contains(".:/", rest[:1]) {
			name = rest[1:]
		}
	}
	if at := strings.LastIndexByte(name, ':'); at > 0 && strings.Trim(name[at+1:], "0123456789") == "" {
		name = name[:at]
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./: ", r) {
			return -1
		}
		return r
	}, name)
}

func (n Names) add(name string) {
	if _, known := n.to[name]; known {
		return
	}
	safe := strings.Map(allowed, name)
	if safe != "" && (safe[0] == '-' || safe[0] >= '0' && safe[0] <= '9') { // Gemini wants another beginning
		safe = "_" + safe
	}
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

// Provider returns the provider's name for a tool of the request.
func (n Names) Provider(name string) string { return n.to[name] }

// Own returns the tool's own name for the name in a provider's call. A name that was not offered
// is that of the only tool that is called so but for what models write around names, and
// otherwise returned as is.
func (n Names) Own(name string) string {
	if own, ok := n.from[name]; ok {
		return own
	}
	if _, own := n.to[name]; own {
		return name
	}
	if key := plain(name); key != "" && n.near[key] != "" {
		return n.near[key]
	}
	return name
}
