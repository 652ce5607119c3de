package store_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// A store keeps messages and state together, and finds the sessions whose turn has not
// ended.
func ExampleMemory() {
	var kept store.Memory
	ctx := context.Background()
	open := session.State{Turn: session.Turn{ID: "t1"}}
	if err := kept.Append(ctx, "ann", open, chat.Message{Role: chat.User, Text: "hello"}); err != nil {
		fmt.Println(err)
	}
	keys, _ := kept.Open(ctx)
	fmt.Println(keys)
	if err := kept.Append(ctx, "ann", session.State{}, chat.Message{Role: chat.Assistant, Text: "Hello!"}); err != nil {
		fmt.Println(err)
	}
	keys, _ = kept.Open(ctx)
	s, err := kept.Load(ctx, "ann", 0)
	fmt.Println(keys, len(s.Messages), err)
	// Output:
	// [ann]
	// [] 2 <nil>
}
