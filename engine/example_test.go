package engine_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
)

// Two messages of one conversation: the second turn sees the first.
func Example() {
	m := fake.New(fake.Step{Text: "Hello, Ann."}, fake.Step{Text: "You said hello."})
	e, err := engine.New(engine.Config{
		Registry: catalog.NewRegistry(nil),
		Agents:   []engine.Agent{{Name: "main", Model: m}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"Hello!", "What did I say?"} {
		for event, err := range e.Send(context.Background(), engine.Message{Text: text, Channel: "web", User: "ann"}) {
			if err != nil {
				fmt.Println(err)
			}
			if event.Done != nil {
				fmt.Println(event.Done.Reply)
			}
		}
	}
	fmt.Println(len(m.Requests()[1].Messages), "messages in the second request")
	// Output:
	// Hello, Ann.
	// You said hello.
	// 3 messages in the second request
}
