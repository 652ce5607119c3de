package offline_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/tool"
)

func Example() {
	weather := tool.Definition{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	request := model.Request{
		Messages: []chat.Message{{Role: chat.User, Text: "What is the weather in Paris?"}},
		Tools:    []tool.Definition{weather},
		Ranked:   []string{"get_weather"},
	}
	reply, _, _, err := model.Answer(offline.New(offline.Config{}).Stream(context.Background(), request))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s\n", reply.Calls[0].Name, reply.Calls[0].Arguments)
	// Output: get_weather {"city":"Paris"}
}
