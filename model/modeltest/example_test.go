package modeltest_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/model/openai"
)

// A server with a provider's protocol plays a script.
func ExampleOpenAI() {
	server := modeltest.OpenAI(modeltest.Reply{Text: []string{"Hello!"}})
	defer server.Close()
	m, err := openai.New(openai.Config{BaseURL: server.URL, Model: "any", APIKey: modeltest.Key})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range m.Stream(context.Background(), model.Request{Messages: []chat.Message{{Role: chat.User, Text: "hi"}}}) {
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(e.Text)
	}
	// Output: Hello!
}
