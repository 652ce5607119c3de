package route_test

import (
	"fmt"

	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/route"
)

// A user's identities join the conversations of one person on several channels.
func ExampleKey() {
	users, err := identity.New([]identity.User{{Name: "alice", Identities: []string{"telegram:42", "slack:U7"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range []route.Place{
		{Agent: "main", Channel: "telegram", Sender: users.Sender("telegram", "42")},
		{Agent: "main", Channel: "slack", Sender: users.Sender("slack", "U7")},
		{Agent: "main", Channel: "slack", Sender: users.Sender("slack", "U8")},
		{Agent: "main", Channel: "slack", Sender: users.Sender("slack", "U7"), Chat: "ops"},
	} {
		fmt.Println(route.Key(p, route.Peer))
	}
	// Output:
	// agent:main:person:alice
	// agent:main:person:alice
	// agent:main:peer:slack:U8
	// agent:main:group:slack:ops
}
