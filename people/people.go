// Package people says who a caller is by the configuration as it is now: for rules, for records, and
// for the conversation to which a message belongs.
package people

import (
	"maps"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
)

// Config says where people are known.
type Config struct {
	// Users returns the people whom etui knows while a catalog is in effect; nil means that
	// there are none.
	Users func(now *catalog.Catalog) *identity.Users
	// Catalog returns what exists now.
	Catalog func() *catalog.Catalog
	// Scope says how finely direct messages are kept apart; empty means [route.Peer].
	Scope route.Scope
}

// People tell who callers are. They are safe for concurrent use.
type People struct{ config Config }

// New returns the people of a configuration.
func New(cfg Config) *People { return &People{cfg} }

// At returns the people whom etui knows while a catalog is in effect; nil means none.
func (p *People) At(now *catalog.Catalog) *identity.Users {
	if p.config.Users == nil {
		return nil
	}
	return p.config.Users(now)
}

// Now returns the people whom etui knows now; nil means none.
func (p *People) Now() *identity.Users { return p.At(p.config.Catalog()) }

// Sender returns who a caller is.
func (p *People) Sender(c identity.Caller) identity.Sender { return p.Now().Sender(c.Channel, c.User) }

// Language returns the language of etui's own words to a caller: the one of the configuration, or in which
// the caller writes, or that the platform names.
func (p *People) Language(c identity.Caller, wrote, platform string) string {
	if s := p.Sender(c); s.User != nil && s.User.Language != "" {
		return s.User.Language
	}
	if chat.Chinese(wrote) {
		return phrase.Chinese
	}
	return phrase.Match(platform)
}

// Guest reports whether anybody could be the caller in a conversation: the caller has no name and is
// not the operator, or is only a guest to the platform.
func (p *People) Guest(c identity.Caller, key session.Key) bool {
	s := p.Sender(c)
	nameless := s.Kind() == identity.Guest && !route.Operator(key)
	return nameless || s.User == nil && slices.Contains(c.PlatformRoles, "guest")
}

// Alone reports whether a caller gets a conversation of its own, because nothing tells it from
// others. The one at the terminal and the one of a program that names no channel are the operator.
func (p *People) Alone(c identity.Caller) bool {
	nameless := c.User == "" && c.Chat == "" && c.Guest == ""
	return nameless && c.Channel != "" && c.Channel != "cli" && p.config.Scope != route.Main
}

// Configured reports whether the configuration names people, who may change at any time.
func (p *People) Configured() bool { return p.config.Users != nil }

// Waiter names a caller in a conversation where callers take turns: guests are one.
func (p *People) Waiter(c identity.Caller, key session.Key) string {
	if p.Guest(c, key) {
		return ""
	}
	return p.Sender(c).Record()
}

// Key returns the conversation of a caller with an agent. Name is what the client calls it; empty if
// it is found from the caller.
func (p *People) Key(agent string, c identity.Caller, name string) session.Key {
	if c.Direct {
		c.Chat, c.Thread = "", ""
	}
	return route.Key(route.Place{
		Agent: agent, Channel: c.Channel, Account: c.Account, Sender: p.Sender(c), Guest: c.Guest,
		Chat: c.Chat, Thread: c.Thread, Session: name,
	}, p.config.Scope)
}

// Facts returns what is known of a caller while a catalog is in effect. The facts that a client
// states add to those that the configuration says of a person, which win.
func (p *People) Facts(c identity.Caller, now *catalog.Catalog) chat.Facts {
	s := p.At(now).Sender(c.Channel, c.User)
	f := chat.Facts{
		Channel: c.Channel, Chat: c.Chat, User: s.Fact(), Sender: s.Record(),
		Roles: c.Roles, PlatformRoles: c.PlatformRoles, Attrs: c.Attrs,
	}
	if s.User == nil {
		return f
	}
	f.Roles, f.Groups = s.User.Roles, s.User.Groups
	if len(c.Roles) > 0 {
		f.Roles = slices.Concat(s.User.Roles, c.Roles)
	}
	switch {
	case len(c.Attrs) == 0:
		f.Attrs = s.User.Attrs
	case len(s.User.Attrs) > 0:
		f.Attrs = maps.Clone(c.Attrs)
		maps.Copy(f.Attrs, s.User.Attrs)
	}
	return f
}
