package model_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
)

// The second model answers when the first one cannot be reached.
func ExampleFallback() {
	first := fake.New(fake.Step{Err: &model.Error{Model: "first", Kind: model.ErrUnavailable}})
	second := fake.New(fake.Step{Text: "Hello!"})
	request := model.Request{Messages: []chat.Message{{Role: chat.User, Text: "Hi"}}}
	for event, err := range model.Fallback(first, second).Stream(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(event.Text)
	}
	// Output: Hello!
}
