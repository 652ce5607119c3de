package route_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
)

func users(t *testing.T, list ...identity.User) *identity.Users {
	t.Helper()
	u, err := identity.New(list)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestKey(t *testing.T) {
	u := users(t, identity.User{Name: "alice", Identities: []string{"telegram:42", "slack:U7"}})
	direct := route.Place{Agent: "main", Channel: "telegram", Account: "bot1", Sender: u.Sender("telegram", "42")}
	peer := route.Place{Agent: "main", Channel: "telegram", Account: "bot1", Sender: u.Sender("telegram", "7")}
	for _, c := range []struct {
		place route.Place
		scope route.Scope
		want  session.Key
	}{
		{direct, route.Main, "agent:main:main"},
		{direct, route.Peer, "agent:main:person:alice"},
		{route.Place{Agent: "main", Channel: "slack", Sender: u.Sender("slack", "U7")}, route.Peer, "agent:main:person:alice"},
		{direct, route.ChannelPeer, "agent:main:channel:telegram:person:alice"},
		{direct, route.AccountChannelPeer, "agent:main:channel:telegram:account:bot1:person:alice"},
		{peer, route.Peer, "agent:main:peer:telegram:7"},
		{peer, route.ChannelPeer, "agent:main:channel:telegram:peer:telegram:7"},
		{route.Place{Agent: "main", Channel: "telegram", Sender: peer.Sender, Chat: "g1"}, route.Main, "agent:main:group:telegram:g1"},
		{route.Place{Agent: "main"}, route.Peer, "agent:main:main"},
		{route.Place{Agent: "main", Channel: "web", Guest: "x"}, route.Peer, "agent:main:guest:web:x"},
		{route.Place{Agent: "main", Channel: "cli", Session: "s"}, route.Peer, "agent:main:session:s:guest:cli"},
		{route.Place{Agent: "main", Channel: "cli", Session: "s", Sender: u.Sender("cli", "bob")}, route.Peer, "agent:main:session:s:peer:bob"},
		{route.Place{Agent: "main", Channel: "x:dm", Sender: u.Sender("x:dm", "y")}, route.Peer, "agent:main:peer:x%253Adm:y"},
	} {
		if got := route.Key(c.place, c.scope); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.place.Sender.Record(), c.scope, got, c.want)
		}
	}
}

// The key of a sub-agent names its own agent, and the place of the conversation that started
// it, however deep it is.
func TestSub(t *testing.T) {
	for parent, want := range map[session.Key]string{
		"agent:main:person:alice":             "alice",
		"agent:main:peer:telegram:7":          "telegram:7",
		"agent:main:group:telegram:g1":        "",
		"agent:main:main":                     "",
		"agent:main:session:s:peer:bob":       "bob",
		"agent:main:session:sub:guest:cli":    "",
		"agent:main:guest:web:x":              "",
		"agent:main:session:a%3Ab:person:x.y": "x.y",
	} {
		once := route.Sub(parent, "helper", "id1")
		key := route.Sub(once, "other", "id2")
		place := strings.TrimPrefix(string(parent), "agent:main:")
		if key != session.Key("agent:other:sub:id2:"+place) || route.Agent(once) != "helper" {
			t.Errorf("%s: %s and %s", parent, once, key)
		}
		if got := route.Remembered(key); got != route.Remembered(parent) {
			t.Errorf("%s remembers %q, and its parent %q", key, got, route.Remembered(parent))
		}
		if _, who := route.Owner(key); who != want {
			t.Errorf("%s belongs to %q, want %q", key, who, want)
		}
		if _, _, named := route.AgentOf(key); named {
			t.Errorf("%s looks like a conversation that a client named", key)
		}
	}
}

// TestTwoPeopleNeverShareAKey: whatever the names are, equal keys of direct messages
// mean the same sender, and a key says who that is.
func TestTwoPeopleNeverShareAKey(t *testing.T) {
	parts := []string{"", "a", "b", "main", "dm", "user", "person", "peer", "guest", "session", "group", "channel", "account", "api", "cli", "alice", "Alice", "42",
		"a:b", ":", "telegram", "telegram:42", "person:alice", "peer:telegram:42", "x%3Ay", "%3A", "张伟", "é", "e\u0301", "a/b", "a b"}
	u := users(t, identity.User{Name: "alice", Identities: []string{"telegram:42", "a:b"}}, identity.User{Name: "42"}, identity.User{Name: "张伟", Identities: []string{"b:telegram:42"}})
	r := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return parts[r.IntN(len(parts))] }
	for _, scope := range []route.Scope{route.Peer, route.ChannelPeer, route.AccountChannelPeer} {
		seen := map[session.Key]string{}
		for n := range 5_000 {
			p := route.Place{Agent: "m", Channel: pick(), Account: pick()}
			id := pick()
			if p.Sender = u.Sender(p.Channel, id); p.Sender.Kind() == identity.Guest {
				p.Guest = fmt.Sprint(n) // as the engine gives one to each
			}
			if r.IntN(2) == 0 {
				p.Session = pick()
			}
			who := string(p.Sender.Kind()) + " " + p.Sender.Record() + p.Guest
			key := route.Key(p, scope)
			if other, ok := seen[key]; ok && other != who {
				t.Fatalf("%q and %q share %s under %s", other, who, key, scope)
			}
			seen[key] = who
			kind, record := route.Owner(key)
			if kind != p.Sender.Kind() {
				t.Fatalf("the owner of %s is of kind %q, want %q", key, kind, p.Sender.Kind())
			}
			if record != p.Sender.Record() {
				t.Fatalf("the owner of %s is %q, want %q", key, record, p.Sender.Record())
			}
		}
	}
}

func TestOwnerOfNobody(t *testing.T) {
	for _, key := range []session.Key{"", "x", "agent:main:main", "agent:main:group:slack:person", "agent:main:telegram:dm:42", "agent:main:session:s", "agent:m:%zz:a"} {
		if kind, record := route.Owner(key); kind != "" {
			t.Errorf("%s belongs to %s %s", key, kind, record)
		}
	}
}

func TestParseScope(t *testing.T) {
	if s, err := route.ParseScope(""); s != route.Peer || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := route.ParseScope("everybody"); err == nil {
		t.Error("everybody is no scope")
	}
}

// TestReadKey: a key says which name a client chose.
func TestReadKey(t *testing.T) {
	for _, c := range []struct {
		key         session.Key
		agent, name string
	}{
		{"agent:main:telegram:dm:4%202", "", ""},
		{"agent:main:dm:42", "", ""},
		{"agent:main:telegram:bot:dm:x%3Ay", "", ""},
		{"agent:main:telegram:group:dm%3Ax", "", ""},
		{"agent:a%3Ab:session:s%3Auser%3Ax:user:bob", "a:b", "s:user:x"},
		{route.Key(route.Place{Agent: "a:b", Session: "s:x"}, route.Peer), "a:b", "s:x"},
		{"agent:main:session:s", "main", "s"},
		{"agent:main:main", "", ""},
		{"mine:main:session:s", "", ""},
		{"agent:%zz:session:s", "", ""},
		{"", "", ""},
	} {
		agent, name, _ := route.AgentOf(c.key)
		if agent != c.agent {
			t.Errorf("%s: agent %q, want %q", c.key, agent, c.agent)
		}
		if name != c.name {
			t.Errorf("%s: name %q, want %q", c.key, name, c.name)
		}
	}
}
