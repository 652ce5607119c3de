package route_test

import (
	"fmt"

	"github.com/etui-run/etui/route"
)

// A link joins the conversations of one person on several channels.
func ExampleKey() {
	links := map[string]string{"telegram:42": "alice", "slack:U7": "alice"}
	for _, p := range []route.Place{
		{Agent: "main", Channel: "telegram", Peer: "42"},
		{Agent: "main", Channel: "slack", Peer: "U7"},
		{Agent: "main", Channel: "slack", Peer: "U7", Chat: "ops"},
	} {
		fmt.Println(route.Key(p, route.Peer, links))
	}
	// Output:
	// agent:main:dm:alice
	// agent:main:dm:alice
	// agent:main:slack:group:ops
}
