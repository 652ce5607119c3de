// Package route finds the session that a message belongs to.
//
// A session's key consists of the agent, the channel and the peer, so that one
// person's words on one channel do not appear in another conversation unless the
// configuration says so.
package route

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/etui-run/etui/session"
)

// Scope says which direct messages share a session.
type Scope string

// The scopes, from one session for everybody to one for each account, channel and peer.
const (
	Main               Scope = "main"
	Peer               Scope = "peer"
	ChannelPeer        Scope = "channel-peer"
	AccountChannelPeer Scope = "account-channel-peer"
)

// ParseScope reads a scope; the empty text is ChannelPeer.
func ParseScope(text string) (Scope, error) {
	all := []Scope{Main, Peer, ChannelPeer, AccountChannelPeer}
	switch {
	case text == "":
		return ChannelPeer, nil
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
	// Peer is the person who wrote the message.
	Peer string
	// Chat is the group of the message; empty for a direct message.
	Chat string
	// Session, when not empty, is a name that the client chose; it overrides all parts
	// but the agent and the peer.
	Session string
}

// Key returns the key of the session that a message belongs to. Links identify one
// person on several channels: they map "channel:peer" to one name.
func Key(p Place, scope Scope, links map[string]string) session.Key {
	peer := p.Peer
	if name, ok := links[p.Channel+":"+p.Peer]; ok {
		peer = name
	}
	switch {
	case p.Session != "":
		if peer != "" {
			return join("agent", p.Agent, "session", p.Session, "user", peer)
		}
		return join("agent", p.Agent, "session", p.Session)
	case p.Chat != "":
		return join("agent", p.Agent, p.Channel, "group", p.Chat)
	case scope == Main || peer == "":
		return join("agent", p.Agent, "main")
	case scope == Peer:
		return join("agent", p.Agent, "dm", peer)
	case scope == AccountChannelPeer && p.Account != "":
		return join("agent", p.Agent, p.Channel, p.Account, "dm", peer)
	}
	return join("agent", p.Agent, p.Channel, "dm", peer)
}

// join escapes the parts, so that a name with a colon cannot imitate two parts.
func join(parts ...string) session.Key {
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), ":", "%3A")
	}
	return session.Key(strings.Join(parts, ":"))
}
