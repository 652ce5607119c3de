// Package route finds the session that a message belongs to.
//
// A session's key consists of the agent, the place and the sender, so that one
// person's words do not appear in another's conversation unless the configuration says
// so. A key says what its sender is: person:alice is a user of the configuration on
// whatever channel, peer:telegram:42 somebody whom only the channel knows, and guest
// somebody unknown. Two senders never share the key of a direct message, but under the
// scope Main and where a client names a session without a user.
package route

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/session"
)

// Scope says which direct messages share a session.
type Scope string

// The scopes, from one session for everybody to one for each account, channel and
// sender.
const (
	Main               Scope = "main"
	Peer               Scope = "peer"
	ChannelPeer        Scope = "channel-peer"
	AccountChannelPeer Scope = "account-channel-peer"
)

// ParseScope reads a scope; the empty text is Peer.
func ParseScope(text string) (Scope, error) {
	all := []Scope{Main, Peer, ChannelPeer, AccountChannelPeer}
	switch {
	case text == "":
		return Peer, nil
	case slices.Contains(all, Scope(text)):
		return Scope(text), nil
	}
	return "", fmt.Errorf("unknown scope %q: it is main, peer, channel-peer or account-channel-peer", text)
}

// Place is where a message came from.
type Place struct {
	Agent   string
	Channel string
	// Account is the agent's own account on the channel that received the message.
	Account string
	// Sender wrote the message.
	Sender identity.Sender
	// Guest distinguishes guests: those with the same text share a conversation.
	Guest string
	// Chat is the group of the message; empty for a direct message.
	Chat string
	// Thread is a thread or topic of Chat.
	Thread string
	// Session, when not empty, is a name that the client chose; it overrides all parts
	// but the agent and the sender.
	Session string
}

// Key returns the key of the session that a message belongs to.
func Key(p Place, scope Scope) session.Key {
	who := p.who()
	switch {
	case p.Session != "":
		return join(append([]string{"agent", p.Agent, "session", p.Session}, who...)...)
	case p.Chat != "":
		parts := []string{"agent", p.Agent, "group", p.Channel, p.Chat}
		if p.Thread != "" {
			parts = append(parts, "thread", p.Thread)
		}
		return join(parts...)
	case scope == Main || p.Channel == "" && p.Sender.Kind() == identity.Guest && p.Guest == "":
		return join("agent", p.Agent, "main")
	case scope == ChannelPeer:
		return join(append([]string{"agent", p.Agent, "channel", p.Channel}, who...)...)
	case scope == AccountChannelPeer:
		return join(append([]string{"agent", p.Agent, "channel", p.Channel, "account", p.Account}, who...)...)
	}
	return join(append([]string{"agent", p.Agent}, who...)...)
}

// who returns the parts of a key that say who the sender is.
func (p Place) who() []string {
	switch s := p.Sender; {
	case s.User != nil:
		return []string{"person", s.User.Name}
	case s.ID == "" && p.Guest != "":
		return []string{"guest", p.Channel, p.Guest}
	case s.ID == "":
		return []string{"guest", p.Channel}
	case s.Channel == "":
		return []string{"peer", s.ID}
	default:
		return []string{"peer", s.Channel, s.ID}
	}
}

// join escapes the parts, so that a name with a colon cannot imitate two parts.
func join(parts ...string) session.Key {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = strings.ReplaceAll(url.PathEscape(part), ":", "%3A")
	}
	return session.Key(strings.Join(escaped, ":"))
}

// Sub returns the key of a sub-agent's session: the place of its parent, with an agent and
// an ID of its own. It has the owner and the memory of its parent.
func Sub(parent session.Key, agent, id string) session.Key {
	parts := append([]string{"agent", agent, sub, id}, placed(split(parent))[2:]...)
	return join(parts...)
}

// sub marks the key of a sub-agent.
const sub = "sub"

