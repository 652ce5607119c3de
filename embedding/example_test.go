package embedding_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/embedding"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// Words rank alone while the server is away or has not computed the vectors yet.
func Example() {
	registry := catalog.NewRegistry(nil)
	_ = registry.Register(described{tool.Definition{Name: "send_mail", Description: "Write to somebody", Risk: tool.Read}})
	embedder, err := embedding.New(embedding.Config{BaseURL: "http://127.0.0.1:11434/v1", Model: "nomic-embed-text", ReadOnly: true})
	if err != nil {
		panic(err)
	}
	defer embedder.Close()
	newest := embedder.Follow(selection.Follow(registry, selection.Config{}))
	selector, question := newest(), "a mail to Bob"
	sel := selector.Select(selection.Request{Query: question, Vector: embedder.Vector(context.Background(), question, false)})
	fmt.Println(sel.Ranked[0].Definition.Name)
	// Output: send_mail
}
