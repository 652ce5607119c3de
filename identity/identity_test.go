package identity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/identity"
)

func ExampleUsers_Sender() {
	users, err := identity.New([]identity.User{{Name: "alice", Identities: []string{"telegram:42", "slack:U7"}, Roles: []string{"admin"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, from := range [][2]string{{"telegram", "42"}, {"slack", "U7"}, {"slack", "U8"}, {"irc", "alice"}, {"api", ""}} {
		s := users.Sender(from[0], from[1])
		fmt.Printf("%-9s %-6s %q\n", s.Kind(), s.Record(), s.Fact())
	}
	// Output:
	// person    alice  "alice"
	// person    alice  "alice"
	// peer      slack:U8 "U8"
	// peer      irc:alice "irc:alice"
	// guest            ""
}

// TestSender: only an identity that etui.yaml names makes a person, byte by byte.
func TestSender(t *testing.T) {
	users, err := identity.New([]identity.User{
		{Name: "alice", Identities: []string{"telegram:42", "irc:José", "key:laptop"}},
		{Name: "bob", Identities: []string{"web:alice"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ channel, id, kind, record, fact string }{
		{"telegram", "42", "person", "alice", "alice"},
		{"api", "alice", "person", "alice", "alice"}, // the client itself names its users
		{"", "telegram:42", "person", "alice", "alice"},
		{"cli", "key:laptop", "person", "alice", "alice"},
		{"web", "alice", "person", "bob", "bob"}, // whatever it looks like
		{"slack", "alice", "peer", "slack:alice", "slack:alice"},
		{"slack", "42", "peer", "slack:42", "42"},
		{"Telegram", "42", "peer", "Telegram:42", "42"},
		{"telegram", "42 ", "peer", "telegram:42 ", "42 "},
		{"telegram", "４２", "peer", "telegram:４２", "４２"},
		{"irc", "josé", "peer", "irc:josé", "josé"},
		{"irc", "Jose\u0301", "peer", "irc:Jose\u0301", "Jose\u0301"},
		{"api", "Alice", "peer", "Alice", "Alice"},
		{"api", "slack:U7", "peer", "slack:U7", "slack:U7"},
		{"irc:x", "y", "peer", "irc%3Ax:y", "y"},
		{"telegram", "", "guest", "", ""},
	} {
		s := users.Sender(c.channel, c.id)
		if string(s.Kind()) != c.kind {
			t.Errorf("%s %q is a %s, want a %s", c.channel, c.id, s.Kind(), c.kind)
		}
		if s.Record() != c.record {
			t.Errorf("%s %q is recorded as %q, want %q", c.channel, c.id, s.Record(), c.record)
		}
		if s.Fact() != c.fact {
			t.Errorf("%s %q is %q to rules, want %q", c.channel, c.id, s.Fact(), c.fact)
		}
	}
}

func TestNoUsers(t *testing.T) {
	var none *identity.Users
	if s := none.Sender("api", "alice"); s.Kind() != identity.Peer {
		t.Errorf("alice is a %s", s.Kind())
	}
	if none.ByName("alice") != nil {
		t.Error("there is an alice")
	}
}

func TestMistakes(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("r", i)
	}
	for _, c := range []struct {
		users []identity.User
		says  string
		other int
	}{
		{[]identity.User{{Name: "a"}, {Name: "a"}}, `the user "a" is defined twice`, 0},
		{[]identity.User{{Name: "Anna"}, {Name: "anna"}}, `the users "Anna" and "anna" differ only in case`, 0},
		{[]identity.User{{Name: "Maße"}, {Name: "MASSE"}}, `differ only in case`, 0},
		{[]identity.User{{Name: ""}}, "is empty", -1},
		{[]identity.User{{Name: "a:b"}}, "contains a colon", -1},
		{[]identity.User{{Name: " a"}}, "begins or ends with a space", -1},
		{[]identity.User{{Name: "a\u200bb"}}, "cannot be seen", -1},
		{[]identity.User{{Name: "Jose\u0301"}}, "is not in the Unicode form NFC", -1},
		{[]identity.User{{Name: strings.Repeat("x", 201)}}, "has 201 bytes", -1},
		{[]identity.User{{Name: "a", Identities: []string{"telegram"}}}, "must be a channel and an ID, as in telegram:42", -1},
		{[]identity.User{{Name: "a", Identities: []string{":42"}}}, "must be a channel and an ID", -1},
		{[]identity.User{{Name: "a", Identities: []string{"Telegram:42"}}}, "lower-case: telegram:42", -1},
		{[]identity.User{{Name: "a", Identities: []string{"irc:x", "irc:x"}}}, "the user a has the identity irc:x twice", 0},
		{[]identity.User{{Name: "a", Identities: []string{"irc:x"}}, {Name: "b", Identities: []string{"irc:x"}}}, "the identity irc:x of the user b belongs to another user already", 0},
		{[]identity.User{{Name: "a", Identities: []string{"irc:X"}}, {Name: "b", Identities: []string{"irc:x"}}}, "differ only in case", 0},
		{[]identity.User{{Name: "a", Roles: many}}, "has 65 roles", -1},
		{[]identity.User{{Name: "a", Roles: []string{""}}}, "is empty", -1},
		{[]identity.User{{Name: "a", Attrs: map[string]string{"x": strings.Repeat("x", 1025)}}}, "the attribute x of the user a has 1025 bytes", -1},
	} {
		_, err := identity.New(c.users)
		var e *identity.Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, c.says) {
			t.Errorf("%+v: %v, want %q", c.users, err, c.says)
			continue
		}
		if e.Other != c.other {
			t.Errorf("%+v: the other user is %d, want %d", c.users, e.Other, c.other)
		}
	}
}
