package etui_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/tool"
)

// An agent with one tool, embedded in a program. Replace the offline model with
// openai.New or anthropic.New.
func Example() {
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather := tool.Func(tool.Definition{Name: "get_weather", Description: "Tell the weather of a city.", Risk: tool.Read},
		func(_ context.Context, in place) (string, error) {
			return "It is sunny in " + in.City + ".", nil
		})

	gateway, err := etui.New(offline.New(offline.Config{}), etui.Config{Tools: []tool.Tool{weather}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gateway.Close()
	reply, err := gateway.Ask(context.Background(), "What is the weather in Paris?")
	fmt.Println(reply, err)
	// Output:
	// I called get_weather (city: Paris) and got:
	// It is sunny in Paris. <nil>
}
