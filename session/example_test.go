package session_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

// A store keeps messages and state together, and finds the sessions whose turn has not
// ended.
func ExampleStore() {
	var store session.MemoryStore
	ctx := context.Background()
	open := session.State{Turn: session.Turn{ID: "t1"}}
	if err := store.Append(ctx, "ann", open, chat.Message{Role: chat.User, Text: "hello"}); err != nil {
		fmt.Println(err)
	}
	keys, _ := store.Open(ctx)
	fmt.Println(keys)
	if err := store.Append(ctx, "ann", session.State{}, chat.Message{Role: chat.Assistant, Text: "Hello!"}); err != nil {
		fmt.Println(err)
	}
	keys, _ = store.Open(ctx)
	s, err := store.Load(ctx, "ann", 0)
	fmt.Println(keys, len(s.Messages), err)
	// Output:
	// [ann]
	// [] 2 <nil>
}
