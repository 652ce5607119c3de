package route_test

import (
	"testing"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/route"
)

// FuzzKey: whatever channels, accounts, chats, sessions and senders are called, two different
// people never share the key of a direct conversation, and each key says whose it is.
func FuzzKey(f *testing.F) {
	f.Add("telegram", "", "42", "", "web", "", "telegram:42", "")
	f.Add("cli", "", "alice", "", "telegram", "", "alice", "")
	f.Add("a:b", "c", "d", "s", "a", "b:c", "d", "s")
	f.Add("web", "%3A", ":", "guest", "web", ":", "%3A", "peer:x")
	f.Add("x", "", "person:alice", "", "", "", "alice", "")
	f.Fuzz(func(t *testing.T, channel1, account1, id1, session1, channel2, account2, id2, session2 string) {
		u := users(t, identity.User{Name: "alice", Identities: []string{"telegram:42", "a:b"}}, identity.User{Name: "bob"})
		at := func(channel, account, id, session, guest string) (route.Place, string) {
			p := route.Place{Agent: "m", Channel: channel, Account: account, Session: session, Sender: u.Sender(channel, id)}
			if p.Sender.Kind() == identity.Guest {
				p.Guest = guest // as the engine gives one to each
			}
			return p, string(p.Sender.Kind()) + " " + p.Sender.Record() + p.Guest
		}
		one, whose := at(channel1, account1, id1, session1, "g1")
		two, others := at(channel2, account2, id2, session2, "g2")
		for _, scope := range []route.Scope{route.Peer, route.ChannelPeer, route.AccountChannelPeer} {
			a, b := route.Key(one, scope), route.Key(two, scope)
			if a == b && whose != others {
				t.Errorf("%q and %q share %q under %s", whose, others, a, scope)
			}
			if kind, record := route.Owner(a); kind != one.Sender.Kind() || record != one.Sender.Record() {
				t.Errorf("the owner of %q is %s %q, want %q", a, kind, record, whose)
			}
		}
	})
}