// placed returns the parts of a key without the ID of a sub-agent.
func placed(parts []string) []string {
	switch {
	case len(parts) < 2:
		return []string{"agent", ""}
	case len(parts) > 4 && parts[2] == sub:
		return slices.Concat(parts[:2], parts[4:])
	}
	return parts
}

// Owner returns whose conversation a key names: the kind of its sender, and the sender
// as [identity.Sender.Record] writes it. Groups, and conversations of everybody, are
// nobody's: their kind is empty.
func Owner(key session.Key) (kind identity.Kind, record string) {
	parts := placed(split(key))
	if len(parts) < 3 {
		return "", ""
	}
	switch rest := parts[2:]; {
	case rest[0] == "session" && len(rest) > 2:
		parts = rest[2:]
	case rest[0] == "channel" && len(rest) > 4 && rest[2] == "account":
		parts = rest[4:]
	case rest[0] == "channel" && len(rest) > 2:
		parts = rest[2:]
	default:
		parts = rest
	}
	switch kind := identity.Kind(parts[0]); {
	case kind == identity.Person && len(parts) == 2, kind == identity.Peer && (len(parts) == 2 || len(parts) == 3):
		return kind, strings.Join(parts[1:], ":")
	case kind == identity.Guest:
		return kind, ""
	}
	return "", ""
}

// Remembered returns the owner of the memory that a conversation reads and writes, as
// package memory calls it: a person, a peer, a group, or main, which is the operator's and,
// under the scope Main, everybody's. It is empty for guests, of whom nothing is remembered.
func Remembered(key session.Key) string {
	parts := placed(split(key))
	if isGroup(parts) {
		return memory.Owner("groups", parts[3]+":"+parts[4])
	}
	if len(parts) == 3 && parts[2] == "main" {
		return "main"
	}
	switch kind, record := Owner(key); kind {
	case identity.Person:
		return memory.Owner("people", record)
	case identity.Peer:
		return memory.Owner("peers", record)
	case identity.Guest:
		if last := parts[len(parts)-1]; parts[len(parts)-2] == string(identity.Guest) && (last == "cli" || last == "") {
			return "main"
		}
	}
	return ""
}

// Operator reports whether a conversation is that of the operator, at any terminal.
func Operator(key session.Key) bool { return Remembered(key) == "main" }

// Belongs reports whether a session is the own one of a person with some names: nobody
// else wrote in it, and it is neither a group's nor that of all, where people without a name
// may have. Where no message names its author the key decides.
func Belongs(s session.Summary, names []string) bool {
	if Group(s.Key) || Operator(s.Key) {
		return false
	}
	if len(s.Users) == 0 {
		_, owner := Owner(s.Key)
		return owner != "" && slices.Contains(names, owner)
	}
	return len(s.Users) < session.MaxUsers &&
		!slices.ContainsFunc(s.Users, func(user string) bool { return !slices.Contains(names, user) })
}

// Group reports whether a conversation is that of a group, or of a sub-agent for one.
func Group(key session.Key) bool { return isGroup(placed(split(key))) }

func isGroup(parts []string) bool {
	return (len(parts) == 5 || len(parts) == 7 && parts[5] == "thread") && parts[2] == "group"
}

// Agent returns the agent of a key; empty if it is none of [Key].
func Agent(key session.Key) string {
	parts := split(key)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}

// AgentOf returns the agent of a key of [Key], and the session's name if a client chose
// one.
func AgentOf(key session.Key) (agent, name string, ok bool) {
	parts := split(key)
	if len(parts) < 4 || parts[2] != "session" {
		return "", "", false
	}
	return parts[1], parts[3], true
}

// split is the reverse of join; nil when the key is none of [Key].
func split(key session.Key) []string {
	parts := strings.Split(string(key), ":")
	for i, part := range parts {
		var err error
		if parts[i], err = url.PathUnescape(part); err != nil || parts[0] != "agent" {
			return nil
		}
	}
	return parts
}
