package anthropic_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/modeltest"
)

func Example() {
	server := modeltest.Anthropic(modeltest.Reply{Text: []string{"Hello!"}}) // a stand-in for the provider
	defer server.Close()
	m, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", BaseURL: server.URL, APIKey: modeltest.Key})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := model.Request{Messages: []chat.Message{{Role: chat.User, Text: "Hi"}}}
	reply, _, stop, err := model.Answer(m.Stream(context.Background(), request))
	fmt.Println(reply.Text, stop, err)
	// Output: Hello! done <nil>
}
