package wire_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/tool/wire"
)

type order struct {
	Part   string `json:"part"`
	Amount int    `json:"amount" default:"1"`
}

// Generated code makes a tool like this.
func Example() {
	t := wire.Tool(tool.Definition{Name: "order_parts", Risk: tool.Write}, func(in order) (order, error) { return in, nil })
	result, err := t.Call(context.Background(), json.RawMessage(`{"part": "hinge", "note": "other fields are ignored"}`))
	fmt.Println(result.Text, err)
	// Output: {"part":"hinge","amount":1} <nil>
}
