package turn_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// The steps of a turn are all that another process needs to go on.
func ExampleRunner_Run() {
	registry := catalog.NewRegistry(nil)
	if err := registry.Register(weather("read", sunny)); err != nil {
		fmt.Println(err)
	}
	m := fake.New(fake.Step{Calls: []chat.Call{fake.Call("1", "get_weather", `{"city":"Rome"}`)}}, fake.Step{Text: "It is sunny."})
	runner := turn.New(m, selection.Follow(registry, selection.Config{}), prompt.New(prompt.Config{}), turn.Config{})
	var s session.Session
	for e, err := range runner.Run(context.Background(), turn.Input{Text: "What is the weather in Rome?"}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case e.Step != nil: // to be stored
			s.State, s.Messages = e.Step.State, append(s.Messages, e.Step.Messages...)
			fmt.Println(turn.PhaseOf(s), len(s.Messages))
		case e.Done != nil:
			fmt.Println(e.Done.Reply)
		}
	}
	// Output:
	// asked 1
	// asked 3
	// done 4
	// It is sunny.
}
