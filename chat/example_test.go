package chat_test

import (
	"fmt"

	"github.com/etui-run/etui/chat"
)

// Facts about the caller decide which tools exist.
func ExampleFacts_HasRole() {
	f := chat.Facts{User: "ann", Channel: "slack", Roles: []string{"admin"}}
	fmt.Println(f.HasRole("admin"), f.HasRole("finance"))
	// Output: true false
}

// A Chinese character counts as one token, four bytes of English text as one.
func ExampleTokens() {
	fmt.Println(chat.Tokens("restart the server"), chat.Tokens("重启服务器"))
	// Output: 5 5
}
