package fake_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
)

// A script of two steps: a call, then an answer.
func Example() {
	m := fake.New(
		fake.Step{Calls: []chat.Call{fake.Call("1", "get_time", "{}")}},
		fake.Step{Text: "It is noon."},
	)
	for range 2 {
		reply, _, stop, err := model.Answer(m.Stream(context.Background(), model.Request{}))
		fmt.Println(len(reply.Calls), reply.Text, stop, err)
	}
	fmt.Println(len(m.Requests()), "requests")
	// Output:
	// 1  tool_calls <nil>
	// 0 It is noon. done <nil>
	// 2 requests
}
