package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
)

// A conversation outlives the store that wrote it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "etui-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "etui.db")
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	err = store.Append(ctx, "ann", session.State{}, chat.Message{Role: chat.User, Text: "hello"})
	fmt.Println(err, store.Close())

	store, err = sqlite.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	s, err := store.Load(ctx, "ann", 0)
	fmt.Println(s.Messages[0].Text, err)
	// Output:
	// <nil> <nil>
	// hello <nil>
}
