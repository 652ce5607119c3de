package engine

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
)

// maxKey is how long the key of a session may be, in bytes, as stores have it.
const maxKey = 512

// told checks what a message says about its sender and finds whom its As means. A guest
// who names no conversation gets one of its own, but for the one at the terminal and the
// one of a program that names no channel: these are the operator.
func (e *Engine) told(m message.Mail) (message.Mail, error) {
	if err := m.Check(); err != nil {
		return m, err
	}
	if m.As != "" {
		if m.User != "" {
			return m, fmt.Errorf("%w: it has as and user; one of them says who sends it", ErrInvalid)
		}
		users := e.Users()
		s := users.Sender("", m.As)
		if s.Channel == "" && s.User == nil {
			return m, fmt.Errorf("user %q: %w%s; an identity is written telegram:42", m.As, ErrUnknown, users.Hint(m.As))
		}
		m.User, m.As = m.As, ""
		if channel, id, ok := strings.Cut(m.User, ":"); ok && channel != identity.KeyChannel {
			m.Channel, m.User = channel, id
		}
	}
	if m.Channel == identity.System {
		return m, fmt.Errorf("%w: the channel %s is etui's own", ErrInvalid, m.Channel)
	}
	if m.Channel != "" && m.Channel != "cli" && m.User == "" && m.Session == "" && m.Chat == "" && m.Guest == "" && e.config.Scope != route.Main {
		m.Guest = rand.Text()
	}
	return m, nil
}

// Users returns the people whom etui knows now; nil means none.
func (e *Engine) Users() *identity.Users { return e.people.Now() }

func (e *Engine) key(a *agent, m message.Mail) session.Key {
	if m.To != "" {
		return m.To
	}
	return e.people.Key(a.Name, m.Caller(), m.Session)
}

// Whoami says who the sender of a message is to the engine.
type Whoami struct {
	// Kind is person, peer or guest.
	Kind identity.Kind `json:"kind"`
	// User is user.id of rules; Sender is the name in records that last.
	User   string `json:"user,omitempty"`
	Sender string `json:"sender,omitempty"`
	// Identities are how channels call the person.
	Identities []string `json:"identities,omitempty"`
	// The rest is what rules read.
	Channel       string            `json:"channel,omitempty"`
	Roles         []string          `json:"roles"`
	Groups        []string          `json:"groups,omitempty"`
	PlatformRoles []string          `json:"platform_roles,omitempty"`
	Attrs         map[string]string `json:"attrs,omitempty"`
	// Session is the key of the conversation that the message would belong to.
	Session session.Key `json:"session"`
}

// Whoami returns who the sender of a message is. Its text is not needed.
func (e *Engine) Whoami(sender Message) (Whoami, error) {
	m, err := e.told(message.New(sender))
	if err != nil {
		return Whoami{}, err
	}
	a, err := e.agent(m.Agent)
	if err != nil {
		return Whoami{}, err
	}
	f, s := e.people.Facts(m.Caller(), e.Catalog()), e.people.Sender(m.Caller())
	w := Whoami{
		Kind: s.Kind(), User: f.User, Sender: f.Sender, Channel: f.Channel, Roles: append([]string{}, f.Roles...), Groups: f.Groups,
		PlatformRoles: f.PlatformRoles, Attrs: f.Attrs, Session: e.key(a, m),
	}
	if s.User != nil {
		w.Identities = s.User.Identities
	}
	return w, nil
}

// Caller returns the facts of a message's sender by which tools, and the methods that read
// and write memory, know the conversation. Its text is not needed.
func (e *Engine) Caller(sender Message) (chat.Facts, error) {
	m, err := e.told(message.New(sender))
	if err != nil {
		return chat.Facts{}, err
	}
	a, err := e.agent(m.Agent)
	if err != nil {
		return chat.Facts{}, err
	}
	f := e.people.Facts(m.Caller(), e.Catalog())
	f.Agent, f.Session = a.Name, string(e.key(a, m))
	return f, nil
}
