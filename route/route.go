// Package route tells which session a message belongs to.
//
// A session's key is made of the agent, the channel and the peer, so that what
// one person says on one channel does not show in another's conversation unless
// the configuration wants it to.
package route

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/etui-run/etui/session"
)

// Scope says how finely direct messages are kept apart.
type Scope string

// The scopes, from one conversation for everybody to the finest.
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
	// Account is which of the agent's own accounts on the channel was written to.
	Account string
	// Peer is the person who wrote.
	Peer string
	// Chat is the group in which it was written; empty for a direct message.
	Chat string
	// Session, when not empty, is a name that the client chose; it overrides the
	// other parts but the agent and the peer.
	Session string
}

// Key makes the key of the session that a message belongs to. Links name the
// same person on several channels: they map "channel:peer" to one name.
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

// join escapes the parts, so that no name can pose as two.
func join(parts ...string) session.Key {
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), ":", "%3A")
	}
	return session.Key(strings.Join(parts, ":"))
}
