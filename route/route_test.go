package route_test

import (
	"testing"

	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
)

func TestKey(t *testing.T) {
	links := map[string]string{"telegram:42": "alice", "slack:U7": "alice"}
	direct := route.Place{Agent: "main", Channel: "telegram", Account: "bot1", Peer: "42"}
	for _, c := range []struct {
		place route.Place
		scope route.Scope
		want  session.Key
	}{
		{direct, route.Main, "agent:main:main"},
		{direct, route.Peer, "agent:main:dm:alice"},
		{route.Place{Agent: "main", Channel: "slack", Peer: "U7"}, route.Peer, "agent:main:dm:alice"},
		{direct, route.ChannelPeer, "agent:main:telegram:dm:alice"},
		{direct, route.AccountChannelPeer, "agent:main:telegram:bot1:dm:alice"},
		{route.Place{Agent: "main", Channel: "telegram", Peer: "7", Chat: "g1"}, route.Main, "agent:main:telegram:group:g1"},
		{route.Place{Agent: "main", Channel: "cli"}, route.ChannelPeer, "agent:main:main"},
		{route.Place{Agent: "main", Session: "s"}, route.ChannelPeer, "agent:main:session:s"},
		{route.Place{Agent: "main", Session: "s", Peer: "bob"}, route.ChannelPeer, "agent:main:session:s:user:bob"},
		{route.Place{Agent: "main", Channel: "x:dm", Peer: "y"}, route.ChannelPeer, "agent:main:x%3Adm:dm:y"},
	} {
		if got := route.Key(c.place, c.scope, links); got != c.want {
			t.Errorf("%+v, %s: %s, want %s", c.place, c.scope, got, c.want)
		}
	}
}

// TestNoTwoPlacesShareAKey: names with colons cannot imitate other keys.
func TestNoTwoPlacesShareAKey(t *testing.T) {
	a := route.Key(route.Place{Agent: "m", Session: "s:user:bob"}, route.ChannelPeer, nil)
	b := route.Key(route.Place{Agent: "m", Session: "s", Peer: "bob"}, route.ChannelPeer, nil)
	if a == b {
		t.Errorf("both have %s", a)
	}
}

func TestParseScope(t *testing.T) {
	if s, err := route.ParseScope(""); s != route.ChannelPeer || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := route.ParseScope("everybody"); err == nil {
		t.Error("everybody is no scope")
	}
}
