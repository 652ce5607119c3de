package model

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
)

// Names maps tool names to those that a provider allows, which have no dots,
// and back. It is made for one request.
type Names struct {
	to, from map[string]string
}

// NewNames maps the names of a request's tools and calls.
func NewNames(req Request) Names {
	n := Names{map[string]string{}, map[string]string{}}
	for _, d := range req.Tools {
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
	if _, ok := n.to[name]; ok {
		return
	}
	safe := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if len(safe) > 64 {
		safe = safe[:64]
	}
	for i := 2; n.from[safe] != "" || safe == ""; i++ {
		safe = fmt.Sprintf("%.58s_%d", safe, i)
	}
	n.to[name], n.from[safe] = safe, name
}

// Provider returns the name under which the provider knows a tool.
func (n Names) Provider(name string) string { return n.to[name] }

// Own returns the name of the tool that the provider calls; a name that was not
// offered is returned as it is.
func (n Names) Own(name string) string {
	if own, ok := n.from[name]; ok {
		return own
	}
	return name
}

// UserText is what a model reads of a user's message: the host's note, then the
// text.
func UserText(m chat.Message) string {
	switch {
	case m.Note == "":
		return m.Text
	case m.Text == "":
		return m.Note
	}
	return m.Note + "\n\n" + m.Text
}

// Shorten makes what a provider said fit into an error: one line without the
// key, at most 300 bytes.
func Shorten(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "(key)")
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// KindOf tells which kind of failure an HTTP status is.
func KindOf(status int) error {
	switch {
	case status == 401 || status == 403:
		return ErrAuth
	case status == 429:
		return ErrRateLimited
	case status == 413:
		return ErrTooLong
	case status >= 400 && status < 500:
		return ErrRequest
	}
	return ErrUnavailable
}
